//! Group commit: the writes of many threads share a transaction and one COMMIT.
//!
//! While one thread's COMMIT waits for the disk, the others queue their jobs; the next
//! that gets the connection does all of them at once (`DeWitt` et al., "Implementation
//! Techniques for Main Memory Database Systems", 1984). Each job keeps its own result and
//! its own error: it runs in a savepoint, and a job that fails does not undo the others.
//! Where the shared transaction fails as a whole nothing was committed, and each thread
//! does its own job again, alone.
//!
//! Mirrors `python/fencepost/engine/python/group_commit.py`.

use std::sync::{Arc, Mutex, PoisonError};

use crate::desk::{Desk, Seat};
use crate::error::{Error, Result};
use crate::session::Session;
use crate::statements::{CONNECTION, named};
use crate::transaction::caught;

const SAVEPOINT: &str = named(CONNECTION, "savepoint");
const RELEASE: &str = named(CONNECTION, "release");
const ROLLBACK_TO: &str = named(CONNECTION, "rollback_to");

const MOST_JOBS: usize = 64;

/// A write that any thread can do.
pub(crate) trait Job: Send + Sync {
    /// Do it and keep the outcome; whether it succeeded.
    ///
    /// The error is an interrupt of the thread that does it, and no outcome of the job.
    fn run(&self, session: &Session<'_>) -> Result<bool>;
}

/// A job, and the place for its outcome.
pub(crate) struct Task<W, T> {
    pub(crate) work: W,
    outcome: Mutex<Option<Result<T>>>,
}

/// Jobs that are done in the transaction of another thread's write.
pub(crate) struct Batch<'a> {
    desk: &'a Desk,
    seats: Vec<Arc<Seat>>,
    committed: bool,
}

impl<W, T> Task<W, T> {
    pub(crate) fn new(work: W) -> Self {
        Self {
            work,
            outcome: Mutex::new(None),
        }
    }

    /// How the job ended.
    pub(crate) fn outcome(&self) -> Result<T> {
        self.kept()
            .take()
            .unwrap_or_else(|| Err(Error::Internal("a job ended without an outcome".into())))
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Result<T>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W, T> Job for Task<W, T>
where
    W: Fn(&Session<'_>) -> Result<T> + Send + Sync,
    T: Send,
{
    fn run(&self, session: &Session<'_>) -> Result<bool> {
        let outcome = match caught(|| (self.work)(session)) {
            Err(Error::Interrupted(error)) => return Err(Error::Interrupted(error)),
            outcome => outcome,
        };
        let succeeded = outcome.is_ok();
        *self.kept() = Some(outcome);
        Ok(succeeded)
    }
}

impl<'a> Batch<'a> {
    pub(crate) fn new(desk: &'a Desk) -> Self {
        Self {
            desk,
            seats: Vec::new(),
            committed: false,
        }
    }

    /// Do the jobs that wait, in the transaction that is open.
    ///
    /// An error means that the transaction has failed as a whole.
    pub(crate) fn join(&mut self, session: &Session<'_>) -> Result<()> {
        loop {
            let known = self.seats.len();
            // While these are done, others may come.
            self.seats
                .extend(self.desk.take_jobs(MOST_JOBS.saturating_sub(known)));
            let new = self.seats.get(known..).unwrap_or_default();
            if new.is_empty() {
                return Ok(());
            }
            for job in new.iter().filter_map(|seat| seat.job()) {
                in_savepoint(session, job)?;
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// The jobs are done; who waits for them learns it when the batch is dropped.
    pub(crate) fn committed(&mut self) {
        self.committed = true;
    }

    /// Nothing was committed: leave the jobs to those who brought them.
    pub(crate) fn put_back(&mut self) {
        self.desk.put_back(&std::mem::take(&mut self.seats));
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if self.is_empty() {
            return;
        }
        if self.committed {
            self.desk.finish(&self.seats);
        } else {
            self.put_back();
        }
    }
}

fn in_savepoint(session: &Session<'_>, job: &dyn Job) -> Result<()> {
    session.execute(SAVEPOINT, &[])?;
    if !job.run(session)? {
        // Fails where SQLite rolled back everything by itself: the savepoint is gone too.
        session.execute(ROLLBACK_TO, &[])?;
    }
    session.execute(RELEASE, &[])?;
    Ok(())
}

#[cfg(test)]
mod tests;
