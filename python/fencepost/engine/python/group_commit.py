"""Group commit: the writes of many threads share a transaction and one COMMIT.

While one thread's COMMIT waits for the disk, the others queue their work; the next that
gets the connection does all of it at once (DeWitt et al., "Implementation Techniques for
Main Memory Database Systems", 1984). Each job keeps its own result and its own error:
it runs in a savepoint, and a job that fails does not undo the others. Where the shared
transaction fails as a whole nothing was committed, and each job is done again alone.

Mirrors `rust/fencepost-core/src/group_commit.rs`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ...errors import refusal, sqlite_failure
from ..probe import Probe
from .checkpoints import Checkpoints
from .session import Session, code_of, is_busy
from .turns import Turns

MOST_JOBS = 64
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

    __slots__ = ("abandoned", "done", "error", "result", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.done = False
        self.abandoned = False
        self.result: Any = None
        self.error: Exception | None = None

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
        """Do what is queued until `own` is done; the caller has the connection."""
        if threading.current_thread() is threading.main_thread():
            # Signals' exceptions come out here, and are no outcome of another thread's job.
            self._jobs.remove(own)
            self._alone(own)
            return
        while not own.done:
            jobs = [self._jobs.popleft() for _ in range(min(len(self._jobs), MOST_JOBS))]
            jobs = [job for job in jobs if not job.abandoned]
            try:
                if len(jobs) == 1 or not self._share(jobs):
                    for job in jobs:
                        if not job.done:
                            self._alone(job)
            except BaseException:
                # What ends this thread is no outcome of the others' jobs: they are still to do.
                self._jobs.extendleft(job for job in reversed(jobs) if not job.done)
                raise

    def _alone(self, job: Job) -> None:
        try:
            self._begin()
            result = job.work()
            self._commit()
        except Exception as error:  # noqa: BLE001 - whatever it is, the job's own thread raises it
            self._roll_back(error)
            job.end(None, self._translated(error))
        except BaseException as error:
            self._roll_back(error)
            raise
        else:
            job.end(result, None)
            self._checkpoints.after_commit(self._empty_log)

    def _share(self, jobs: list[Job]) -> bool:
        """Do the jobs in one transaction; False where it failed as a whole."""
        outcomes: list[tuple[Any, Exception | None]] = []
        try:
            self._begin()
            for job in jobs:
                outcomes.append(self._in_savepoint(job))
            self._commit()
        except sqlite3.Error as error:
            self._roll_back(error)
            if is_busy(error):
                outcomes = [(None, self._translated(error)) for _ in jobs]
            else:
                return False
        except BaseException as error:
            self._roll_back(error)
            raise
        for job, (result, failed) in zip(jobs, outcomes, strict=True):
            job.end(result, failed)
        self._checkpoints.after_commit(self._empty_log)
        return True

    def _empty_log(self) -> bool:
        try:
            blocked, _, _ = self._execute("connection.checkpoint_truncate").fetchone()
        except sqlite3.Error:
            # The commit stands; what a checkpoint can't do now, a later one does.
            return False
        return bool(blocked == 0)

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

    def _begin(self) -> None:
        self._end_left_open()
        if not self._turns.take(self._try_begin):
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
