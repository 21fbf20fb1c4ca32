//! The connection: the one desk at which it is used, and what is done there.

use std::mem;
use std::path::Path;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::checkpoints::{Checkpoints, Held as HeldLog};
use crate::clock::Clock;
use crate::desk::{Desk, Seat, Turn};
use crate::error::{Error, Result};
use crate::file::OpenedFile;
use crate::group_commit::{Batch, Job, Task};
use crate::open::{self, Options};
use crate::patience::{Patience, patiently};
use crate::session::Session;
use crate::statements::{self, ADDITIONS, CONNECTION, LAYOUT, SCHEMA, named};
use crate::time::iso;
use crate::transaction::{cleanly, transaction};
use crate::turns::{Turns, Waited};
use crate::value::{Row, Value};

const USE_WAL: &str = named(CONNECTION, "use_wal");
const LAYOUT_VERSION: &str = named(LAYOUT, "version");
const SCHEMA_ID: &str = named(LAYOUT, "schema_id");

/// One open database, safe to use from many threads; a forked child is refused.
pub struct Store {
    desk: Desk,
    /// For the one who has a turn at the desk.
    held: Mutex<Option<Held>>,
    process: u32,
    pub(crate) file: OpenedFile,
    pub(crate) clock: Box<dyn Clock>,
    pub(crate) busy_timeout: Duration,
    read_only: bool,
    waited: Waited,
    log: HeldLog,
}

