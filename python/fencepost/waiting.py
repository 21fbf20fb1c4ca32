"""Waiting for work without polling: until another process commits some, or a time comes.

A waiter takes a place beside the file before it first looks, and whoever commits looks
for waiters after its commit. So either the look sees the commit or the commit sees the
waiter: no wake-up is lost. Stores that do not take part (the other store on the same
file, claims of very short leases) are noticed by a look now and then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from .engine.protocol import MAX_TIME_MS, Clock, Engine
from .rendezvous import Place, folder, remove, wake_all

_Result = TypeVar("_Result")

LOOK_SECONDS = 0.25
LOOK_WITHOUT_SOCKET_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Ready:
    """What there is to do; false where there is nothing, after the timeout.

    Attributes:
        runs: whether a run is claimable.
        controllers: those of the asked controllers that have a due key.
        feed: whether the feed has an event after the one asked for.
        events: whether there is an event of a controller after the one asked for.
    """

    runs: bool = False
    controllers: tuple[str, ...] = ()
    feed: bool = False
    events: bool = False

    def __bool__(self) -> bool:
        return self.runs or bool(self.controllers) or self.feed or self.events


@dataclass(frozen=True, slots=True)
class Wish:
    """What a caller waits for; already validated."""

    runs: bool
    exclude_run_ids: frozenset[str]
    controllers: tuple[str, ...]
    feed_after: int | None
    events_after: int | None

    def __bool__(self) -> bool:
        feeds = (self.feed_after, self.events_after)
        return self.runs or bool(self.controllers) or feeds != (None, None)


def bells(path: str) -> str:
    """The folder of those who wait for work in the file at `path`."""
    return folder(path, "bells")


def leave_no_folder(path: str) -> None:
    """Remove the folder of the waiters, unless somebody is in it."""
    remove(bells(path))


class Waiter:
    """One wait: a place taken before the first look, then looks between sleeps.

    The place is taken where it is given up again: Ctrl-C finds no gap between the two.
    """

    def __init__(
        self, engine: Engine, path: str, clock: Clock, wish: Wish, timeout_ms: int | None
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._wish = wish
        self._end = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        self._place = Place(bells(path))

    def wait(self) -> Ready:
        """Block until there is something, or the timeout."""
        try:
            self._place.take()
            while (seconds := self._pause()) is not None:
                self._place.sleep(seconds)
            return self._ready
        finally:
            self._place.leave()

    async def wait_async(self) -> Ready:
        """The same without blocking the running event loop."""
        woken = asyncio.Event()
        loop, descriptor = asyncio.get_running_loop(), -1

        def wake() -> None:
            self._place.sleep(0)
            woken.set()

        try:
            self._place.take()
            descriptor = self._place.fileno()
            if descriptor >= 0:
                loop.add_reader(descriptor, wake)
            # A look waits its turn, and with it the loop would, while a thread has the lock
            # or waits for it.
            while (seconds := await asyncio.to_thread(self._pause)) is not None:
                try:
                    # Before 3.12 `wait_for` loses a cancellation that comes with a wake-up.
                    async with asyncio.timeout(seconds):
                        await woken.wait()
                except TimeoutError:
                    continue
                woken.clear()
            return self._ready
        finally:
            if descriptor >= 0:
                loop.remove_reader(descriptor)
            self._place.leave()

    def _pause(self) -> float | None:
        """Look, and say how long to sleep before the next look; None to end the wait."""
        self._ready, due = self._look()
        if self._ready:
            return None
        seconds = LOOK_WITHOUT_SOCKET_SECONDS if self._place.fileno() < 0 else LOOK_SECONDS
        seconds = min(seconds, max((due - self._clock()) / 1000, 0.0))
        if self._end is not None:
            left = self._end - time.monotonic()
            if left <= 0:
                return None
            seconds = min(seconds, left)
        return seconds

    def _look(self) -> tuple[Ready, float]:
        """What is ready, and when the next becomes due by the clock."""
        now = self._clock()
        runs_due = self._runs_due(now) if self._wish.runs else MAX_TIME_MS
        dues = {name: self._controller_due(name, now) for name in self._wish.controllers}
        ready = Ready(
            runs_due <= now,
            tuple(name for name, due in dues.items() if due <= now),
            self._has_more("feed.after", self._wish.feed_after),
            self._has_more("events.after", self._wish.events_after),
        )
        return ready, min(runs_due, *dues.values(), MAX_TIME_MS)

    def _runs_due(self, now: int) -> float:
        excluded = self._wish.exclude_run_ids
        limit = {"limit": len(excluded) + 1}
        if any(row[0] not in excluded for row in self._engine.read("runs.some_parked", limit)):
            return now
        rows = self._engine.read("runs.next_expiries", limit)
        return _earliest(row[1] for row in rows if row[0] not in excluded)

    def _controller_due(self, controller: str, now: int) -> float:
        rows = self._engine.read("queue.next_due", {"controller": controller, "now": now})
        return _earliest(rows[0])

    def _has_more(self, statement: str, after: int | None) -> bool:
        return after is not None and bool(self._engine.read(statement, {"seq": after, "limit": 1}))


def _earliest(times: Iterable[Any]) -> float:
    """The first of some times. What is no number, another hand wrote, and it is never due."""
    return min((ms for ms in times if isinstance(ms, (int, float))), default=MAX_TIME_MS)


class Ringing:
    """An engine that wakes the waiters after each commit that may have work for them.

    The other operations are the engine's own, so the hot ones cost nothing more.
    """

    _MAKE_WORK = (
        "put_resource",
        "request_deletion",
        "enqueue",
        "settle_claims",
        "requeue_claim",
        "enqueue_runs",
        "park_run",
        "repair_source",
        "record_event",
        "record_run_event",
        "change_and_record",
    )

    def __init__(self, engine: Engine, path: str) -> None:
        self._engine = engine
        bell = bells(path)
        for name in self._MAKE_WORK:
            setattr(self, name, _then_ring(getattr(engine, name), bell))

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._engine, name)
        setattr(self, name, operation)
        return operation


def _then_ring(operation: Callable[..., _Result], bell: str) -> Callable[..., _Result]:
    def ringing(*arguments: Any) -> _Result:
        result = operation(*arguments)
        wake_all(bell)
        return result

    return ringing
