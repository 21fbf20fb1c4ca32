//! The end of the interpreter, for a thread that is in Python code which was called from here.
//!
//! Python code lets go of the interpreter, to sleep, to read, or for another thread. Before
//! Python 3.14 a thread that wants back into one that has ended is ended where it stands, and
//! its way out through the extension's frames aborts the process. So the end waits for the
//! calls that are under way, and from then on no other thread calls Python code from here.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A listener that never returns does not keep the process for ever.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
static ENDING: OnceLock<Thread> = OnceLock::new();

/// While it lives, Python code may be called.
pub(crate) struct Call;

impl Call {
    /// An error where the interpreter ends, by another thread.
    pub(crate) fn begin(_: Python<'_>) -> PyResult<Self> {
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        let call = Self;
        match ENDING.get() {
            Some(ending) if ending.id() != thread::current().id() => Err(ended()),
            _ => Ok(call),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // A fork in the midst of a call has set the count back.
        let less = |count: usize| count.checked_sub(1);
        let _ = UNDER_WAY.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        if let Some(ending) = ENDING.get() {
            ending.unpark();
        }
    }
}

/// What a call raises that came too late.
pub(crate) fn ended() -> PyErr {
    PyRuntimeError::new_err("fencepost: the interpreter has ended; nothing is done for this thread")
}

/// Have the end of the interpreter wait for the calls that are under way.
pub(crate) fn wait_for_calls(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let end = wrap_pyfunction!(end, module)?;
    py.import("atexit")?.call_method1("register", (end,))?;
    if let Ok(register) = py.import("os")?.getattr("register_at_fork") {
        let options = pyo3::types::PyDict::new(py);
        options.set_item("after_in_child", wrap_pyfunction!(forked, module)?)?;
        register.call((), Some(&options))?;
    }
    Ok(())
}

#[pyfunction]
fn end(py: Python<'_>) {
    let until = Instant::now() + LONGEST_WAIT;
    let _ = ENDING.set(thread::current());
    py.detach(|| {
        while UNDER_WAY.load(Ordering::SeqCst) > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    });
}

/// The threads that were in calls are none of the child's.
#[pyfunction]
fn forked() {
    UNDER_WAY.store(0, Ordering::SeqCst);
}
