//! The online backup.
//!
//! Mirrors `python/fencepost/engine/python/backup.py`.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::ffi::SQLITE_BUSY;
use rusqlite::{Connection, OpenFlags};

use crate::connection::Store;
use crate::error::{Error, Result};
use crate::patience::rest;
use crate::statements::{CONNECTION, LAYOUT, named};

const READ_SNAPSHOT: &str = named(CONNECTION, "read_snapshot");
const SCHEMA_ID: &str = named(LAYOUT, "schema_id");

/// Between two tries at a lock.
const RETRY: Duration = Duration::from_millis(1);

impl Store {
    /// Copy one snapshot into an existing empty file, by connections of its own: the store
    /// goes on meanwhile.
    ///
    /// `pages` pages at a time, with a pause between; after each step `progress` gets how
    /// many pages remain, and of how many. Its error ends the backup.
    pub fn backup(
        &self,
        target: &Path,
        pages: i32,
        pause: Duration,
        mut progress: impl FnMut(i32, i32) -> Result<()>,
    ) -> Result<()> {
        self.refuse_unless_open()?;
        let source = connect(&self.file.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut copy = connect(target, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Held open, or a commit of another process would start the copy anew.
        source.execute_batch(READ_SNAPSHOT)?;
        source.prepare(SCHEMA_ID)?.exists([])?;
        let backup = Backup::new(&source, &mut copy)?;
        let mut moved = Instant::now();
        loop {
            let step = backup.step(pages)?;
            let count = backup.progress();
            progress(count.remaining, count.pagecount)?;
            match step {
                StepResult::Done => return Ok(()),
                StepResult::More => {
                    rest(pause, &*self.clock)?;
                    moved = Instant::now();
                }
                _ if moved.elapsed() >= self.busy_timeout => {
                    return Err(Error::Sqlite {
                        code: SQLITE_BUSY,
                        detail: "the backup waited for a lock in vain".into(),
                    });
                }
                _ => rest(RETRY.max(pause), &*self.clock)?,
            }
        }
    }
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(path, flags)?)
}
