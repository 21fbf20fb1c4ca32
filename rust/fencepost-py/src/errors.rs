//! Errors become exceptions of `fencepost.errors`, which has the words; those for SQLite's
//! codes are in `fencepost.failures`.

use fencepost_core::{Error, Refusal};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use crate::convert;
use crate::end::Call;

const REFUSALS: &str = "fencepost.errors";
const FAILURES: &str = "fencepost.failures";

/// The exception for an error of the core.
pub(crate) fn exception(py: Python<'_>, error: Error, path: &Py<PyString>) -> PyErr {
    let made = match error {
        Error::Refused(refused) => refusal(py, &refused),
        Error::FileGone => call_refusal(py, ("file_gone", path)),
        Error::ReadOnly => call_refusal(py, ("read_only", path)),
        Error::Internal(text) => call_refusal(py, ("internal", text)),
        Error::Sqlite { code, detail } => sqlite_failure(py, code, path, &detail),
        // What Python code raised is raised again as it was.
        Error::Clock(error) | Error::Interrupted(error) => match error.downcast::<PyErr>() {
            Ok(error) => return *error,
            Err(error) => call_refusal(py, ("internal", error.to_string())),
        },
    };
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The exception object of a refusal.
pub(crate) fn refusal<'py>(py: Python<'py>, refused: &Refusal) -> PyResult<Bound<'py, PyAny>> {
    let code = PyString::new(py, refused.code).into_any();
    let mut arguments = vec![code];
    for part in &refused.subject {
        arguments.push(convert::value(py, part));
    }
    call_refusal(py, PyTuple::new(py, arguments)?)
}

/// The exception for a time that no i64 holds.
pub(crate) fn clock_out_of_range(given: &Bound<'_, PyAny>) -> PyErr {
    call_refusal(given.py(), ("clock_out_of_range", given))
        .map_or_else(|error| error, PyErr::from_value)
}

/// The exception for a call from inside another call of the same thread.
pub(crate) fn reentrant(py: Python<'_>) -> PyErr {
    call_refusal(py, ("reentrant",)).map_or_else(|error| error, PyErr::from_value)
}

fn call_refusal<'py>(
    py: Python<'py>,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    static REFUSAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let _call = Call::begin(py)?;
    REFUSAL.import(py, REFUSALS, "refusal")?.call1(arguments)
}

fn sqlite_failure<'py>(
    py: Python<'py>,
    code: i32,
    path: &Py<PyString>,
    detail: &str,
) -> PyResult<Bound<'py, PyAny>> {
    static FAILURE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let _call = Call::begin(py)?;
    FAILURE
        .import(py, FAILURES, "sqlite_failure")?
        .call1((code, path, detail))
}
