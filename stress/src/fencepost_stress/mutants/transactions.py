"""Mutants of transactions: their beginning, their end, and the time that they go by."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import TypeVar

from fencepost.engine.protocol import Row
from fencepost.engine.python.group_commit import Job
from fencepost.engine.python.session import is_busy
from fencepost.errors import StoreBusyError
from fencepost.failures import sqlite_failure

from ..plan import FAULTS
from .base import Mutant

_Result = TypeVar("_Result")
_SQLITE_BUSY = 5
_ERROR_RATE = 0.03
_FIRST_PAUSE_SECONDS = 0.05
_BACK_OFF_MS = (1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100)
"""What SQLite's own busy handler sleeps between its tries."""


class Deferred(Mutant):
    name = "deferred-transaction"
    bug = "transactions begin deferred: who reads, then writes, fails at once when another wrote"
    killers = ("L1",)

    def _try_begin(self) -> bool:
        self.reached()
        try:
            self._connection().execute("BEGIN")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            return False
        return True


class ClockBeforeLock(Mutant):
    name = "clock-before-lock"
    bug = "the lease is measured from before the wait for the lock, which eats it up"
    killers = ("F3",)
    _early: int | None = None

    def _write(self, work: Callable[[], _Result]) -> _Result:
        self._early = super()._now(None)
        self.reached()
        try:
            return super()._write(work)
        finally:
            self._early = None

    def _now(self, now: int | None) -> int:
        return super()._now(self._early if now is None else now)


class AckBeforeCommit(Mutant):
    name = "ack-before-commit"
    bug = "a call returns before its COMMIT, which the next call makes"
    killers = ("D1",)
    faults = ("kill",)

    def _done(self, own: Job, *, share: bool) -> bool:  # noqa: ARG002
        self._catch_up()
        try:
            self._begin(own.since)
            result = own.work()
        except Exception as error:  # noqa: BLE001 - the job's own thread raises it
            self._roll_back(error)
            own.end(None, self._translated(error))
        else:
            self.reached()
            own.end(result, None)
        return True

    def _catch_up(self) -> None:
        if self._connection().in_transaction:
            self._execute("connection.commit")

    def _read(self, work: Callable[[], _Result]) -> _Result:
        if self._sqlite is not None:
            self._catch_up()
        return super()._read(work)

    def close(self) -> None:
        if self._sqlite is not None:
            self._catch_up()
        super().close()


class ErrorAfterCommit(Mutant):
    name = "error-after-commit"
    bug = "what goes wrong after the COMMIT is reported as a failure that changed nothing"
    killers = ("A1", "R1")

    def _done(self, own: Job, *, share: bool) -> bool:
        done = super()._done(own, share=share)
        if own.error is None and self._sqlite is not None and random.random() < _ERROR_RATE:
            self.reached()
            own.end(None, sqlite_failure(_SQLITE_BUSY, self._path, "the lock was lost"))
        return done


class WaitsTooLong(Mutant):
    name = "waits-past-timeout"
    bug = "each try for the lock is later than the one before, and nobody looks at the busy timeout"
    killers = ("L1",)
    faults = FAULTS

    def _begin(self, since: float) -> None:  # noqa: ARG002
        pause = _FIRST_PAUSE_SECONDS
        while not self._try_begin():
            self.reached()
            time.sleep(pause)
            pause *= 4
        self._execute("connection.rollback")
        super()._begin(time.monotonic())


class BacksOff(Mutant):
    name = "backs-off"
    bug = "who finds the lock taken sleeps longer each time, out of the line, as SQLite itself does"
    killers = ("L1",)
    workload = "runs"
    processes = 16
    _deadline = 0.0

    def _begin(self, since: float) -> None:
        self._deadline = since + self._busy_timeout_ms / 1000
        super()._begin(since)

    def _try_begin(self) -> bool:
        """Wait here, so that nobody joins the line."""
        pauses = chain(_BACK_OFF_MS, repeat(_BACK_OFF_MS[-1]))
        while not super()._try_begin():
            left = self._deadline - time.monotonic()
            if left <= 0:
                return False
            self.reached()
            time.sleep(min(next(pauses) / 1000, left))
        return True


class LogNeverEmptied(Mutant):
    name = "log-never-emptied"
    bug = "nobody empties the write-ahead log when it has grown long, so it grows with each commit"
    killers = ("I1",)

    def _empty_log(self) -> bool:
        self.reached()
        return False


class BusyAsEmpty(Mutant):
    name = "busy-as-empty"
    bug = "a busy database is reported as nothing to claim"
    killers = ("R1", "S1")
    workload = "runs"
    faults = ("hog",)

    def claim_runs(
        self,
        runner_id: str,
        claim_tokens: Sequence[str],
        lease_ms: int,
        exclude_run_ids: Sequence[str],
        now: int | None,
    ) -> list[Row]:
        try:
            return super().claim_runs(runner_id, claim_tokens, lease_ms, exclude_run_ids, now)
        except StoreBusyError:
            self.reached()
            # For its log: the worker saw nothing at this time.
            self._now(now)
            return []
