//! The extension module `fencepost._native`: the core crate's operations as the engine
//! protocol of `fencepost/engine/protocol.py`, and nothing more.

mod caller;
mod convert;
mod engine;
mod errors;

/// The native engine of fencepost; import `fencepost` instead.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::engine::Engine;

    /// The version of the SQLite library that is built in.
    #[pyfunction]
    fn sqlite_version() -> &'static str {
        fencepost_core::sqlite_version()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
