//! What the time is. A write asks after it has the lock, so waiting never eats a lease.

use std::time::{SystemTime, UNIX_EPOCH};

/// Whatever a caller's clock failed with; handed back to the caller as it is.
pub type ClockError = Box<dyn std::error::Error + Send + Sync>;

/// A source of the time.
pub trait Clock: Send + Sync {
    /// Milliseconds since the epoch.
    fn now_ms(&self) -> Result<i64, ClockError>;
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> Result<i64, ClockError> {
        // Before 1970 the distance is counted backwards, rounded down as after it.
        Ok(match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => {
                let whole = before.duration().as_nanos().div_ceil(1_000_000);
                i64::try_from(whole).map_or(i64::MIN, |ms| -ms)
            }
        })
    }
}
