"""Group commit: the writes of many threads share a transaction and one COMMIT.

While one thread's COMMIT waits for the disk, the others queue their work, and wait to be
called; the next that gets the connection does all of it at once (DeWitt et al.,
"Implementation Techniques for Main Memory Database Systems", 1984). Each job keeps its own
result and its own error: it runs in a savepoint, and a job that fails does not undo the
others. Where the shared transaction fails as a whole nothing was committed, and each thread
does its own job again, alone. Jobs join once the lock is held: while it is not to be had,
each thread waits for as long as its own busy timeout lasts.

Mirrors `rust/fencepost-core/src/group_commit.rs`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...errors import refusal
from ...failures import sqlite_failure
from ..probe import Probe
from .checkpoints import Checkpoints
from .session import Session, code_of, is_busy
from .turns import Turns

MOST_JOBS = 64
LOOK_AGAIN_SECONDS = 0.05
_SQLITE_BUSY = 5


def identity_of(path: str) -> tuple[int, int] | None:
    """What tells one file from all others; None for no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Job:
    """One write operation, and how it ended."""

    __slots__ = ("_called", "abandoned", "alone", "done", "error", "result", "since", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.since = time.monotonic()
        self.alone = False
        self.done = False
        self.abandoned = False
        self.result: Any = None
        self.error: Exception | None = None
        self._called = threading.Lock()
        self._called.acquire()

    def wait(self) -> None:
        """Until somebody calls: the job is done, or its thread is to do it.

        A call can be lost, where a signal's exception comes just before it: so not for long.
        """
        self._called.acquire(timeout=LOOK_AGAIN_SECONDS)

    def call(self) -> None:
        """Have the thread that waits look again."""
        # It may have been called already.
        with suppress(RuntimeError):
            self._called.release()

    def outcome(self) -> Any:
        """The result; raises the job's own error."""
        if self.error is not None:
            raise self.error
        return self.result

    def end(self, result: Any, error: Exception | None) -> None:
        """The job is over, whoever did it."""
        self.result, self.error, self.done = result, error, True


class GroupCommit(Session):
    """The queue of jobs, and the transactions that do them."""

    _path: str
    _file: tuple[int, int] | None
    _turns: Turns
    _checkpoints: Checkpoints
    _jobs: deque[Job]
    _probe: Probe | None

    def _work_off(self, own: Job) -> None:
        """Do `own`, and with it what else is queued; the caller has the connection."""
        self._jobs.remove(own)
        # Signals' exceptions come out of the main thread: no outcome of another thread's job.
        main = threading.current_thread() is threading.main_thread()
        if not self._done(own, share=not (own.alone or main)):
            self._done(own, share=False)

    def _done(self, own: Job, *, share: bool) -> bool:
        """Whether the job was done in a transaction; False where that failed with others in it."""
        others: list[Job] = []
        try:
            self._begin(own.since)
            result = own.work()
            outcomes = self._join(others) if share else []
            self._commit()
        except Exception as error:  # noqa: BLE001 - whatever it is, the job's own thread raises it
            self._roll_back(error)
            if others:
                self._put_back(others)
                return False
            own.end(None, self._translated(error))
            return True
        except BaseException as error:
            # What ends this thread is no outcome of the others' jobs: they are still to do.
            self._put_back(others)
            self._roll_back(error)
            raise
        own.end(result, None)
        for job, (result, failed) in zip(others, outcomes, strict=True):
            job.end(result, failed)
            job.call()
        self._checkpoints.after_commit(self._empty_log)
        return True

    def _join(self, others: list[Job]) -> list[tuple[Any, Exception | None]]:
        """Do what waits in the open transaction; while these jobs are done, others may come."""
        outcomes: list[tuple[Any, Exception | None]] = []
        while new := self._sociable(MOST_JOBS - len(others)):
            others.extend(new)
            outcomes.extend(self._in_savepoint(job) for job in new)
        return outcomes

    def _sociable(self, most: int) -> list[Job]:
        """Take up to so many jobs out of the queue that may be done together with others."""
        taken: list[Job] = []
        left: list[Job] = []
        while len(taken) < most:
            try:
                job = self._jobs.popleft()
            except IndexError:
                # Asking first would not do: a thread that gives up removes its job at any time.
                break
            if not job.abandoned:
                (left if job.alone else taken).append(job)
        self._jobs.extendleft(reversed(left))
        return taken

    def _call_first(self) -> None:
        """The connection is free: have the first that waits work on, also for the others."""
        # Who gave up while its job was being done finds it put back; the call is for the next.
        with suppress(IndexError):
            while (first := self._jobs[0]).abandoned:
                with suppress(ValueError):
                    self._jobs.remove(first)
            first.call()

    def _put_back(self, jobs: list[Job]) -> None:
        for job in reversed(jobs):
            job.alone = True
            self._jobs.appendleft(job)

    def _empty_log(self) -> int:
        try:
            ((blocked, frames, _),) = self._rows("connection.checkpoint_truncate", {})
        except sqlite3.Error:
            # The commit stands; what a checkpoint can't do now, a later one does.
            return -1
        return int(frames) if blocked else 0

    def _in_savepoint(self, job: Job) -> tuple[Any, Exception | None]:
        self._execute("connection.savepoint")
        try:
            result = job.work()
        except Exception as error:
            if not self._connection().in_transaction:
                # SQLite rolled everything back by itself.
                raise sqlite3.OperationalError("the shared transaction is gone") from error
            self._execute("connection.rollback_to")
            self._execute("connection.release")
            return None, self._translated(error)
        self._execute("connection.release")
        return result, None

    def _begin(self, since: float) -> None:
        self._end_left_open()
        if not self._turns.take(self._try_begin, since):
            busy = sqlite3.OperationalError("the lock was not to be had within the busy timeout")
            busy.sqlite_errorcode = _SQLITE_BUSY
            raise busy
        # Into a file without a name every write would succeed, and nobody would see it.
        if identity_of(self._path) != self._file:
            raise refusal("file_gone", self._path)
        if self._probe is not None:
            self._probe("begun")

    def _commit(self) -> None:
        if self._probe is not None:
            self._probe("written")
        self._execute("connection.commit")
        if self._probe is not None:
            self._probe("committed")

    def _try_begin(self) -> bool:
        try:
            self._execute("connection.begin")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            return False
        return True

    def _roll_back(self, error: BaseException) -> None:
        # SQLite may have rolled back by itself; what failed first is what is reported.
        if self._connection().in_transaction:
            try:
                self._execute("connection.rollback")
            except sqlite3.Error as failed:
                error.add_note(f"the rollback failed too: {failed}")

    def _end_left_open(self) -> None:
        """Roll back what an interrupted rollback left open: it is part of no operation."""
        if self._sqlite is not None and self._sqlite.in_transaction:
            self._execute("connection.rollback")

    def _translated(self, error: Exception) -> Exception:
        if not isinstance(error, sqlite3.Error):
            return error
        failure = sqlite_failure(code_of(error), self._path, str(error))
        failure.__cause__ = error
        return failure
