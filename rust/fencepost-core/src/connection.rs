//! The connection: the one lock around it, and its transactions.

use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::ffi::SQLITE_BUSY;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::open::{self, Options};
use crate::patience::{is_busy, patiently};
use crate::session::Session;
use crate::statements::{self, ADDITIONS, CONNECTION, LAYOUT, SCHEMA, named};
use crate::turns::Turns;
use crate::value::{Row, Value};

const BEGIN: &str = named(CONNECTION, "begin");
const COMMIT: &str = named(CONNECTION, "commit");
const ROLLBACK: &str = named(CONNECTION, "rollback");
const USE_WAL: &str = named(CONNECTION, "use_wal");
const FOREIGN_TABLES: &str = named(LAYOUT, "foreign_tables");

/// One open database, safe to use from many threads; a forked child is refused.
pub struct Store {
    held: Mutex<Option<Held>>,
    process: u32,
    clock: Box<dyn Clock>,
    busy_timeout: Duration,
    read_only: bool,
}

/// What one thread at a time has.
struct Held {
    connection: Connection,
    turns: Turns,
}

/// The version of the SQLite library that is built in.
#[must_use]
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

impl Store {
    /// Open an existing file.
    pub fn open(path: &Path, options: Options, clock: Box<dyn Clock>) -> Result<Self> {
        // An absolute path is never taken for a URI or for ":memory:".
        let path = std::path::absolute(path).map_err(|error| Error::Internal(error.to_string()))?;
        let held = Held {
            connection: open::open(&path, options)?,
            turns: Turns::new(&path, options.busy_timeout),
        };
        Ok(Self {
            held: Mutex::new(Some(held)),
            process: process::id(),
            clock,
            busy_timeout: options.busy_timeout,
            read_only: options.read_only,
        })
    }

    /// Close the connection, after the operations of other threads; again does nothing.
    ///
    /// A forked child leaves the connection alone: closing it could checkpoint and delete
    /// the WAL under its parent.
    pub fn close(&self) -> Result<()> {
        if process::id() != self.process {
            return Ok(());
        }
        let mut guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match guard.take() {
            None => Ok(()),
            Some(held) => held.connection.close().map_err(|(_, error)| error.into()),
        }
    }

    /// Switch the file to WAL, trying again within the busy timeout.
    pub fn use_wal(&self) -> Result<()> {
        self.session(|session| self.patiently(|| session.first(USE_WAL, &[])))
            .map(|_| ())
    }

    /// Create what is missing of the tables and the additions.
    ///
    /// In somebody else's database nothing is created; the names of its tables come back.
    pub fn create_schema(&self) -> Result<Vec<String>> {
        self.write(|session| {
            let foreign: Vec<String> = session
                .all(FOREIGN_TABLES, &[])?
                .iter()
                .map(|row| {
                    row.first()
                        .and_then(Value::as_text)
                        .unwrap_or("?")
                        .to_owned()
                })
                .collect();
            if foreign.is_empty() {
                session.connection.execute_batch(SCHEMA)?;
                session.connection.execute_batch(ADDITIONS)?;
            }
            Ok(foreign)
        })
    }

    /// All rows of the named read statement. Parameters that it does not use may be given.
    pub fn read(&self, statement: &str, params: &[(String, Value)]) -> Result<Vec<Row>> {
        let sql = statements::find(statement)
            .ok_or_else(|| Error::Internal(format!("no statement {statement}")))?;
        self.session(|session| self.patiently(|| session.all_with(sql, params)))
    }

    /// What `call` gives, tried again within the busy timeout; for what does not write rows.
    pub(crate) fn patiently<T>(&self, call: impl Fn() -> Result<T>) -> Result<T> {
        patiently(self.busy_timeout, call)
    }

