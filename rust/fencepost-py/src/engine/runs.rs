//! The run queue, as in the core's `runs`.

use crate::convert::{PyItem, PyRow, RunTuple, new_run, rows};
use crate::engine::Engine;
use fencepost_core::{Source, SourceClaim};
use pyo3::prelude::*;

#[pymethods]
impl Engine {
    fn enqueue_runs(
        &self,
        py: Python<'_>,
        runs: Vec<RunTuple>,
        now: Option<i64>,
    ) -> PyResult<Vec<PyItem>> {
        let runs: Vec<_> = runs.into_iter().map(new_run).collect();
        let done = self.call(py, |store| store.enqueue_runs(runs, now))?;
        Ok(done.into_iter().map(PyItem).collect())
    }

    fn claim_runs(
        &self,
        py: Python<'_>,
        runner_id: String,
        claim_tokens: Vec<String>,
        lease_ms: i64,
        exclude_run_ids: Vec<String>,
        now: Option<i64>,
    ) -> PyResult<Vec<PyRow>> {
        self.call(py, |store| {
            store.claim_runs(runner_id, claim_tokens, lease_ms, exclude_run_ids, now)
        })
        .map(rows)
    }

    fn renew_runs(
        &self,
        py: Python<'_>,
        claims: Vec<(String, String)>,
        lease_ms: i64,
        now: Option<i64>,
    ) -> PyResult<Vec<bool>> {
        self.call(py, |store| store.renew_runs(claims, lease_ms, now))
    }

    fn verify_run(
        &self,
        py: Python<'_>,
        run_id: &str,
        claim_token: &str,
        now: Option<i64>,
    ) -> PyResult<bool> {
        self.call(py, |store| store.verify_run(run_id, claim_token, now))
    }

    fn park_run(
        &self,
        py: Python<'_>,
        run_id: String,
        claim_token: String,
        now: Option<i64>,
    ) -> PyResult<bool> {
        self.call(py, |store| store.park_run(run_id, claim_token, now))
    }

    fn complete_runs(
        &self,
        py: Python<'_>,
        claims: Vec<(String, String)>,
        now: Option<i64>,
    ) -> PyResult<Vec<bool>> {
        self.call(py, |store| store.complete_runs(claims, now))
    }

    fn delete_run(&self, py: Python<'_>, run_id: String, claim_token: String) -> PyResult<bool> {
        self.call(py, |store| store.delete_run(run_id, claim_token))
    }

    fn repair_source(
        &self,
        py: Python<'_>,
        run_id: String,
        workflow_name: String,
        workflow_source_ref: String,
        runner_id: String,
        claim_token: String,
        lease_ms: i64,
        now: Option<i64>,
    ) -> PyResult<Option<&'static str>> {
        let claim = SourceClaim {
            run_id,
            workflow_name,
            workflow_source_ref,
            runner_id,
            claim_token,
            lease_ms,
        };
        let repaired = self.call(py, |store| store.repair_source(claim, now))?;
        Ok(repaired.map(|source| match source {
            Source::Unchanged => "unchanged",
            Source::Claimed => "claimed",
        }))
    }

    fn claim_legacy_source(
        &self,
        py: Python<'_>,
        run_id: String,
        workflow_name: String,
        old_workflow_path: String,
        workflow_source_ref: String,
        runner_id: String,
        claim_token: String,
        lease_ms: i64,
        now: Option<i64>,
    ) -> PyResult<bool> {
        let claim = SourceClaim {
            run_id,
            workflow_name,
            workflow_source_ref,
            runner_id,
            claim_token,
            lease_ms,
        };
        self.call(py, |store| {
            store.claim_legacy_source(claim, old_workflow_path, now)
        })
    }
}
