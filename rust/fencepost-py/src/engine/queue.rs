//! The reconcile queue, as in the core's `queue`.

use crate::convert::{PyRow, rows};
use crate::engine::Engine;
use crate::errors;
use pyo3::prelude::*;

#[pymethods]
impl Engine {
    fn enqueue<'py>(
        &self,
        py: Python<'py>,
        items: Vec<(String, String, Option<i64>)>,
        now: Option<i64>,
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        self.call(py, |store| store.enqueue(items, now))?
            .into_iter()
            .map(|item| {
                let refused = item.err();
                refused
                    .map(|refused| errors::refusal(py, &refused))
                    .transpose()
            })
            .collect()
    }

    fn claim_next(
        &self,
        py: Python<'_>,
        controllers: Vec<String>,
        claim_tokens: Vec<String>,
        lease_ms: i64,
        now: Option<i64>,
    ) -> PyResult<Vec<PyRow>> {
        self.call(py, |store| {
            store.claim_next(controllers, claim_tokens, lease_ms, now)
        })
        .map(rows)
    }

    fn renew_claims(
        &self,
        py: Python<'_>,
        claims: Vec<(String, String, String)>,
        lease_ms: i64,
        now: Option<i64>,
    ) -> PyResult<Vec<bool>> {
        self.call(py, |store| store.renew_claims(claims, lease_ms, now))
    }

    fn settle_claims(
        &self,
        py: Python<'_>,
        claims: Vec<(String, String, String)>,
        now: Option<i64>,
    ) -> PyResult<Vec<bool>> {
        self.call(py, |store| store.settle_claims(claims, now))
    }

    fn requeue_claim(
        &self,
        py: Python<'_>,
        controller: String,
        key: String,
        claim_token: String,
        available_at: i64,
        error: Option<String>,
    ) -> PyResult<bool> {
        self.call(py, |store| {
            store.requeue_claim(controller, key, claim_token, available_at, error)
        })
    }
}
