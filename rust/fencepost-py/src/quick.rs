//! Quick answers about arguments and rows that are surely in order. The rules are those of
//! `fencepost/validation.py` and `fencepost/records/base.py`: they say what is wrong with
//! whatever gets no yes here, and whether anything is.

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};

const LONGEST_RUN_ID: usize = 200;

/// A key may have 512 UTF-16 code units; so long ones are rare, and left to the rules.
const LONG_KEY: usize = 256;

pub(crate) fn is_run_claim(run_id: &Bound<'_, PyAny>, claim_token: &Bound<'_, PyAny>) -> bool {
    plain(run_id, LONGEST_RUN_ID, is_run_id) && is_key(claim_token)
}

pub(crate) fn are_keys(values: &Bound<'_, PyTuple>) -> bool {
    values.iter_borrowed().all(|value| is_key(&value))
}

/// Whether each value of a row is null or of its column's kind: `t`ext, or an `i`nteger. A
/// row may have only the first columns.
pub(crate) fn holds(row: &Bound<'_, PyTuple>, kinds: &str) -> bool {
    row.len() <= kinds.len()
        && row
            .iter_borrowed()
            .zip(kinds.bytes())
            .all(|(value, kind)| match kind {
                _ if value.is_none() => true,
                b't' => value.is_exact_instance_of::<PyString>(),
                b'i' => value.is_exact_instance_of::<PyInt>(),
                _ => false,
            })
}

fn is_key(value: &Bound<'_, PyAny>) -> bool {
    plain(value, LONG_KEY, |text| {
        text.iter().all(|byte| matches!(byte, b' '..=b'~'))
    })
}

fn is_run_id(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphanumeric)
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// Whether this is text itself, no subclass, neither empty nor long, and `is_so`.
fn plain(value: &Bound<'_, PyAny>, longest: usize, is_so: impl Fn(&[u8]) -> bool) -> bool {
    value
        .cast_exact::<PyString>()
        .is_ok_and(|text| match text.to_str() {
            Ok(text) => (1..=longest).contains(&text.len()) && is_so(text.as_bytes()),
            Err(_) => false,
        })
}
