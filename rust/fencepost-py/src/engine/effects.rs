//! Effects, as in the core's `effects`.

use crate::convert::PyRow;
use crate::engine::Engine;
use pyo3::prelude::*;

#[pymethods]
impl Engine {
    fn reserve_effect(
        &self,
        py: Python<'_>,
        key: String,
        resource_uid: String,
        generation: i64,
        kind: String,
        request_fingerprint: String,
        now: Option<i64>,
    ) -> PyResult<(PyRow, bool)> {
        self.call(py, |store| {
            store.reserve_effect(
                key,
                resource_uid,
                generation,
                kind,
                request_fingerprint,
                now,
            )
        })
        .map(|(row, created)| (PyRow(row), created))
    }

    fn update_effect(
        &self,
        py: Python<'_>,
        resource_uid: String,
        key: String,
        state: String,
        external_ref: Option<String>,
        error: Option<String>,
        now: Option<i64>,
    ) -> PyResult<PyRow> {
        self.row(py, |store| {
            store.update_effect(resource_uid, key, state, external_ref, error, now)
        })
    }
}
