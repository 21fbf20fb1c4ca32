//! Child requests, as in the core's `requests`.

use crate::convert::PyRow;
use crate::engine::Engine;
use fencepost_core::RequestChange;
use pyo3::prelude::*;

#[pymethods]
impl Engine {
    fn reserve_request(
        &self,
        py: Python<'_>,
        resource_uid: String,
        request_key: String,
        workflow: String,
        input_fingerprint: String,
        request_id: String,
    ) -> PyResult<(PyRow, bool)> {
        self.call(py, |store| {
            store.reserve_request(
                resource_uid,
                request_key,
                workflow,
                input_fingerprint,
                request_id,
            )
        })
        .map(|(row, created)| (PyRow(row), created))
    }

    fn update_request(
        &self,
        py: Python<'_>,
        request_id: String,
        state: String,
        run_id: Option<String>,
        set_run_id: bool,
        attempt: Option<i64>,
        error: Option<String>,
        set_error: bool,
    ) -> PyResult<PyRow> {
        let change = RequestChange {
            state,
            run_id: set_run_id.then_some(run_id),
            attempt,
            error: set_error.then_some(error),
        };
        self.row(py, |store| store.update_request(request_id, change))
    }
}
