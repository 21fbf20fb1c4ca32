//! One thread at a time works at the desk; the others wait in line.
//!
//! Whoever comes while the desk is free sits down at once, also before somebody who is
//! still waking up: that keeps the desk in use. But to one who has waited for long it is
//! handed over, so nobody waits for ever while others come again and again.
//!
//! Who waits may have a job that somebody else can do; then it may find it done.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::group_commit::Job;
use crate::patience::{ASK_EVERY, Patience};

const LONG_WAIT: Duration = Duration::from_millis(1);

/// The desk and the line before it.
#[derive(Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    /// For who closes it.
    left: Condvar,
}

#[derive(Default)]
struct State {
    occupant: Occupant,
    line: VecDeque<Arc<Seat>>,
    closed: bool,
}

#[derive(Default)]
enum Occupant {
    #[default]
    Nobody,
    /// Who sits here has the desk, and is waking up.
    Next(Arc<Seat>),
    Somebody,
}

/// A place in the line.
pub(crate) struct Seat {
    pub(crate) since: Instant,
    job: Option<Arc<dyn Job>>,
    /// The job failed in company, through no fault that is known to be its own.
    alone: AtomicBool,
    end: OnceLock<End>,
    called: Condvar,
}

/// How the wait ended without a turn at the desk.
enum End {
    Done,
    Closed,
}

/// The right to work at the desk, until it is dropped.
pub(crate) struct Turn<'a> {
    desk: &'a Desk,
}

impl Seat {
    pub(crate) fn new(job: Option<Arc<dyn Job>>) -> Arc<Self> {
        Arc::new(Self {
            since: Instant::now(),
            job,
            alone: AtomicBool::new(false),
            end: OnceLock::new(),
            called: Condvar::new(),
        })
    }

    fn end(&self, end: End) {
        // Nobody else ends the wait of a seat that is out of the line.
        let _ = self.end.set(end);
    }

    pub(crate) fn job(&self) -> Option<&dyn Job> {
        self.job.as_deref()
    }

    /// Whether the job may be done together with others.
    pub(crate) fn is_sociable(&self) -> bool {
        self.job.is_some() && !self.alone.load(Ordering::Relaxed)
    }
}

