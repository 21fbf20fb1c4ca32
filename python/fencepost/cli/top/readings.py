"""What `top` shows: a reading of the store, and rates between two of them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from ...clock import iso_from_ms
from ...maintenance import Stats
from ...store import Store, engine_of

_ROWS = 50
_PAGE = 500
_COUNT_SHARE = 20
"""Counting everything may take one twentieth of the time."""
_LEAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RunClaim:
    """A claimed run; `left_ms` is negative once the lease has ended, None for no lease."""

    run_id: str
    workflow: str
    runner_id: str | None
    left_ms: int | None
    fence: int | None


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """A claimed key of the reconcile queue."""

    controller: str
    key: str
    left_ms: int | None
    consecutive_errors: int


@dataclass(frozen=True, slots=True)
class Worker:
    """A runner that holds claims."""

    runner_id: str | None
    runs: int
    first_left_ms: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the store, at the time `now` (ms)."""

    path: str
    engine: str
    now: int
    stats: Stats
    run_claims: list[RunClaim]
    key_claims: list[KeyClaim]
    workers: list[Worker]
    feed_seq: int
    per_second: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "stats": self.stats.to_dict()}


class Readings:
    """Takes readings of one store and remembers what rates need."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seq = store.feed.latest_seq()
        self._stats: Stats | None = None
        self._next_count = 0.0
        self._since = time.monotonic()
        self._seen: Counter[str] = Counter()
        self._rates: dict[str, float] = {}

    def take(self, now: int) -> Reading:
        """A new reading."""
        self._follow()
        read = engine_of(self._store).read
        run_claims = [
            RunClaim(run_id, workflow, runner, _left(end, now), fence)
            for run_id, workflow, runner, end, fence in read("stats.run_claims", {"limit": _ROWS})
        ]
        key_claims = [
            KeyClaim(controller, key, _left(end, now), errors)
            for controller, key, end, errors in read("stats.queue_claims", {"limit": _ROWS})
        ]
        workers = [
            Worker(runner, count, _left(first, now))
            for runner, count, first, _ in read("stats.workers", {"limit": _ROWS})
        ]
        return Reading(
            self._store.path,
            self._store.engine_name,
            now,
            self._counted(now),
            run_claims,
            key_claims,
            workers,
            self._seq,
            self._rates,
        )

    def _counted(self, now: int) -> Stats:
        begun = time.monotonic()
        if self._stats is None or begun >= self._next_count:
            self._stats = self._store.stats(now=iso_from_ms(now))
            spent = time.monotonic() - begun
            self._next_count = time.monotonic() + max(_LEAST_SECONDS, spent * _COUNT_SHARE)
        return self._stats

    def _follow(self) -> None:
        """Count the feed's new events by type; rates are of the last second or so."""
        while events := self._store.feed.after(seq=self._seq, limit=_PAGE):
            self._seen.update(event.type for event in events)
            self._seq = events[-1].seq
            if len(events) < _PAGE:
                break
        passed = time.monotonic() - self._since
        if passed >= _LEAST_SECONDS:
            self._rates = {name: count / passed for name, count in self._seen.most_common(8)}
            self._seen.clear()
            self._since = time.monotonic()


def _left(end: Any, now: int) -> int | None:
    return end - now if type(end) is int else None