/// What one thread at a time has.
struct Held {
    connection: Connection,
    turns: Turns,
    checkpoints: Checkpoints,
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
        let file = OpenedFile::new(&path);
        let mut connection = open::open(&path, options, &*clock)?;
        let waited = Waited::default();
        let log = HeldLog::default();
        let held = Held {
            checkpoints: Checkpoints::new(&mut connection, log.clone())?,
            turns: Turns::new(&path, options.busy_timeout, waited.clone()),
            connection,
        };
        Ok(Self {
            desk: Desk::default(),
            held: Mutex::new(Some(held)),
            process: process::id(),
            file,
            clock,
            busy_timeout: options.busy_timeout,
            read_only: options.read_only,
            waited,
            log,
        })
    }

    /// Close the connection, after what runs; what waits is refused. Again does nothing.
    ///
    /// A forked child leaves the connection alone: closing it could checkpoint and delete
    /// the WAL under its parent.
    pub fn close(&self) -> Result<()> {
        if process::id() != self.process {
            return Ok(());
        }
        let _turn = self.desk.close(&self.patience())?;
        let mut guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match guard.take() {
            None => Ok(()),
            Some(held) => {
                self.leave_no_folder(&held);
                held.connection.close().map_err(|(_, error)| error.into())
            }
        }
    }

    /// Who only reads changes nothing beside the file either.
    fn leave_no_folder(&self, held: &Held) {
        if !self.read_only {
            held.turns.close();
        }
    }

    /// How long writes have stood in the line for the write lock since this was last asked;
    /// None for not at all. Each wait is given once, to whoever asks first.
    #[must_use]
    pub fn take_waited(&self) -> Option<Duration> {
        self.waited.take()
    }

    /// Whether the log has become overlong, and a reader or a writer keeps it from being
    /// emptied. Said once, until it could be emptied.
    #[must_use]
    pub fn take_log_held(&self) -> bool {
        self.log.take()
    }

    /// Switch the file to WAL, trying again within the busy timeout.
    pub fn use_wal(&self) -> Result<()> {
        self.session(|session| self.patiently(|| session.first(USE_WAL, &[])))
            .map(|_| ())
    }

    /// Create what is missing of the tables and the additions.
    ///
    /// Nothing is created, and false comes back, where the layout's version or the schema's
    /// id is another one than the caller has seen.
    pub fn create_schema(&self, schema_version: i64, schema_id: Option<String>) -> Result<bool> {
        let seen = schema_id.map_or(Value::Null, Value::Text);
        self.write(move |session| {
            let version = session.one(LAYOUT_VERSION, &[])?;
            let id = if version.get(1) == Some(&Value::Integer(1)) {
                session.first(SCHEMA_ID, &[])?
            } else {
                None
            };
            let id = id.and_then(|row| row.into_iter().next());
            let same = version.first() == Some(&Value::Integer(schema_version))
                && id.unwrap_or(Value::Null) == seen;
            if same {
                session.connection.execute_batch(SCHEMA)?;
                session.connection.execute_batch(ADDITIONS)?;
            }
            Ok(same)
        })
    }

    /// All rows of the named read statement. Parameters that it does not use may be given.
    pub fn read(&self, statement: &str, params: &[(String, Value)]) -> Result<Vec<Row>> {
        let sql = find(statement)?;
        self.session(|session| self.patiently(|| session.all_with(sql, params)))
    }

    /// Run the named write statement in a transaction; how many rows it changed.
    pub fn change(&self, statement: &str, params: Vec<(String, Value)>) -> Result<usize> {
        let sql = find(statement)?;
        self.write(move |session| session.execute_with(sql, &params))
    }

    /// Run a named write statement and, where it changed a row, one that adds an event, in
    /// one transaction; the event's seq. Both get the time as `updated_at` and `recorded_at`.
    pub fn change_and_record(
        &self,
        change: &str,
        record: &str,
        params: Vec<(String, Value)>,
        now: Option<i64>,
    ) -> Result<Option<i64>> {
        let (change, record) = (find(change)?, find(record)?);
        self.write(move |session| {
            let stamp = Value::Text(iso(session.now(now)?));
            let mut given = params.clone();
            given.push(("updated_at".into(), stamp.clone()));
            given.push(("recorded_at".into(), stamp));
            if session.execute_with(change, &given)? == 0 {
                return Ok(None);
            }
            session.execute_with(record, &given)?;
            Ok(Some(session.connection.last_insert_rowid()))
        })
    }

    /// What `call` gives, tried again within the busy timeout; for what does not write rows.
    pub(crate) fn patiently<T>(&self, call: impl Fn() -> Result<T>) -> Result<T> {
        patiently(self.busy_timeout, &*self.clock, call)
    }

    /// One write transaction, shared with the writes that wait: all of `work` is committed,
    /// or nothing. Any thread may do the work, and a second time where a shared transaction
    /// failed.
    pub(crate) fn write<T, W>(&self, work: W) -> Result<T>
    where
        W: Fn(&Session<'_>) -> Result<T> + Send + Sync + 'static,
        T: Send + 'static,
    {
        if self.read_only {
            return self.session(|_| Err(Error::ReadOnly));
        }
        self.refuse_other_process()?;
        if let Some(turn) = self.desk.sit_down()? {
            return self.lead(turn, None, &work);
        }
        let task = Arc::new(Task::new(work));
        let job: Arc<dyn Job> = Arc::<Task<W, T>>::clone(&task);
        let seat = Seat::new(Some(job));
        match self.desk.wait(&seat, &self.patience())? {
            Some(turn) => self.lead(turn, Some(&seat), &task.work),
            None => task.outcome(),
        }
    }

    /// Do `work` in a transaction, and with it what waits.
    fn lead<T>(
        &self,
        turn: Turn<'_>,
        waited: Option<&Seat>,
        work: &impl Fn(&Session<'_>) -> Result<T>,
    ) -> Result<T> {
        let since = waited.map(|seat| seat.since);
        // The others are woken only after the turn is over, which is sooner for the next.
        let mut batch = Batch::new(&self.desk);
        self.at_desk(turn, |session| {
            let outcome = transaction(session, since, || {
                let done = work(session)?;
                if waited.is_none_or(Seat::is_sociable) && session.clock.serves_others() {
                    batch.join(session)?;
                }
                Ok(done)
            });
            match outcome {
                Ok(_) => batch.committed(),
                Err(Error::Interrupted(_)) => {}
                Err(_) if batch.is_empty() => {}
                // Nothing was committed, and this job is not to blame.
                Err(_) => {
                    batch.put_back();
                    return transaction(session, since, || work(session));
                }
            }
            outcome
        })
    }

    /// Work on the connection while no other thread does. Whatever fails, no transaction
    /// stays open, and the first error is the one reported.
    pub(crate) fn session<T>(&self, work: impl FnOnce(&Session<'_>) -> Result<T>) -> Result<T> {
        self.refuse_other_process()?;
        let turn = match self.desk.sit_down()? {
            Some(turn) => Some(turn),
            None => self.desk.wait(&Seat::new(None), &self.patience())?,
        };
        let turn = turn.ok_or_else(|| Error::Internal("a wait without a job ended".into()))?;
        self.at_desk(turn, |session| cleanly(session, || work(session)))
    }

    fn at_desk<T>(
        &self,
        _turn: Turn<'_>,
        work: impl FnOnce(&Session<'_>) -> Result<T>,
    ) -> Result<T> {
        let guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = guard.as_ref().ok_or_else(|| Error::refused("closed", []))?;
        work(&Session {
            connection: &held.connection,
            turns: &held.turns,
            file: &self.file,
            checkpoints: &held.checkpoints,
            clock: &*self.clock,
        })
    }

    pub(crate) fn refuse_unless_open(&self) -> Result<()> {
        self.refuse_other_process()?;
        self.desk.refuse_closed()
    }

    /// Before any lock: a fork may have copied it locked.
    fn refuse_other_process(&self) -> Result<()> {
        if process::id() == self.process {
            Ok(())
        } else {
            Err(Error::refused("forked", []))
        }
    }

    fn patience(&self) -> Patience<'_> {
        Patience::new(&*self.clock)
    }

    /// How many threads are in the line.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.desk.waiting()
    }
}

fn find(statement: &str) -> Result<&'static str> {
    statements::find(statement).ok_or_else(|| Error::Internal(format!("no statement {statement}")))
}

impl Drop for Store {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = held.take() else {
            return;
        };
        if process::id() == self.process {
            self.leave_no_folder(&held);
        } else {
            mem::forget(held);
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::named_params;
    use tempfile::TempDir;

    use super::*;
    use crate::clock::SystemClock;
    use crate::open::Synchronous;
    use crate::statements::FEED;
    use crate::transaction::BEGIN;

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
        assert!(store.create_schema(0, None).unwrap());
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
        store.set_watermark("s".into(), 1, None).unwrap();
    }

    #[test]
    fn a_transaction_that_was_left_open_does_not_join_the_next() {
        let (store, _folder) = store();
        store
            .session(|session| session.execute(BEGIN, &[]))
            .unwrap();
        store.set_watermark("s".into(), 1, None).unwrap();
    }

    #[test]
    fn another_process_is_refused_and_closes_nothing() {
        let (mut store, _folder) = store();
        store.process += 1;
        let outcome = store.set_watermark("s".into(), 1, None);
        assert!(matches!(outcome, Err(Error::Refused(refusal)) if refusal.code == "forked"));
        store.close().unwrap();
        assert!(store.held.get_mut().unwrap().is_some());
    }
}
