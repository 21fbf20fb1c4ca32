//! The statements of one operation, run on the locked connection.
//!
//! Every statement stays prepared and is reset before the helper returns: one that is
//! still stepping would keep a COMMIT from ending the transaction.

use rusqlite::{CachedStatement, Connection, Row as StoredRow, Rows, ToSql};

use crate::checkpoints::Checkpoints;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::file::OpenedFile;
use crate::time::{MAX_TIME_MS, MIN_TIME_MS};
use crate::turns::Turns;
use crate::value::{Row, Value};

/// Named parameters, each `(":name", value)`.
pub(crate) type Params<'a> = &'a [(&'a str, &'a dyn ToSql)];

/// What an operation works with while it has the connection.
pub(crate) struct Session<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) turns: &'a Turns,
    pub(crate) file: &'a OpenedFile,
    pub(crate) checkpoints: &'a Checkpoints,
    pub(crate) clock: &'a dyn Clock,
}

impl Session<'_> {
    /// The given time, or the clock's.
    pub(crate) fn now(&self, given: Option<i64>) -> Result<i64> {
        if let Some(now) = given {
            return Ok(now);
        }
        let now = self.clock.now_ms()?;
        if (MIN_TIME_MS..=MAX_TIME_MS).contains(&now) {
            Ok(now)
        } else {
            Err(Error::refused("clock_out_of_range", [now.into()]))
        }
    }

    /// Run a statement that gives no rows; how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: Params<'_>) -> Result<usize> {
        Ok(self.connection.prepare_cached(sql)?.execute(params)?)
    }

    /// Run a statement that gives no rows, its parameters by their order.
    pub(crate) fn execute_all(&self, sql: &str, params: &[&dyn ToSql]) -> Result<usize> {
        Ok(self.connection.prepare_cached(sql)?.execute(params)?)
    }

    /// Whether a statement changed a row.
    pub(crate) fn changes(&self, sql: &str, params: Params<'_>) -> Result<bool> {
        Ok(self.execute(sql, params)? > 0)
    }

    /// Whether a query gives a row.
    pub(crate) fn exists(&self, sql: &str, params: Params<'_>) -> Result<bool> {
        Ok(self.connection.prepare_cached(sql)?.exists(params)?)
    }

    /// The first row of a query.
    pub(crate) fn first(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>> {
        Ok(self.some(sql, params, 1, |_| true)?.pop())
    }

    /// The row of a query that has one, because the operation just wrote it.
    pub(crate) fn one(&self, sql: &str, params: Params<'_>) -> Result<Row> {
        self.first(sql, params)?
            .ok_or_else(|| Error::Internal("a row that was just written is not there".into()))
    }

    /// The first rows of a query that are wanted; others are stepped over.
    pub(crate) fn some(
        &self,
        sql: &str,
        params: Params<'_>,
        most: usize,
        mut wanted: impl FnMut(&Row) -> bool,
    ) -> Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params)?;
        let mut found = Vec::new();
        while found.len() < most {
            let Some(stored) = rows.next()? else {
                break;
            };
            let row = read(stored, columns)?;
            if wanted(&row) {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// All rows of a query.
    pub(crate) fn all(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let columns = statement.column_count();
        collect(statement.query(params)?, columns)
    }

    /// All rows of a query; parameters that it does not have are left out.
    pub(crate) fn all_with(&self, sql: &str, params: &[(String, Value)]) -> Result<Vec<Row>> {
        let mut statement = self.bound(sql, params)?;
        let columns = statement.column_count();
        collect(statement.raw_query(), columns)
    }

    /// Run a statement that gives no rows, with such parameters; how many rows it changed.
    pub(crate) fn execute_with(&self, sql: &str, params: &[(String, Value)]) -> Result<usize> {
        Ok(self.bound(sql, params)?.raw_execute()?)
    }

    fn bound(&self, sql: &str, params: &[(String, Value)]) -> Result<CachedStatement<'_>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        for index in 1..=statement.parameter_count() {
            let name = statement.parameter_name(index).unwrap_or_default();
            let bare = name.get(1..).unwrap_or_default();
            let (_, value) = params
                .iter()
                .find(|(given, _)| given == bare)
                .ok_or_else(|| Error::Internal(format!("no value for the parameter {name}")))?;
            statement.raw_bind_parameter(index, value)?;
        }
        Ok(statement)
    }
}

fn collect(mut rows: Rows<'_>, columns: usize) -> Result<Vec<Row>> {
    let mut all = Vec::new();
    while let Some(stored) = rows.next()? {
        all.push(read(stored, columns)?);
    }
    Ok(all)
}

fn read(stored: &StoredRow<'_>, columns: usize) -> Result<Row> {
    (0..columns)
        .map(|column| Ok(Value::from(stored.get_ref(column)?)))
        .collect()
}
