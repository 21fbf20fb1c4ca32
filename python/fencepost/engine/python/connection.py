"""The connection of the Python engine: opening, closing, and the one lock around it.

Mirrors `rust/fencepost-core/src/connection.rs`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

from ...clock import system_clock
from ...errors import refusal
from ...statements import script
from ..probe import Probe
from ..protocol import Clock, Row, Value
from . import forks
from .checkpoints import Checkpoints
from .group_commit import GroupCommit, Job, identity_of
from .session import is_busy
from .signals import undisturbed
from .turns import Turns

_Result = TypeVar("_Result")
_Owner = TypeVar("_Owner", bound="Connection")
_Args = ParamSpec("_Args")
_RETRY_SECONDS = 0.001


class Connection(GroupCommit):
    """One SQLite connection behind a lock, with the transaction rules of the store."""

    def __init__(
        self,
        path: str,
        *,
        read_only: bool,
        synchronous: str,
        busy_timeout_ms: int,
        clock: Clock | None,
        immutable: bool = False,
        probe: Probe | None = None,
        on_wait: Callable[[float], None] | None = None,
        on_log_held: Callable[[], None] | None = None,
    ) -> None:
        self._path = path
        self._read_only = read_only
        self._probe = probe
        self._on_wait = on_wait
        self._on_log_held = on_log_held
        self._clock = system_clock if clock is None else clock
        self._busy_timeout_ms = busy_timeout_ms
        self._pid = os.getpid()
        self._file = identity_of(path)
        self._turns = Turns(path, busy_timeout_ms)
        self._checkpoints = Checkpoints(path)
        self._jobs: deque[Job] = deque()
        # Re-entrant only to notice a call from inside a call (a signal handler, a clock).
        self._lock = threading.RLock()
        # The thread that works on the connection; 0 for none.
        self._inside = 0
        mode = "ro" if read_only else "rw"
        uri = f"file:{quote(os.fsencode(path))}?mode={mode}{'&immutable=1' if immutable else ''}"
        self._sqlite: sqlite3.Connection | None = None
        try:
            self._connect(uri)
            _keep_plans(self._connection())
            settings = ["foreign_keys_on", f"synchronous_{synchronous}", "own_checkpoints"]
            settings += ["query_only"] if read_only else []
            for setting in settings:
                self._patiently(partial(self._set, f"connection.{setting}"))
        except sqlite3.Error as error:
            self._disconnect()
            raise self._translated(error) from error
        forks.watch(self)

    def close(self) -> None:
        """Close the connection; again does nothing. A forked child forgets it instead."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            if self._inside:
                raise refusal("reentrant")
            if self._sqlite is not None:
                self._disconnect()
                # Who only reads changes nothing beside the file either.
                if not self._read_only:
                    self._turns.close()
        self._call_first()

    @undisturbed
    def _connect(self, uri: str) -> None:
        self._sqlite = sqlite3.connect(
            uri,
            uri=True,
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )

    @undisturbed
    def _disconnect(self) -> None:
        if self._sqlite is not None:
            self._sqlite.close()
            self._sqlite = None

    def use_wal(self) -> None:
        """Switch the file to WAL, trying again within the busy timeout."""
        self._read(lambda: self._set("connection.use_wal"))

    def create_schema(self, schema_version: int, schema_id: str | None) -> bool:
        """Create what is missing of the schema, unless the layout has changed meanwhile."""
        return self._write(partial(self._create_schema, schema_version, schema_id))

    def _create_schema(self, seen_version: int, seen_id: str | None) -> bool:
        version, has_id = self._rows("layout.version", {})[0]
        row = self._row("layout.schema_id", {}) if has_id else None
        if version != seen_version or (None if row is None else row[0]) != seen_id:
            return False
        for name in ("schema", "additions"):
            for part in _split_script(script(name)):
                self._connection().execute(part)
        return True

    def read(self, statement: str, params: Mapping[str, Value]) -> list[Row]:
        """All rows of one named read statement, values as stored."""
        return self._read(lambda: self._rows(statement, params))

    def change(self, statement: str, params: Mapping[str, Value]) -> int:
        """Run one named write statement in a transaction; how many rows it changed."""
        return self._write(lambda: self._changes(statement, params))

    def change_and_record(
        self, change: str, record: str, params: Mapping[str, Value], now: int | None
    ) -> int | None:
        """Run one named write statement and one that adds an event, both or neither."""
        return self._write(lambda: self._change_and_record(change, record, params, now))

    def _change_and_record(
        self, change: str, record: str, params: Mapping[str, Value], now: int | None
    ) -> int | None:
        _, stamp = self._stamp(now)
        given = {**params, "updated_at": stamp, "recorded_at": stamp}
        if self._changes(change, given) == 0:
            return None
        return self._execute(record, given).lastrowid

    def _read(self, work: Callable[[], _Result]) -> _Result:
        """Do what waits for nobody's turn, in the statement's own transaction."""
        if os.getpid() != self._pid:
            raise refusal("forked")
        try:
            with self._lock:
                if self._inside:
                    raise refusal("reentrant")
                connection = self._connection()
                # One frame, one try: a signal's exception finds no gap between the lock and it.
                try:
                    self._inside = threading.get_ident()
                    if connection.in_transaction:
                        self._end_left_open()
                    return self._patiently(work)
                except sqlite3.Error as error:
                    raise self._translated(error) from error
                finally:
                    self._inside = 0
        finally:
            if self._jobs:
                self._call_first()

    def _write(self, work: Callable[[], _Result]) -> _Result:
        """Do one write operation in an immediate transaction, shared where others wait."""
        if os.getpid() != self._pid:
            raise refusal("forked")
        job = Job(work)
        try:
            self._jobs.append(job)
            # Who looks for its outcome by way of the lock would wait for another commit.
            while self._inside not in (0, threading.get_ident()) and not job.done:
                job.wait()
            if not job.done:
                self._do(job)
        except BaseException:
            job.abandoned = True
            with suppress(ValueError):
                self._jobs.remove(job)
            self._call_first()
            raise
        result: _Result = self._outcome(job)
        return result

    def _do(self, job: Job) -> None:
        """Do the job, unless somebody else has done it by the time that the lock is had."""
        with self._lock:
            if not job.done:
                if self._inside:
                    raise refusal("reentrant")
                self._connection()
                if self._read_only:
                    raise refusal("read_only", self._path)
                try:
                    self._inside = threading.get_ident()
                    self._work_off(job)
                except BaseException:
                    # A signal's exception may have come before the rollback: else the
                    # lock would be held until the next call.
                    self._end_left_open()
                    raise
                finally:
                    self._inside = 0
        if self._jobs:
            self._call_first()

    def _outcome(self, job: Job) -> Any:
        if self._on_wait is not None and (waited := self._turns.take_waited()):
            self._on_wait(waited)
        if self._on_log_held is not None and self._checkpoints.take_held():
            self._on_log_held()
        return job.outcome()

    def _patiently(self, call: Callable[[], _Result]) -> _Result:
        """What `call` gives, tried again within the busy timeout.

        For what waits for nobody's turn: the switch to WAL, and a read while another
        process recovers the log.
        """
        # The time is taken only where there is something to wait for.
        deadline = None
        while True:
            try:
                return call()
            except sqlite3.OperationalError as error:
                if deadline is None:
                    deadline = time.monotonic() + self._busy_timeout_ms / 1000
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(_RETRY_SECONDS)


def writes(
    operation: Callable[Concatenate[_Owner, _Args], _Result],
) -> Callable[Concatenate[_Owner, _Args], _Result]:
    """An operation that is one write transaction."""

    @wraps(operation)
    def in_transaction(owner: _Owner, /, *args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        return owner._write(partial(operation, owner, *args, **kwargs))

    return in_transaction


def _keep_plans(connection: sqlite3.Connection) -> None:
    """Have statements planned once: a SQLite with STAT4 plans anew for each value else."""
    # Python 3.12 is the first that can say so.
    set_config = getattr(connection, "setconfig", None)
    if set_config is not None:
        set_config(sqlite3.SQLITE_DBCONFIG_ENABLE_QPSG, True)  # type: ignore[attr-defined]


def _split_script(text: str) -> list[str]:
    """The statements of a script, one by one: executescript would commit the transaction."""
    parts: list[str] = []
    current = ""
    for line in text.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            parts.append(current)
            current = ""
    return parts
