//! Keeping the write-ahead log bounded while many processes write.
//!
//! Mirrors `python/fencepost/engine/python/checkpoints.py`, which says why; but the log is
//! looked at only now and then, which adds a few commits to what it holds.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

const LOG_BYTES: u64 = 4 * 1024 * 1024;
const LOOK_EVERY: u32 = 16;

/// When one connection empties the log.
pub(crate) struct Checkpoints {
    log: PathBuf,
    limit: Cell<u64>,
    commits: Cell<u32>,
}

impl Checkpoints {
    pub(crate) fn new(path: &Path) -> Self {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        Self {
            log: PathBuf::from(log),
            limit: Cell::new(LOG_BYTES),
            commits: Cell::new(0),
        }
    }

    /// Empty the log where it has grown long; `empty` says whether it could.
    ///
    /// A reader that holds a snapshot keeps the log from being emptied: it is tried again
    /// when the log has grown by as much once more, not at each commit.
    pub(crate) fn after_commit(&self, empty: impl FnOnce() -> bool) {
        let commits = self.commits.get();
        self.commits.set(commits.wrapping_add(1));
        if !commits.is_multiple_of(LOOK_EVERY) {
            return;
        }
        let Ok(log) = fs::metadata(&self.log) else {
            return;
        };
        let size = log.len();
        if size >= self.limit.get() {
            let emptied = empty();
            self.limit
                .set(if emptied { LOG_BYTES } else { size + LOG_BYTES });
        } else if size < LOG_BYTES {
            self.limit.set(LOG_BYTES);
        }
    }
}
