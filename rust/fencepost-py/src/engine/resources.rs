//! Resources, as in the core's `resources`.

use crate::convert::PyRow;
use crate::engine::Engine;
use pyo3::prelude::*;

#[pymethods]
impl Engine {
    fn put_resource(
        &self,
        py: Python<'_>,
        controller: String,
        key: String,
        uid: String,
        spec_json: String,
        status_json: String,
        now: Option<i64>,
    ) -> PyResult<PyRow> {
        self.row(py, |store| {
            store.put_resource(controller, key, uid, spec_json, status_json, now)
        })
    }

    fn update_status(
        &self,
        py: Python<'_>,
        controller: String,
        key: String,
        expected_version: i64,
        status_json: String,
        finalizers_json: Option<String>,
        now: Option<i64>,
    ) -> PyResult<PyRow> {
        self.row(py, |store| {
            store.update_status(
                controller,
                key,
                expected_version,
                status_json,
                finalizers_json,
                now,
            )
        })
    }

    fn request_deletion(
        &self,
        py: Python<'_>,
        controller: String,
        key: String,
        now: Option<i64>,
    ) -> PyResult<PyRow> {
        self.row(py, |store| store.request_deletion(controller, key, now))
    }

    fn update_finalizers(
        &self,
        py: Python<'_>,
        controller: String,
        key: String,
        expected_version: i64,
        finalizers_json: String,
        now: Option<i64>,
    ) -> PyResult<PyRow> {
        self.row(py, |store| {
            store.update_finalizers(controller, key, expected_version, finalizers_json, now)
        })
    }

    fn delete_resource(
        &self,
        py: Python<'_>,
        controller: String,
        key: String,
        expected_version: i64,
    ) -> PyResult<bool> {
        self.call(py, |store| {
            store.delete_resource(controller, key, expected_version)
        })
    }
}
