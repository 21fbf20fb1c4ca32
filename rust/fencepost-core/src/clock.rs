//! What the engine asks of its caller: what the time is, and whether to go on waiting.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Result;

/// Whatever the caller's own code failed with; handed back to the caller as it is.
pub type CallerError = Box<dyn std::error::Error + Send + Sync>;

/// A source of the time. A write asks after it has the lock, so waiting never eats a lease.
///
/// Any thread of a store may ask, on behalf of another too.
pub trait Clock: Send + Sync {
    /// Milliseconds since the epoch, or [`Error::Clock`](crate::Error::Clock).
    fn now_ms(&self) -> Result<i64>;

    /// Whether the asking thread may do what others wait for. Not one whose interrupts come
    /// out of `now_ms`: they are its own.
    fn serves_others(&self) -> bool {
        true
    }

    /// Asked now and then by a thread that waits, for the thread itself: an
    /// [`Error::Interrupted`](crate::Error::Interrupted) ends its wait.
    fn check_interrupts(&self) -> Result<()> {
        Ok(())
    }

    /// Told that a write transaction has come to a point: `begun`, `written` or `committed`.
    ///
    /// For a harness that ends its processes there.
    fn probe(&self, _point: &'static str) {}
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> Result<i64> {
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
