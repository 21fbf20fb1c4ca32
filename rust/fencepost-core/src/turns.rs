//! Taking turns at the write lock, across processes, without starving anybody.
//!
//! Mirrors `python/fencepost/engine/python/turns.py`, which says how it works and why it
//! is only a hint.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::rendezvous::{News, Place, folder, names, remove, wake_first};

const LEAST_TURN: Duration = Duration::from_millis(2);
const LEAST_TURN_CALLS: u32 = 8;
const SHORT_CALL: Duration = Duration::from_micros(120);
const SHORT_TURN_CALLS: u32 = 150;
const IDLE: Duration = Duration::from_millis(50);
const HAND_OVER: Duration = Duration::from_millis(1);
const FIRST_TICK: Duration = Duration::from_millis(1);
const FIRST_TICK_MOST: Duration = Duration::from_millis(20);
const FIRST_TICK_GROWS: u32 = 20;
const OTHER_TICK: Duration = Duration::from_millis(50);

/// One connection's place among the writers of one file.
pub(crate) struct Turns {
    folder: PathBuf,
    timeout: Duration,
    /// None before the first turn.
    began: Cell<Option<Instant>>,
    calls: Cell<u32>,
    waited: Waited,
}

/// How long the line has held up calls since somebody last took note of it.
#[derive(Clone, Default)]
pub(crate) struct Waited(Arc<AtomicU64>);

impl Waited {
    fn add(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        // A wait that the clock can't measure was one all the same.
        self.0.fetch_add(micros.max(1), Ordering::Relaxed);
    }

    /// The time since the last take, None for none.
    pub(crate) fn take(&self) -> Option<Duration> {
        if self.0.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let micros = self.0.swap(0, Ordering::Relaxed);
        (micros > 0).then(|| Duration::from_micros(micros))
    }
}

impl Turns {
    pub(crate) fn new(path: &Path, timeout: Duration, waited: Waited) -> Self {
        Self {
            folder: folder(path, "line"),
            timeout,
            began: Cell::new(None),
            calls: Cell::new(0),
            waited,
        }
    }

    /// Take the lock when it is this process's turn; false past the busy timeout.
    ///
    /// `try_lock` takes SQLite's lock if it is free, and says whether it did. The timeout
    /// counts from `since`, if not from now.
    pub(crate) fn take(
        &self,
        since: Option<Instant>,
        try_lock: impl Fn() -> Result<bool>,
    ) -> Result<bool> {
        let now = Instant::now();
        let deadline = since.unwrap_or(now) + self.timeout;
        if self.is_over(now) {
            let waiting = names(&self.folder);
            if let Some(called) = wake_first(&self.folder, &waiting, News::Turn) {
                return self.wait(try_lock, deadline, Some(called));
            }
            self.began.set(Some(now));
            self.calls.set(0);
        }
        self.calls.set(self.calls.get().saturating_add(1));
        Ok(try_lock()? || self.wait(try_lock, deadline, None)?)
    }

    /// Whether this process has had its turn, or made nothing of it.
    fn is_over(&self, now: Instant) -> bool {
        let Some(began) = self.began.get() else {
            return true;
        };
        let (lasted, calls) = (now - began, self.calls.get());
        if lasted < LEAST_TURN || calls < LEAST_TURN_CALLS {
            return lasted > IDLE;
        }
        calls >= SHORT_TURN_CALLS || lasted > SHORT_CALL * calls
    }

    /// `called` is whose turn it is, where this process has handed it over.
    fn wait(
        &self,
        try_lock: impl Fn() -> Result<bool>,
        deadline: Instant,
        called: Option<&OsString>,
    ) -> Result<bool> {
        let came = Instant::now();
        if called.is_some() {
            // Whoever was woken needs a moment; without it the lock would not change hands.
            // The place comes later: a name in a folder costs what the woken one can do without.
            thread::sleep(HAND_OVER);
        }
        let mut told = None;
        let locked = self.stand_in_line(try_lock, deadline, called, &mut told);
        if !matches!((&locked, told), (Ok(true), Some(News::Turn))) {
            self.tell_the_next();
        }
        if matches!(locked, Ok(true)) {
            let now = Instant::now();
            self.began.set(Some(now));
            self.calls.set(1);
            self.waited.add(now - came);
        }
        locked
    }

