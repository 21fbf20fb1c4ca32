//! The extension module `fencepost._native`: the core crate's operations as the engine
//! protocol of `fencepost/engine/protocol.py`, and canonical JSON of ordinary values.

mod caller;
mod canonical;
mod convert;
mod end;
mod engine;
mod errors;

/// The native engine of fencepost; import `fencepost` instead.
#[pyo3::pymodule]
mod _native {
    use std::collections::HashMap;

    use pyo3::prelude::*;

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
