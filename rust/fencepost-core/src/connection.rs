//! The connection: opening it, the one lock around it, and its transactions.

use std::any::Any;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::statements::{self, ADDITIONS, CONNECTION, LAYOUT, SCHEMA, named};
use crate::value::{Row, Value};

const BEGIN: &str = named(CONNECTION, "begin");
const COMMIT: &str = named(CONNECTION, "commit");
const ROLLBACK: &str = named(CONNECTION, "rollback");
const USE_WAL: &str = named(CONNECTION, "use_wal");
const FOREIGN_KEYS_ON: &str = named(CONNECTION, "foreign_keys_on");
const SYNCHRONOUS_FULL: &str = named(CONNECTION, "synchronous_full");
const SYNCHRONOUS_NORMAL: &str = named(CONNECTION, "synchronous_normal");
const SYNCHRONOUS_OFF: &str = named(CONNECTION, "synchronous_off");
const QUERY_ONLY: &str = named(CONNECTION, "query_only");
const FOREIGN_TABLES: &str = named(LAYOUT, "foreign_tables");

/// More than there are statements, so that none is ever prepared twice.
const KEPT_STATEMENTS: usize = 256;

/// How often the switch to WAL is tried again at most.
const WAL_RETRY: Duration = Duration::from_millis(5);

/// When a commit has reached the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// Before the call returns.
    Full,
    /// At the next checkpoint; a power failure may lose the last commits.
    Normal,
    /// When the operating system likes.
    Off,
}

/// How to open a file.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Never write to it.
    pub read_only: bool,
    /// Nobody writes to it: take no locks and look for no journal.
    pub immutable: bool,
    /// When a commit has reached the disk.
    pub synchronous: Synchronous,
    /// How long to wait for another process's lock.
    pub busy_timeout: Duration,
}

/// One open database, safe to use from many threads; a forked child is refused.
pub struct Store {
    connection: Mutex<Option<Connection>>,
    process: u32,
    clock: Box<dyn Clock>,
    busy_timeout: Duration,
    read_only: bool,
}

/// The version of the SQLite library that is built in.
#[must_use]
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

impl Store {
    /// Open an existing file.
    pub fn open(path: &Path, options: Options, clock: Box<dyn Clock>) -> Result<Self> {
        let connection = open_connection(path, options)?;
        // SQLite counts the timeout in an int.
        let busy_timeout = options
            .busy_timeout
            .min(Duration::from_millis(i32::MAX as u64));
        connection.busy_timeout(busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
        // Else SQLite looks at the values when it plans, and plans anew for each that is bound.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.execute_batch(FOREIGN_KEYS_ON)?;
        connection.execute_batch(match options.synchronous {
            Synchronous::Full => SYNCHRONOUS_FULL,
            Synchronous::Normal => SYNCHRONOUS_NORMAL,
            Synchronous::Off => SYNCHRONOUS_OFF,
        })?;
        if options.read_only {
            connection.execute_batch(QUERY_ONLY)?;
        }
        Ok(Self {
            connection: Mutex::new(Some(connection)),
            process: process::id(),
            clock,
            busy_timeout,
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
        let mut guard = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match guard.take().map(Connection::close) {
            None | Some(Ok(())) => Ok(()),
            Some(Err((_, error))) => Err(error.into()),
        }
    }

    /// Switch the file to WAL, trying again within the busy timeout, which SQLite does not
    /// apply to the switch.
    pub fn use_wal(&self) -> Result<()> {
        let deadline = Instant::now() + self.busy_timeout;
        loop {
            match self.session(|session| session.first(USE_WAL, &[])) {
                Err(Error::Sqlite { code, .. })
                    if code & 0xff == rusqlite::ffi::SQLITE_BUSY && Instant::now() < deadline =>
                {
                    thread::sleep(WAL_RETRY);
                }
                outcome => return outcome.map(|_| ()),
            }
        }
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
        self.session(|session| session.all_with(sql, params))
    }

    /// One write transaction: all of `work` is committed, or nothing.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Session<'_>) -> Result<T>) -> Result<T> {
        self.session(|session| {
            if self.read_only {
                return Err(Error::ReadOnly);
            }
            session.execute(BEGIN, &[])?;
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
        let guard = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(connection) = guard.as_ref() else {
            return Err(Error::refused("closed", []));
        };
        let session = Session {
            connection,
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
            let connection = self
                .connection
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner);
            mem::forget(connection.take());
        }
    }
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

fn open_connection(path: &Path, options: Options) -> Result<Connection> {
    let access = if options.read_only {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    } else {
        OpenFlags::SQLITE_OPEN_READ_WRITE
    };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // An absolute path is never taken for a URI or for ":memory:".
    let path = std::path::absolute(path).map_err(|error| Error::Internal(error.to_string()))?;
    Ok(if options.immutable {
        let uri = immutable_uri(path.as_os_str());
        Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?
    } else {
        Connection::open_with_flags(path, flags)?
    })
}

/// `file:` and the path, every byte that means something in a URI escaped.
fn immutable_uri(path: &OsStr) -> PathBuf {
    let mut uri = String::from("file://");
    for byte in path.as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            _ => {
                // Writing to a String can't fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri.push_str("?immutable=1");
    PathBuf::from(uri)
}

#[cfg(test)]
mod tests {
    use rusqlite::named_params;
    use tempfile::TempDir;

    use super::*;
    use crate::clock::SystemClock;
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
    fn escapes_what_a_uri_would_read() {
        assert_eq!(
            immutable_uri(OsStr::new("/a b/50%?#ä.db")),
            PathBuf::from("file:///a%20b/50%25%3F%23%C3%A4.db?immutable=1"),
        );
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
        assert!(store.connection.get_mut().unwrap().is_some());
    }
}