    /// One write transaction: all of `work` is committed, or nothing.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Session<'_>) -> Result<T>) -> Result<T> {
        self.session(|session| {
            if self.read_only {
                return Err(Error::ReadOnly);
            }
            begin(session)?;
            let done = work(session)?;
            session.execute(COMMIT, &[])?;
            Ok(done)
        })
    }

    /// Work on the connection while no other thread does. Whatever fails, no transaction
    /// stays open, and the first error is the one reported.
    pub(crate) fn session<T>(&self, work: impl FnOnce(&Session<'_>) -> Result<T>) -> Result<T> {
        // Before the lock: a fork may have copied it locked.
        if process::id() != self.process {
            return Err(Error::refused("forked", []));
        }
        let guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = guard.as_ref() else {
            return Err(Error::refused("closed", []));
        };
        let session = Session {
            connection: &held.connection,
            turns: &held.turns,
            clock: &*self.clock,
        };
        // What a failed rollback left open must not become part of this operation.
        end_transaction(&session)?;
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| work(&session)))
            .unwrap_or_else(|payload| Err(Error::Internal(panic_text(&*payload))));
        if outcome.is_err() {
            // The first error counts; a rollback that fails is tried again by the next call.
            let _ = end_transaction(&session);
        }
        outcome
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if process::id() != self.process {
            let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
            mem::forget(held.take());
        }
    }
}

/// Begin a write transaction, when it is this process's turn.
fn begin(session: &Session<'_>) -> Result<()> {
    let locked = session.turns.take(|| match session.execute(BEGIN, &[]) {
        Ok(_) => Ok(true),
        Err(error) if is_busy(&error) => Ok(false),
        Err(error) => Err(error),
    })?;
    if locked {
        return Ok(());
    }
    Err(Error::Sqlite {
        code: SQLITE_BUSY,
        detail: "the lock was not to be had within the busy timeout".into(),
    })
}

/// Roll back, where SQLite has not done so by itself.
fn end_transaction(session: &Session<'_>) -> Result<()> {
    if session.connection.is_autocommit() {
        return Ok(());
    }
    session.execute(ROLLBACK, &[]).map(|_| ())
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic".to_owned())
}

#[cfg(test)]
mod tests {
    use rusqlite::named_params;
    use tempfile::TempDir;

    use super::*;
    use crate::clock::SystemClock;
    use crate::open::Synchronous;
    use crate::statements::FEED;

    const SET_WATERMARK: &str = named(FEED, "set_watermark");

    fn store() -> (Store, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        std::fs::File::create_new(&path).unwrap();
        let options = Options {
            read_only: false,
            immutable: false,
            synchronous: Synchronous::Off,
            busy_timeout: Duration::from_secs(1),
        };
        let store = Store::open(&path, options, Box::new(SystemClock)).unwrap();
        store.create_schema().unwrap();
        (store, folder)
    }

    #[test]
    fn a_panic_is_an_error_and_rolls_back() {
        let (store, _folder) = store();
        let outcome: Result<()> = store.write(|session| {
            let params = named_params! { ":session_id": "s", ":seq": 1, ":updated_at": "" };
            session.execute(SET_WATERMARK, params)?;
            panic!("a defect");
        });
        assert!(matches!(outcome, Err(Error::Internal(text)) if text == "a defect"));
        let rows = store.read("dump.session_watermarks", &[]).unwrap();
        assert!(rows.is_empty());
        store.set_watermark("s", 1, None).unwrap();
    }

    #[test]
    fn a_transaction_that_was_left_open_does_not_join_the_next() {
        let (store, _folder) = store();
        store
            .session(|session| session.execute(BEGIN, &[]))
            .unwrap();
        store.set_watermark("s", 1, None).unwrap();
    }

    #[test]
    fn another_process_is_refused_and_closes_nothing() {
        let (mut store, _folder) = store();
        store.process += 1;
        let outcome = store.set_watermark("s", 1, None);
        assert!(matches!(outcome, Err(Error::Refused(refusal)) if refusal.code == "forked"));
        store.close().unwrap();
        assert!(store.held.get_mut().unwrap().is_some());
    }
}
