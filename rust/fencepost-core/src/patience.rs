//! Waiting for what waits for nobody's turn: the switch to WAL, and a read while another
//! process recovers the log. Writers take turns instead.

use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

const RETRY: Duration = Duration::from_millis(1);

/// What `call` gives, tried again within the busy timeout.
pub(crate) fn patiently<T>(timeout: Duration, call: impl Fn() -> Result<T>) -> Result<T> {
    // The clock is asked only where there is something to wait for.
    let mut deadline = None;
    loop {
        match call() {
            Err(error) if is_busy(&error) => {
                let now = Instant::now();
                if now >= *deadline.get_or_insert(now + timeout) {
                    return Err(error);
                }
                thread::sleep(RETRY);
            }
            outcome => return outcome,
        }
    }
}

/// Whether another process has the lock.
pub(crate) fn is_busy(error: &Error) -> bool {
    matches!(error, Error::Sqlite { code, .. } if code & 0xff == rusqlite::ffi::SQLITE_BUSY)
}
