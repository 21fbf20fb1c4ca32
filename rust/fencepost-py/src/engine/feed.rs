//! The feed, as in the core's `feed`.

use crate::engine::Engine;
use pyo3::prelude::*;

#[pymethods]
impl Engine {
    fn record_run_event(
        &self,
        py: Python<'_>,
        run_id: String,
        workflow_ref: String,
        r#type: String,
        runner_id: Option<String>,
        payload_json: String,
        now: Option<i64>,
    ) -> PyResult<i64> {
        self.call(py, |store| {
            store.record_run_event(run_id, workflow_ref, r#type, runner_id, payload_json, now)
        })
    }

    fn set_watermark(
        &self,
        py: Python<'_>,
        session_id: String,
        seq: i64,
        now: Option<i64>,
    ) -> PyResult<()> {
        self.call(py, |store| store.set_watermark(session_id, seq, now))
    }
}
