//! Keeping the write-ahead log bounded while many processes write.
//!
//! `python/fencepost/engine/python/checkpoints.py` says why. Here SQLite itself says how
//! long the log is, so that nobody has to look at the file; and a log of ordinary length
//! is begun anew, not cut: to write over old pages is cheaper than to make a file grow.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::error::Result;
use crate::session::Session;
use crate::statements::{CONNECTION, named};
use crate::value::Value;

const RESTART: &str = named(CONNECTION, "checkpoint_restart");
const TRUNCATE: &str = named(CONNECTION, "checkpoint_truncate");

const LOG_PAGES: u32 = 1000;
/// So long it was made by a reader that held it; then the disk gets its room back.
const OVERLONG_PAGES: u32 = 4 * LOG_PAGES;

/// When one connection moves the log into the database.
pub(crate) struct Checkpoints {
    /// The length of the log after the last commit.
    pages: Arc<AtomicU32>,
    limit: Cell<u32>,
    held: Held,
}

/// Whether the log has become overlong because something hinders its emptying: said once,
/// until it could be emptied.
#[derive(Clone, Default)]
pub(crate) struct Held {
    untold: Arc<AtomicBool>,
    known: Arc<AtomicBool>,
}

impl Held {
    /// Whether it is to be told now; it is given once, to whoever asks first.
    pub(crate) fn take(&self) -> bool {
        self.untold.load(Ordering::Relaxed) && self.untold.swap(false, Ordering::Relaxed)
    }

    fn begin(&self) {
        if !self.known.swap(true, Ordering::Relaxed) {
            self.untold.store(true, Ordering::Relaxed);
        }
    }

    fn end(&self) {
        self.known.store(false, Ordering::Relaxed);
    }
}

impl Checkpoints {
    /// To be made after the connection's own checkpoints are off, which use the same hook.
    pub(crate) fn new(connection: &mut Connection, held: Held) -> Result<Self> {
        let pages = Arc::new(AtomicU32::new(0));
        let told = Arc::clone(&pages);
        connection.wal_hook(Some(move |_: &mut Wal, pages: i32| {
            told.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self {
            pages,
            limit: Cell::new(LOG_PAGES),
            held,
        })
    }

    /// Have the log begin anew where it has grown long.
    ///
    /// A reader that holds a snapshot hinders that: it is tried again when the log has
    /// grown by as much once more, not at each commit.
    pub(crate) fn after_commit(&self, session: &Session<'_>) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages >= self.limit.get() {
            let mode = if pages >= OVERLONG_PAGES {
                TRUNCATE
            } else {
                RESTART
            };
            let left = checkpoint(session, mode);
            if left == Some(0) {
                self.begun_anew();
            } else {
                self.limit.set(pages.saturating_add(LOG_PAGES));
                // Until then it may be one short read after the other.
                if left.is_some_and(|left| left >= i64::from(OVERLONG_PAGES)) {
                    self.held.begin();
                }
            }
        } else if pages < LOG_PAGES {
            self.begun_anew();
        }
    }

    fn begun_anew(&self) {
        self.limit.set(LOG_PAGES);
        self.held.end();
    }
}

/// How many pages it had to leave in the log, 0 where nothing hindered it; None where that is
/// not known, as another process is at it. The commit stands; what can't be done now, a later
/// one does.
fn checkpoint(session: &Session<'_>, mode: &str) -> Option<i64> {
    let row = session.first(mode, &[]).ok()??;
    match row.as_slice() {
        [Value::Integer(0), ..] => Some(0),
        [_, Value::Integer(pages), ..] if *pages >= 0 => Some(*pages),
        _ => None,
    }
}