impl Desk {
    /// A turn, if nobody has one.
    pub(crate) fn sit_down(&self) -> Result<Option<Turn<'_>>> {
        let mut state = self.lock();
        if state.closed {
            return Err(closed());
        }
        if !matches!(state.occupant, Occupant::Nobody) {
            return Ok(None);
        }
        state.occupant = Occupant::Somebody;
        Ok(Some(Turn { desk: self }))
    }

    pub(crate) fn refuse_closed(&self) -> Result<()> {
        if self.lock().closed {
            return Err(closed());
        }
        Ok(())
    }

    /// Wait in line for a turn; None where somebody else did the job meanwhile.
    pub(crate) fn wait(
        &self,
        seat: &Arc<Seat>,
        patience: &Patience<'_>,
    ) -> Result<Option<Turn<'_>>> {
        let mut state = self.lock();
        if state.closed {
            return Err(closed());
        }
        state.line.push_back(Arc::clone(seat));
        let mut going_on = Ok(());
        loop {
            // Who is interrupted while the job is being done says so when it is done.
            match seat.end.get() {
                Some(End::Done) => return going_on.map(|()| None),
                Some(End::Closed) => return going_on.and(Err(closed())),
                None if going_on.is_err() && state.leave_line(seat) => {
                    // It may have been woken for a desk that somebody else shall have now.
                    if matches!(state.occupant, Occupant::Nobody) {
                        self.pass_on(state);
                    }
                    return going_on.map(|()| None);
                }
                None if state.call_up(seat) => return Ok(Some(Turn { desk: self })),
                None => {}
            }
            state = wait(&seat.called, state);
            if going_on.is_ok() && state.waits(seat) && patience.is_due() {
                drop(state);
                going_on = patience.ask();
                state = self.lock();
            }
        }
    }

    /// Let nobody in any more, send the line away, and have the last turn.
    pub(crate) fn close(&self, patience: &Patience<'_>) -> Result<Turn<'_>> {
        let mut state = self.lock();
        state.closed = true;
        for seat in std::mem::take(&mut state.line) {
            seat.end(End::Closed);
            seat.called.notify_one();
        }
        while !matches!(state.occupant, Occupant::Nobody) {
            state = wait(&self.left, state);
            if patience.is_due() {
                drop(state);
                patience.ask()?;
                state = self.lock();
            }
        }
        state.occupant = Occupant::Somebody;
        Ok(Turn { desk: self })
    }

    /// Take up to so many jobs out of the line, the oldest first.
    pub(crate) fn take_jobs(&self, most: usize) -> Vec<Arc<Seat>> {
        let mut taken = Vec::new();
        self.lock().line.retain(|seat| {
            let wanted = taken.len() < most && seat.is_sociable();
            if wanted {
                taken.push(Arc::clone(seat));
            }
            !wanted
        });
        taken
    }

    /// Say that these jobs are done.
    pub(crate) fn finish(&self, seats: &[Arc<Seat>]) {
        let state = self.lock();
        for seat in seats {
            seat.end(End::Done);
        }
        drop(state);
        for seat in seats {
            seat.called.notify_one();
        }
    }

    /// Put these jobs back where they were, each to be done alone.
    pub(crate) fn put_back(&self, seats: &[Arc<Seat>]) {
        let mut state = self.lock();
        for seat in seats.iter().rev() {
            seat.alone.store(true, Ordering::Relaxed);
            if state.closed {
                seat.end(End::Closed);
                seat.called.notify_one();
            } else {
                state.line.push_front(Arc::clone(seat));
            }
        }
    }

    fn pass_on(&self, mut state: MutexGuard<'_, State>) {
        let (next, closed) = (state.free(), state.closed);
        drop(state);
        if let Some(seat) = next {
            seat.called.notify_one();
        }
        if closed {
            self.left.notify_all();
        }
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.lock().line.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Free the desk; who is to be woken.
    fn free(&mut self) -> Option<Arc<Seat>> {
        self.occupant = Occupant::Nobody;
        let first = Arc::clone(self.line.front()?);
        if first.since.elapsed() >= LONG_WAIT {
            self.line.pop_front();
            self.occupant = Occupant::Next(Arc::clone(&first));
        }
        Some(first)
    }

    /// Whether the seat has the desk now; then it is out of the line.
    fn call_up(&mut self, seat: &Arc<Seat>) -> bool {
        let may = match &self.occupant {
            Occupant::Somebody => false,
            Occupant::Next(_) => self.is_next(seat),
            Occupant::Nobody => self.remove(seat),
        };
        if may {
            self.occupant = Occupant::Somebody;
        }
        may
    }

    /// Take a seat out of the line for good; false where its job is being done.
    fn leave_line(&mut self, seat: &Arc<Seat>) -> bool {
        if self.is_next(seat) {
            self.occupant = Occupant::Nobody;
            return true;
        }
        self.remove(seat)
    }

    fn waits(&self, seat: &Arc<Seat>) -> bool {
        self.line.iter().any(|other| Arc::ptr_eq(other, seat))
    }

    fn is_next(&self, seat: &Arc<Seat>) -> bool {
        matches!(&self.occupant, Occupant::Next(next) if Arc::ptr_eq(next, seat))
    }

    fn remove(&mut self, seat: &Arc<Seat>) -> bool {
        let found = self.line.iter().position(|other| Arc::ptr_eq(other, seat));
        found.and_then(|at| self.line.remove(at)).is_some()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.desk.pass_on(self.desk.lock());
    }
}

fn wait<'a>(called: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    let woken = called.wait_timeout(state, ASK_EVERY);
    woken.unwrap_or_else(PoisonError::into_inner).0
}

fn closed() -> Error {
    Error::refused("closed", [])
}