    /// Leave no empty folder behind, where who was to remove it died.
    pub(crate) fn close(&self) {
        remove(&self.folder);
    }

    /// The next in the line learns that it is the first now; without one the folder goes.
    fn tell_the_next(&self) {
        let waiting = names(&self.folder);
        if waiting.is_empty() {
            remove(&self.folder);
        } else {
            wake_first(&self.folder, &waiting, News::First);
        }
    }

    /// `told` becomes what this process was last woken with, None if it looked for itself.
    fn stand_in_line(
        &self,
        try_lock: impl Fn() -> Result<bool>,
        deadline: Instant,
        called: Option<&OsString>,
        told: &mut Option<News>,
    ) -> Result<bool> {
        let place = Place::take(&self.folder);
        let (mut since, mut new) = (None, true);
        while !try_lock()? {
            let now = Instant::now();
            if now >= deadline {
                return Ok(false);
            }
            if since.is_none() && (told.is_some() || new) {
                let waiting = names(&self.folder);
                if place.is_first(&waiting) {
                    since = Some(now);
                } else if new && called.is_some() {
                    // Who was called has the lock to make use of, and leaves this to others; it
                    // may still be in the line.
                    let others = waiting.iter().filter(|name| Some(*name) != called);
                    wake_first(&self.folder, others, News::First);
                }
            }
            new = false;
            let tick = since.map_or(OTHER_TICK, |since| first_tick(now - since));
            *told = place.sleep(tick.min(deadline - now));
        }
        Ok(true)
    }
}

/// How soon the first of the line looks again; who waits for long need not look so often.
///
/// A holder that takes part wakes it anyway.
fn first_tick(waited: Duration) -> Duration {
    (waited / FIRST_TICK_GROWS).clamp(FIRST_TICK, FIRST_TICK_MOST)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::cell::RefCell;

    use tempfile::TempDir;

    use super::*;

    fn turns() -> (Turns, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let turns = Turns::new(&path, Duration::from_secs(5), Waited::default());
        (turns, folder)
    }

    /// What the second in the line learns when the first, woken with this news, gets the lock.
    fn second_is_told_after(news: News) -> Option<News> {
        let (turns, _folder) = turns();
        let second = Cell::new(None);
        let tries = Cell::new(0);
        let locked = turns.take(None, || {
            tries.set(tries.get() + 1);
            if tries.get() == 2 {
                second.set(Some(Place::take(&turns.folder)));
                wake_first(&turns.folder, &names(&turns.folder), news);
            }
            Ok(tries.get() == 3)
        });
        assert!(locked.unwrap());
        second.take().unwrap().sleep(Duration::ZERO)
    }

    #[test]
    fn who_looked_for_itself_tells_the_next_and_who_was_called_does_not() {
        assert_eq!(second_is_told_after(News::First), Some(News::First));
        assert_eq!(second_is_told_after(News::Turn), None);
    }

    /// What the second in the line learns from one who has handed over to the first.
    fn second_is_told_where_the_first(leaves: bool) -> Option<News> {
        let (turns, _folder) = turns();
        let first = RefCell::new(Some(Place::take(&turns.folder)));
        let second = Place::take(&turns.folder);
        let tries = Cell::new(0);
        let locked = turns.take(None, || {
            tries.set(tries.get() + 1);
            if tries.get() == 1 {
                let told = first.borrow().as_ref().unwrap().sleep(Duration::ZERO);
                assert_eq!(told, Some(News::Turn));
                if leaves {
                    first.take();
                }
            }
            Ok(tries.get() == 2)
        });
        assert!(locked.unwrap());
        second.sleep(Duration::ZERO)
    }

    #[test]
    fn who_handed_over_tells_the_next() {
        assert_eq!(second_is_told_where_the_first(true), Some(News::First));
        // Late, and still in the line: it knows already.
        assert_eq!(second_is_told_where_the_first(false), Some(News::First));
    }

    #[test]
    fn an_empty_folder_goes_with_the_last_who_closes() {
        let (turns, _folder) = turns();
        let folder = turns.folder.clone();
        std::fs::create_dir_all(&folder).unwrap();
        turns.close();
        assert!(!folder.parent().unwrap().exists());
    }
}
