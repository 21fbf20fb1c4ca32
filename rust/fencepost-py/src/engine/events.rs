//! Events, as in the core's `events`.

use crate::convert::PyRow;
use crate::engine::Engine;
use pyo3::prelude::*;

#[pymethods]
impl Engine {
    fn record_event(
        &self,
        py: Python<'_>,
        controller: String,
        key: String,
        r#type: String,
        payload_json: String,
        now: Option<i64>,
    ) -> PyResult<PyRow> {
        self.row(py, |store| {
            store.record_event(controller, key, r#type, payload_json, now)
        })
    }
}
