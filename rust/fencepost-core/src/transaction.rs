//! The transactions of one thread that has the connection. Whatever fails, none stays
//! open, and the first error is the one reported.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::time::Instant;

use rusqlite::ffi::SQLITE_BUSY;

use crate::error::{Error, Result};
use crate::patience::{Patience, is_busy};
use crate::session::Session;
use crate::statements::{CONNECTION, named};

pub(crate) const BEGIN: &str = named(CONNECTION, "begin");
const COMMIT: &str = named(CONNECTION, "commit");
const ROLLBACK: &str = named(CONNECTION, "rollback");

/// One write transaction: all of `work` is committed, or nothing.
///
/// `since` is when the caller came, if not just now: the busy timeout counts from there.
pub(crate) fn transaction<T>(
    session: &Session<'_>,
    since: Option<Instant>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let done = cleanly(session, || {
        begin(session, since)?;
        session.file.check()?;
        session.clock.probe("begun");
        let done = work()?;
        session.clock.probe("written");
        session.execute(COMMIT, &[])?;
        session.clock.probe("committed");
        Ok(done)
    })?;
    session.checkpoints.after_commit(session);
    Ok(done)
}

/// What `work` gives, with no transaction open before it, nor after it if it fails.
pub(crate) fn cleanly<T>(session: &Session<'_>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a failed rollback left open must not become part of this operation.
    end_transaction(session)?;
    let outcome = caught(work);
    if outcome.is_err() {
        // The first error counts; a rollback that fails is tried again by the next call.
        let _ = end_transaction(session);
    }
    outcome
}

/// What `work` gives; a panic is an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(Error::Internal(panic_text(&*payload))))
}

/// Begin a write transaction, when it is this process's turn.
fn begin(session: &Session<'_>, since: Option<Instant>) -> Result<()> {
    let patience = Patience::new(session.clock);
    let locked = session
        .turns
        .take(since, || match session.execute(BEGIN, &[]) {
            Ok(_) => Ok(true),
            Err(error) if is_busy(&error) => patience.go_on().map(|()| false),
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
