//! Canonical JSON of ordinary values, quickly. Whatever is not quite ordinary (subclasses,
//! lone surrogates, what is no JSON, what is too deep or too long) is left to the reference,
//! `fencepost/canonical.py`, which also has the words for errors.

use fencepost_core::json::{
    MAX_SAFE_INTEGER, member_order, write_integer, write_number, write_quoted,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// What is nested deeper is not ordinary: of a container that holds itself each level would
/// be a copy.
const MAX_DEPTH: usize = 16;

/// The length at which the reference takes over where nobody set a limit. It can be
/// interrupted, and runs out of memory with an error.
const MOST_BYTES: usize = 64 << 20;

/// What is still to be written of an open array or object. A stack of our own, so that no
/// nesting can overflow that of the thread.
enum Open<'py> {
    List(Bound<'py, PyList>, usize),
    Tuple(Bound<'py, PyTuple>, usize),
    /// The members, the last of them first.
    Object(Vec<(Bound<'py, PyString>, Bound<'py, PyAny>)>),
}

/// The canonical text; None where the reference has to say.
pub(crate) fn text(value: &Bound<'_, PyAny>, most: Option<usize>) -> Option<String> {
    let most = most.unwrap_or(MOST_BYTES);
    let mut to = String::with_capacity(64);
    let mut stack = Vec::new();
    begin(value, &mut to, &mut stack)?;
    loop {
        if to.len() > most {
            return None;
        }
        let Some(open) = stack.last_mut() else {
            return Some(to);
        };
        match next(open, &mut to) {
            Some(value) => begin(&value, &mut to, &mut stack)?,
            None => drop(stack.pop()),
        }
    }
}

/// Write a scalar, or the opening of a container that comes on the stack.
fn begin<'py>(
    value: &Bound<'py, PyAny>,
    to: &mut String,
    stack: &mut Vec<Open<'py>>,
) -> Option<()> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        write_quoted(text.to_str().ok()?, to);
    } else if value.is_none() {
        to.push_str("null");
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        to.push_str(if flag.is_true() { "true" } else { "false" });
    } else if value.is_exact_instance_of::<PyInt>() {
        let number: i64 = value.extract().ok()?;
        if !(-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&number) {
            return None;
        }
        write_integer(number, to);
    } else if let Ok(float) = value.cast_exact::<PyFloat>() {
        let number = float.value();
        if !number.is_finite() {
            return None;
        }
        write_number(number, to);
    } else if stack.len() >= MAX_DEPTH {
        return None;
    } else if let Ok(members) = value.cast_exact::<PyDict>() {
        if members.is_empty() {
            to.push_str("{}");
            return Some(());
        }
        to.push('{');
        stack.push(Open::Object(sorted(members)?));
    } else if let Ok(items) = value.cast_exact::<PyList>() {
        to.push('[');
        stack.push(Open::List(items.clone(), 0));
    } else if let Ok(items) = value.cast_exact::<PyTuple>() {
        to.push('[');
        stack.push(Open::Tuple(items.clone(), 0));
    } else {
        return None;
    }
    Some(())
}

/// Write what stands before the next value, and give that; the closing where there is none.
fn next<'py>(open: &mut Open<'py>, to: &mut String) -> Option<Bound<'py, PyAny>> {
    let (item, at) = match open {
        Open::List(items, at) if *at < items.len() => (items.get_item(*at).ok(), at),
        Open::Tuple(items, at) if *at < items.len() => (items.get_item(*at).ok(), at),
        Open::List(_, at) | Open::Tuple(_, at) => (None, at),
        Open::Object(members) => {
            let Some((name, value)) = members.pop() else {
                to.push('}');
                return None;
            };
            if !to.ends_with('{') {
                to.push(',');
            }
            write_quoted(name.to_str().unwrap_or_default(), to);
            to.push(':');
            return Some(value);
        }
    };
    if item.is_none() {
        to.push(']');
    } else if *at > 0 {
        to.push(',');
    }
    *at += 1;
    item
}

fn sorted<'py>(
    members: &Bound<'py, PyDict>,
) -> Option<Vec<(Bound<'py, PyString>, Bound<'py, PyAny>)>> {
    let mut found = Vec::with_capacity(members.len());
    for (name, value) in members.iter() {
        let name = name.cast_into_exact::<PyString>().ok()?;
        // Text that UTF-8 can't hold is refused before it is compared.
        name.to_str().ok()?;
        found.push((name, value));
    }
    found.sort_by(|(a, _), (b, _)| {
        let (a, b) = (
            a.to_str().unwrap_or_default(),
            b.to_str().unwrap_or_default(),
        );
        member_order(b, a)
    });
    Some(found)
}
