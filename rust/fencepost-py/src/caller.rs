//! What the core asks of Python: the time, where the clock is a Python callable, and
//! whether a thread that waits has been interrupted.

use std::cell::RefCell;
use std::sync::Arc;

use fencepost_core::{Clock, Error, SystemClock};
use pyo3::exceptions::{PyException, PyOverflowError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::end::{Call, ended};
use crate::errors;

thread_local! {
    /// The callers whose Python code this thread is in.
    static INSIDE: RefCell<Vec<*const Caller>> = const { RefCell::new(Vec::new()) };
}

/// Attaches to the interpreter for each question alone.
pub(crate) struct Caller {
    /// None for the system's clock.
    pub(crate) clock: Option<Py<PyAny>>,
    /// A harness's hook in write transactions; see `fencepost/engine/probe.py`.
    pub(crate) probe: Option<Py<PyAny>>,
}

/// The core's side of a [`Caller`].
pub(crate) struct Questions(pub(crate) Arc<Caller>);

/// While it lives, this thread is in the caller's code, and with it in an operation.
struct Visit;

impl Caller {
    /// Whether this thread is inside the clock or a signal handler, and with it inside an
    /// operation: it would wait for itself.
    pub(crate) fn is_calling(&self) -> bool {
        INSIDE.with_borrow(|inside| inside.contains(&std::ptr::from_ref(self)))
    }

    fn visit(&self) -> Visit {
        INSIDE.with_borrow_mut(|inside| inside.push(std::ptr::from_ref(self)));
        Visit
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(Vec::pop);
    }
}

impl Clock for Questions {
    fn now_ms(&self) -> Result<i64, Error> {
        let Some(clock) = &self.0.clock else {
            return SystemClock.now_ms();
        };
        Python::try_attach(|py| {
            let _call = Call::begin(py).map_err(interrupted)?;
            let given = {
                let _visit = self.0.visit();
                clock.bind(py).call0()
            };
            given
                .and_then(|given| milliseconds(&given))
                .map_err(|error| failed(py, error))
        })
        .unwrap_or_else(|| Err(interrupted(ended())))
    }

    fn serves_others(&self) -> bool {
        // The main thread gets signals, whose exceptions come out of the clock.
        self.0.clock.is_none() || Python::try_attach(is_main_thread) == Some(false)
    }

    fn probe(&self, point: &'static str) {
        let Some(probe) = &self.0.probe else {
            return;
        };
        Python::try_attach(|py| {
            let Ok(_call) = Call::begin(py) else {
                return;
            };
            let _visit = self.0.visit();
            if let Err(error) = probe.bind(py).call1((point,)) {
                error.write_unraisable(py, Some(probe.bind(py)));
            }
        });
    }

    fn check_interrupts(&self) -> Result<(), Error> {
        // None while the interpreter ends: then nobody interrupts any more.
        Python::try_attach(|py| {
            let _visit = self.0.visit();
            py.check_signals()
        })
        .unwrap_or(Ok(()))
        .map_err(interrupted)
    }
}

fn is_main_thread(py: Python<'_>) -> bool {
    static THREADING: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let is_main = || -> PyResult<bool> {
        let _call = Call::begin(py)?;
        let module =
            THREADING.get_or_try_init(py, || Ok::<_, PyErr>(py.import("threading")?.unbind()))?;
        let module = module.bind(py);
        let (this, main) = (
            module.call_method0("current_thread")?,
            module.call_method0("main_thread")?,
        );
        Ok(this.is(&main))
    };
    // Who can't say does its own work alone.
    is_main().unwrap_or(true)
}

/// An exception that is no `Exception` is meant for the thread, not for the operation.
fn failed(py: Python<'_>, error: PyErr) -> Error {
    if error.is_instance_of::<PyException>(py) {
        Error::Clock(error.into())
    } else {
        interrupted(error)
    }
}

fn interrupted(error: PyErr) -> Error {
    Error::Interrupted(error.into())
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
