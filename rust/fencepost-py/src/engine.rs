//! The class `Engine`. Every operation is one call into the core, with the interpreter
//! released for the whole of it.

mod effects;
mod events;
mod feed;
mod queue;
mod requests;
mod resources;
mod runs;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fencepost_core::{Error, Options, Row, Store, Synchronous, Value};
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};

use crate::caller::{Caller, Questions};
use crate::convert::{Parameter, PyRow, rows};
use crate::end::{Call, ended};
use crate::errors;

/// One open database; see `fencepost.engine.protocol.Engine`.
#[pyclass(frozen, module = "fencepost._native")]
pub(crate) struct Engine {
    store: Store,
    path: Py<PyString>,
    caller: Arc<Caller>,
    on_wait: Option<Py<PyAny>>,
    on_log_held: Option<Py<PyAny>>,
}

impl Engine {
    /// Run an operation of the core without the interpreter.
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&Store) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        if self.caller.is_calling() {
            return Err(errors::reentrant(py));
        }
        let result = py.detach(|| operation(&self.store));
        if let (Some(function), Some(waited)) = (&self.on_wait, self.store.take_waited())
            && let Ok(_call) = Call::begin(py)
        {
            function.call1(py, (waited.as_secs_f64(),))?;
        }
        if let Some(function) = &self.on_log_held
            && self.store.take_log_held()
            && let Ok(_call) = Call::begin(py)
        {
            function.call0(py)?;
        }
        result.map_err(|error| errors::exception(py, error, &self.path))
    }

    /// The same, for an operation that gives one row.
    fn row(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&Store) -> Result<Row, Error> + Send,
    ) -> PyResult<PyRow> {
        self.call(py, operation).map(PyRow)
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (path, *, read_only, synchronous, busy_timeout_ms, clock, immutable=false, probe=None, on_wait=None, on_log_held=None))]
    fn new(
        py: Python<'_>,
        path: Bound<'_, PyString>,
        read_only: bool,
        synchronous: &str,
        busy_timeout_ms: u64,
        clock: Option<Py<PyAny>>,
        immutable: bool,
        probe: Option<Py<PyAny>>,
        on_wait: Option<Py<PyAny>>,
        on_log_held: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let synchronous = match synchronous {
            "full" => Synchronous::Full,
            "normal" => Synchronous::Normal,
            "off" => Synchronous::Off,
            _ => return Err(PyValueError::new_err("synchronous: full, normal or off")),
        };
        let options = Options {
            read_only,
            immutable,
            synchronous,
            busy_timeout: Duration::from_millis(busy_timeout_ms),
        };
        // The bytes that the file system knows, which need not be UTF-8.
        let file: PathBuf = path.extract()?;
        let path = path.unbind();
        let caller = Arc::new(Caller { clock, probe });
        let questions = Box::new(Questions(Arc::clone(&caller)));
        let store = py
            .detach(|| Store::open(&file, options, questions))
            .map_err(|error| errors::exception(py, error, &path))?;
        Ok(Self {
            store,
            path,
            caller,
            on_wait,
            on_log_held,
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.caller.clock)?;
        visit.call(&self.caller.probe)?;
        visit.call(&self.on_wait)?;
        visit.call(&self.on_log_held)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Store::close)
    }

    fn use_wal(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Store::use_wal)
    }

    fn create_schema(
        &self,
        py: Python<'_>,
        schema_version: i64,
        schema_id: Option<String>,
    ) -> PyResult<bool> {
        self.call(py, |store| store.create_schema(schema_version, schema_id))
    }

    fn read(
        &self,
        py: Python<'_>,
        statement: &str,
        params: &Bound<'_, PyMapping>,
    ) -> PyResult<Vec<PyRow>> {
        let given = parameters(params)?;
        self.call(py, |store| store.read(statement, &given))
            .map(rows)
    }

    fn change(
        &self,
        py: Python<'_>,
        statement: &str,
        params: &Bound<'_, PyMapping>,
    ) -> PyResult<usize> {
        let given = parameters(params)?;
        self.call(py, |store| store.change(statement, given))
    }

    fn change_and_record(
        &self,
        py: Python<'_>,
        change: &str,
        record: &str,
        params: &Bound<'_, PyMapping>,
        now: Option<i64>,
    ) -> PyResult<Option<i64>> {
        let given = parameters(params)?;
        self.call(py, |store| {
            store.change_and_record(change, record, given, now)
        })
    }

    fn backup(
        &self,
        py: Python<'_>,
        target: PathBuf,
        pages: i32,
        pause_ms: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let step = move |remaining: i32, total: i32| match &progress {
            None => Ok(()),
            Some(function) => Python::try_attach(|py| {
                let _call = Call::begin(py)?;
                function.call1(py, (remaining, total)).map(drop)
            })
            .unwrap_or_else(|| Err(ended()))
            .map_err(|error| Error::Interrupted(error.into())),
        };
        let pause = Duration::from_millis(pause_ms);
        self.call(py, move |store| store.backup(&target, pages, pause, step))
    }
}

fn parameters(params: &Bound<'_, PyMapping>) -> PyResult<Vec<(String, Value)>> {
    params
        .items()?
        .iter()
        .map(|item| {
            let (name, Parameter(value)) = item.extract()?;
            Ok((name, value))
        })
        .collect()
}
