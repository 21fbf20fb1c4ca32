"""The clock that a store under test reads.

Its wall time is CLOCK_MONOTONIC plus an offset that all processes of a run share, so
that no adjustment of the machine's clock during the run can look like a broken lease.
Each reading is recorded at once: the store reads its clock while it holds the write
lock, so a reading without an end of its call shows a call that died inside a
transaction.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    """Gives milliseconds since the epoch, and tells `on_read` of each reading."""

    def __init__(self, offset_ns: int, on_read: Callable[[int, int], None] | None = None) -> None:
        self._offset_ns = offset_ns
        self._on_read = on_read
        self._error_ms: Callable[[float], int] | None = None
        self._start = 0

    def go_wrong(self, error_ms: Callable[[float], int], start: int) -> None:
        """From now on be off by what `error_ms` gives for the milliseconds since `start`."""
        self._error_ms, self._start = error_ms, start

    def __call__(self) -> int:
        mono = time.monotonic_ns()
        wall = self.wall(mono)
        if self._on_read is not None:
            self._on_read(mono, wall)
        return wall

    def wall(self, mono: int) -> int:
        """The wall time of a monotonic stamp; reading it this way is not recorded."""
        true = (mono + self._offset_ns) // 1_000_000
        if self._error_ms is None:
            return true
        return true + self._error_ms((mono - self._start) / 1e6)


def shared_offset() -> int:
    """What to add to CLOCK_MONOTONIC to get the wall time, as it is now."""
    return time.time_ns() - time.monotonic_ns()


def iso(ms: int) -> str:
    """The time as an argument of the store."""
    return (_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")
