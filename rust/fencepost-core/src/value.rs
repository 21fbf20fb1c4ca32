//! Values as SQLite holds them. Another program may have written anything into a
//! column, so a row is not typed here: whoever reads it says what is wrong with it.

use std::cmp::Ordering;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

/// One stored value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// INTEGER.
    Integer(i64),
    /// REAL.
    Real(f64),
    /// TEXT in valid UTF-8.
    Text(String),
    /// BLOB, or TEXT that is no UTF-8.
    Blob(Vec<u8>),
}

/// One row, its values in the order of the statement's columns.
pub type Row = Vec<Value>;

impl Value {
    /// The text, where this is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The order in which SQLite sorts: NULL, numbers, text, blobs; text by its bytes.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Blob(a), Self::Blob(b)) => a.cmp(b),
            (Self::Integer(_) | Self::Real(_), Self::Integer(_) | Self::Real(_)) => {
                self.number().total_cmp(&other.number())
            }
            _ => self.class().cmp(&other.class()),
        }
    }

    fn class(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Integer(_) | Self::Real(_) => 1,
            Self::Text(_) => 2,
            Self::Blob(_) => 3,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "only orders a stray REAL among integers"
    )]
    fn number(&self) -> f64 {
        match self {
            Self::Integer(number) => *number as f64,
            Self::Real(number) => *number,
            _ => 0.0,
        }
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Self::Text(text.to_owned()),
                Err(_) => Self::Blob(bytes.to_owned()),
            },
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_owned()),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        text.map_or(Self::Null, Self::from)
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_as_sqlite_does() {
        let sorted = [
            Value::Null,
            Value::Integer(-1),
            Value::Real(0.5),
            Value::Integer(1),
            Value::from("A"),
            Value::from("a"),
            Value::from("\u{ff5e}"),
            Value::from("\u{1f600}"),
            Value::Blob(vec![0]),
        ];
        for pair in sorted.windows(2) {
            assert_eq!(pair[0].order(&pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(pair[1].order(&pair[0]), Ordering::Greater, "{pair:?}");
        }
    }
}
