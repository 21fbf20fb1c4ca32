//! Waiting: how often the caller is asked whether to go on, and the wait for what waits
//! for nobody's turn: the switch to WAL, and a read while another process recovers the
//! log. Writers take turns instead.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::error::{Error, Result};

/// How long an interrupt may go unnoticed, at most twice over.
pub(crate) const ASK_EVERY: Duration = Duration::from_millis(40);

const RETRY: Duration = Duration::from_millis(1);

/// One wait of one thread, which asks now and then whether to go on.
pub(crate) struct Patience<'a> {
    clock: &'a dyn Clock,
    /// None before there was anything to wait for.
    asked: Cell<Option<Instant>>,
}

impl<'a> Patience<'a> {
    pub(crate) fn new(clock: &'a dyn Clock) -> Self {
        Self {
            clock,
            asked: Cell::new(None),
        }
    }

    /// To be called at each round of the wait; an error ends it.
    pub(crate) fn go_on(&self) -> Result<()> {
        if self.is_due() { self.ask() } else { Ok(()) }
    }

    /// Whether it is time to ask.
    pub(crate) fn is_due(&self) -> bool {
        let now = Instant::now();
        let asked = self.asked.get();
        let due = asked.is_some_and(|asked| now - asked >= ASK_EVERY);
        if due || asked.is_none() {
            self.asked.set(Some(now));
        }
        due
    }

    /// Ask; an error ends the wait.
    pub(crate) fn ask(&self) -> Result<()> {
        self.clock.check_interrupts()
    }
}

/// Sleep, unless interrupted.
pub(crate) fn rest(time: Duration, clock: &dyn Clock) -> Result<()> {
    let until = Instant::now() + time;
    loop {
        clock.check_interrupts()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(ASK_EVERY));
    }
}

/// What `call` gives, tried again within the busy timeout.
pub(crate) fn patiently<T>(
    timeout: Duration,
    clock: &dyn Clock,
    call: impl Fn() -> Result<T>,
) -> Result<T> {
    // The time is taken only where there is something to wait for.
    let mut deadline = None;
    let patience = Patience::new(clock);
    loop {
        match call() {
            Err(error) if is_busy(&error) => {
                let now = Instant::now();
                if now >= *deadline.get_or_insert(now + timeout) {
                    return Err(error);
                }
                patience.go_on()?;
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
