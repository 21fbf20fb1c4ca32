//! Values between the two sides.

use fencepost_core::{NewRun, Refusal, Row, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString, PyTuple};

use crate::errors;

/// A run as the protocol passes it: the fields of [`NewRun`] in order.
pub(crate) type RunTuple = (
    String,
    String,
    String,
    String,
    String,
    String,
    i64,
    Option<String>,
    Option<String>,
);

/// A stored row, as a tuple.
pub(crate) struct PyRow(pub(crate) Row);

/// What became of an item: its row, or the exception that refuses it.
pub(crate) struct PyItem(pub(crate) Result<Row, Refusal>);

/// A parameter of a statement.
pub(crate) struct Parameter(pub(crate) Value);

/// A stored value: None, int, float, str, or bytes.
pub(crate) fn value<'py>(py: Python<'py>, value: &Value) -> Bound<'py, PyAny> {
    match value {
        Value::Null => py.None().into_bound(py),
        Value::Integer(number) => PyInt::new(py, *number).into_any(),
        Value::Real(number) => PyFloat::new(py, *number).into_any(),
        Value::Text(text) => PyString::new(py, text).into_any(),
        Value::Blob(bytes) => PyBytes::new(py, bytes).into_any(),
    }
}

pub(crate) fn rows(rows: Vec<Row>) -> Vec<PyRow> {
    rows.into_iter().map(PyRow).collect()
}

pub(crate) fn new_run(run: RunTuple) -> NewRun {
    let (
        run_id,
        workflow_name,
        workflow_source_ref,
        input_json,
        runner_id,
        claim_token,
        lease_ms,
        affinity_runner_id,
        parent_run_id,
    ) = run;
    NewRun {
        run_id,
        workflow_name,
        workflow_source_ref,
        input_json,
        runner_id,
        claim_token,
        lease_ms,
        affinity_runner_id,
        parent_run_id,
    }
}

impl<'py> IntoPyObject<'py> for PyRow {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        PyTuple::new(py, self.0.iter().map(|column| value(py, column)))
    }
}

impl<'py> IntoPyObject<'py> for PyItem {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        match self.0 {
            Ok(row) => Ok(PyRow(row).into_pyobject(py)?.into_any()),
            Err(refused) => errors::refusal(py, &refused),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Parameter {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(if given.is_none() {
            Value::Null
        } else if given.is_instance_of::<PyInt>() {
            Value::Integer(given.extract()?)
        } else if given.is_instance_of::<PyString>() {
            Value::Text(given.extract()?)
        } else {
            return Err(PyTypeError::new_err("a parameter is an int, a str or None"));
        }))
    }
}
