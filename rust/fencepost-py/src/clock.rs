//! A clock that is a Python callable.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use fencepost_core::{Clock, ClockError};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::errors;

/// The callable, and the thread that is inside it.
pub(crate) struct Callable {
    pub(crate) function: Py<PyAny>,
    caller: Mutex<Option<ThreadId>>,
}

impl Callable {
    pub(crate) fn new(function: Py<PyAny>) -> Self {
        Self {
            function,
            caller: Mutex::new(None),
        }
    }

    /// Whether this thread is inside the callable, and with it inside an operation: it would
    /// wait for itself.
    pub(crate) fn is_calling(&self) -> bool {
        *self.caller.lock().unwrap_or_else(PoisonError::into_inner) == Some(thread::current().id())
    }

    fn set_caller(&self, caller: Option<ThreadId>) {
        *self.caller.lock().unwrap_or_else(PoisonError::into_inner) = caller;
    }
}

/// Attaches to the interpreter for its call alone.
pub(crate) struct PythonClock(pub(crate) Arc<Callable>);

impl Clock for PythonClock {
    fn now_ms(&self) -> Result<i64, ClockError> {
        let outcome = Python::attach(|py| {
            self.0.set_caller(Some(thread::current().id()));
            let given = self.0.function.bind(py).call0();
            self.0.set_caller(None);
            milliseconds(&given?)
        });
        outcome.map_err(Into::into)
    }
}

fn milliseconds(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    given.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(given.py()) {
            errors::clock_out_of_range(given)
        } else {
            error
        }
    })
}
