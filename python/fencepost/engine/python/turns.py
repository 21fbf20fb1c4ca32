"""Taking turns at the write lock, across processes, without starving anybody.

SQLite's own busy handler sleeps longer the longer it has waited, so that old waiters
lose to new ones. Here a process that finds the lock taken joins a line (`rendezvous`).
Whoever has had its turn and finds somebody in the line wakes the first of it, leaves the
lock alone for a moment, and joins the end itself. Within its turn a process goes on
without looking, which keeps the cost of handing over small; how long a turn lasts is
argued in `docs/contention.md`. While somebody has the lock nobody else can use it, so it
does the least: whoever handed it over tells the next that it is the first now.

The line is only a hint. The lock is SQLite's, and everybody in the line also tries it
now and then: neither a process that dies or is stopped, nor a foreign one that does not
take part, can delay others by more than SQLite's lock itself does.

Mirrors `rust/fencepost-core/src/turns.rs`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from ...rendezvous import NEWS, TURN, Place, folder, names, remove, wake_first

LEAST_TURN_SECONDS = 0.002
LEAST_TURN_CALLS = 8
SHORT_CALL_SECONDS = 0.00012
SHORT_TURN_CALLS = 150
IDLE_SECONDS = 0.05
HAND_OVER_SECONDS = 0.001
FIRST_TICK_SECONDS = 0.001
FIRST_TICK_MOST_SECONDS = 0.02
FIRST_TICK_GROWS = 20
OTHER_TICK_SECONDS = 0.05


class Turns:
    """One connection's place among the writers of one file."""

    def __init__(self, path: str, busy_timeout_ms: int) -> None:
        self._folder = folder(path, "line")
        self._timeout = busy_timeout_ms / 1000
        self._began = 0.0
        self._calls = 0
        self._waits: deque[float] = deque()

    def take(self, try_lock: Callable[[], bool], since: float) -> bool:
        """Take the lock when it is this process's turn; False past the busy timeout.

        `try_lock` takes SQLite's lock if it is free, and says whether it did. The timeout
        counts from `since`, by the monotonic clock.
        """
        now, deadline = time.monotonic(), since + self._timeout
        if self._is_over(now - self._began):
            called = wake_first(self._folder, names(self._folder), TURN)
            if called is not None:
                return self._wait(try_lock, deadline, called)
            self._began, self._calls = now, 0
        self._calls += 1
        return try_lock() or self._wait(try_lock, deadline)

    def _is_over(self, lasted: float) -> bool:
        """Whether this process has had its turn, or made nothing of it."""
        if lasted < LEAST_TURN_SECONDS or self._calls < LEAST_TURN_CALLS:
            return lasted > IDLE_SECONDS
        return self._calls >= SHORT_TURN_CALLS or lasted > SHORT_CALL_SECONDS * self._calls

    def _wait(
        self, try_lock: Callable[[], bool], deadline: float, called: str | None = None
    ) -> bool:
        """`called` is whose turn it is, where this process has handed it over."""
        came, since, told = time.monotonic(), None, b""
        if called is not None:
            # Whoever was woken needs a moment; without it the lock would not change hands.
            # The place comes later: a name in a folder costs what the woken one can do without.
            time.sleep(HAND_OVER_SECONDS)
        place = Place(self._folder)
        locked, new = False, True
        try:
            place.take()
            while not (locked := try_lock()):
                now = time.monotonic()
                if now >= deadline:
                    return False
                if since is None and (told or new):
                    waiting = names(self._folder)
                    if not waiting or waiting[0] >= place.name:
                        since = now
                    elif new and called is not None:
                        # Who was called has the lock to make use of, and leaves this to others;
                        # it may still be in the line.
                        wake_first(self._folder, [name for name in waiting if name != called], NEWS)
                tick = OTHER_TICK_SECONDS if since is None else _first_tick(now - since)
                told, new = place.sleep(min(tick, deadline - now)), False
        finally:
            place.leave()
            if not (locked and told == TURN):
                self._tell_the_next()
        self._began, self._calls = time.monotonic(), 1
        self._waits.append(self._began - came)
        return True

    def close(self) -> None:
        """Leave no empty folder behind, where who was to remove it died."""
        remove(self._folder)

    def take_waited(self) -> float:
        """How many seconds calls have stood in the line since this was last asked.

        Each wait is given once, to whoever asks first; any thread may.
        """
        waited = 0.0
        while self._waits:
            with suppress(IndexError):
                waited += self._waits.popleft()
        return waited

    def _tell_the_next(self) -> None:
        """The next in the line learns that it is the first now; without one the folder goes."""
        waiting = names(self._folder)
        if waiting:
            wake_first(self._folder, waiting, NEWS)
        else:
            remove(self._folder)


def _first_tick(waited: float) -> float:
    """How soon the first of the line looks again; who waits for long need not look so often.

    A holder that takes part wakes it anyway.
    """
    return min(max(FIRST_TICK_SECONDS, waited / FIRST_TICK_GROWS), FIRST_TICK_MOST_SECONDS)
