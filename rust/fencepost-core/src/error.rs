//! How an operation fails. The words and classes live in `fencepost.errors`; the engine
//! says which refusal it is and what it is about.

use std::fmt;

use crate::clock::CallerError;
use crate::value::Value;

/// The result of an operation.
pub type Result<T> = std::result::Result<T, Error>;

/// A refusal: its code in `fencepost.errors.refusal`, and what the message speaks of.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The refusal's name.
    pub code: &'static str,
    /// The row's key, then what else the message says.
    pub subject: Vec<Value>,
}

impl Refusal {
    /// A refusal about `subject`.
    pub fn new(code: &'static str, subject: impl IntoIterator<Item = Value>) -> Self {
        Self {
            code,
            subject: subject.into_iter().collect(),
        }
    }
}

/// Why an operation changed nothing.
#[derive(Debug)]
pub enum Error {
    /// The store's rules, or its state, forbid the operation.
    Refused(Refusal),
    /// SQLite failed.
    Sqlite {
        /// SQLite's extended result code.
        code: i32,
        /// SQLite's own words.
        detail: String,
    },
    /// The caller's clock failed with this.
    Clock(CallerError),
    /// The caller's thread was told to stop, with this.
    Interrupted(CallerError),
    /// The file was deleted, moved or replaced under the store.
    FileGone,
    /// The store was opened only for reading.
    ReadOnly,
    /// A defect of fencepost itself.
    Internal(String),
}

impl Error {
    /// A refusal about `subject`, as an error.
    pub(crate) fn refused(code: &'static str, subject: impl IntoIterator<Item = Value>) -> Self {
        Self::Refused(Refusal::new(code, subject))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(out, "{} {:?}", refusal.code, refusal.subject),
            Self::Sqlite { code, detail } => write!(out, "SQLite code {code}: {detail}"),
            Self::Clock(error) => write!(out, "the clock failed: {error}"),
            Self::Interrupted(error) => write!(out, "interrupted: {error}"),
            Self::FileGone => write!(out, "the file is gone"),
            Self::ReadOnly => write!(out, "the store is read-only"),
            Self::Internal(text) => write!(out, "a defect: {text}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::SqliteFailure(failure, detail) => Self::Sqlite {
                code: failure.extended_code,
                detail: detail.unwrap_or_else(|| failure.to_string()),
            },
            rusqlite::Error::SqlInputError { error, msg, .. } => Self::Sqlite {
                code: error.extended_code,
                detail: msg,
            },
            other => Self::Internal(other.to_string()),
        }
    }
}
