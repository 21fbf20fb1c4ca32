//! The extension module `fencepost._native`: the core crate's operations as the engine
//! protocol of `fencepost/engine/protocol.py`, and the answers of `fencepost/quick.py`.

mod caller;
mod canonical;
mod convert;
mod end;
mod engine;
mod errors;
mod quick;

/// The native engine of fencepost; import `fencepost` instead.
#[pyo3::pymodule]
mod _native {
    use std::collections::HashMap;

    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    #[pymodule_export]
    use crate::engine::Engine;

    /// The version of the SQLite library that is built in.
    #[pyfunction]
    fn sqlite_version() -> &'static str {
        fencepost_core::sqlite_version()
    }

    /// The canonical JSON of an ordinary value of at most `most` bytes; None where
    /// `fencepost.canonical` has to say.
    #[pyfunction]
    #[pyo3(signature = (value, most=None))]
    fn canonical_json(value: &Bound<'_, PyAny>, most: Option<usize>) -> Option<String> {
        crate::canonical::text(value, most)
    }

    /// Whether these are, for sure, a run id and a claim token.
    #[pyfunction]
    fn is_run_claim(run_id: &Bound<'_, PyAny>, claim_token: &Bound<'_, PyAny>) -> bool {
        crate::quick::is_run_claim(run_id, claim_token)
    }

    /// Whether all of these are, for sure, keys.
    #[pyfunction]
    #[pyo3(signature = (*values))]
    fn are_keys(values: &Bound<'_, PyTuple>) -> bool {
        crate::quick::are_keys(values)
    }

    /// Whether a row is, for sure, of these kinds, a letter a column: `t`ext or `i`nteger,
    /// or null.
    #[pyfunction]
    fn holds(row: &Bound<'_, PyTuple>, kinds: &str) -> bool {
        crate::quick::holds(row, kinds)
    }

    /// The sources of the Python package that the extension has to agree with, as they were
    /// when it was built.
    #[pyfunction]
    fn sources() -> HashMap<&'static str, &'static str> {
        let stub = include_str!("../../../python/fencepost/_native.pyi");
        fencepost_core::statements::FILES
            .into_iter()
            .chain([("_native", stub)])
            .collect()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::end::wait_for_calls(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
