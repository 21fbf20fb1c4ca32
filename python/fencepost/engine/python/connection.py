"""The connection of the Python engine: opening, transactions, threads, forks.

Mirrors `rust/fencepost-core/src/connection.rs`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

from ...clock import MIN_TIME_MS, iso_from_ms, system_clock
from ...errors import FencepostError, refusal, sqlite_failure
from ...statements import script, statement
from ..protocol import MAX_TIME_MS, Clock, Row, Value
from .turns import Turns

_Result = TypeVar("_Result")
_SQLITE_ERROR = 1
_SQLITE_BUSY = 5
_RETRY_SECONDS = 0.001


class Connection:
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
    ) -> None:
        self._path = path
        self._read_only = read_only
        self._clock = system_clock if clock is None else clock
        self._busy_timeout_ms = busy_timeout_ms
        self._pid = os.getpid()
        self._turns = Turns(path, busy_timeout_ms)
        # Re-entrant only to notice a call from inside a call (a signal handler, a clock).
        self._lock = threading.RLock()
        self._inside = False
        mode = "ro" if read_only else "rw"
        uri = f"file:{quote(os.fsencode(path))}?mode={mode}{'&immutable=1' if immutable else ''}"
        self._sqlite: sqlite3.Connection | None = None
        try:
            self._sqlite = sqlite3.connect(
                uri,
                uri=True,
                timeout=0,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
            settings = ["foreign_keys_on", f"synchronous_{synchronous}"]
            settings += ["query_only"] if read_only else []
            for setting in settings:
                self._patiently(partial(self._execute, f"connection.{setting}"))
        except sqlite3.Error as error:
            if self._sqlite is not None:
                self._sqlite.close()
            raise self._failure(error) from error
        _open_connections.add(self)

    def close(self) -> None:
        """Close the connection; again does nothing. A forked child forgets it instead."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            if self._inside:
                raise refusal("reentrant")
            if self._sqlite is not None:
                self._sqlite.close()
                self._sqlite = None

    def use_wal(self) -> None:
        """Switch the file to WAL, trying again within the busy timeout."""
        with self._inside_call():
            self._patiently(lambda: self._execute("connection.use_wal"))

    def create_schema(self) -> list[str]:
        """Create what is missing of the schema, unless the file is somebody else's."""
        with self._transaction():
            foreign = [str(row[0]) for row in self._rows("layout.foreign_tables", {})]
            if not foreign:
                for name in ("schema", "additions"):
                    for part in _split_script(script(name)):
                        self._connection().execute(part)
            return foreign

    def read(self, statement: str, params: Mapping[str, Value]) -> list[Row]:
        """All rows of one named read statement, values as stored."""
        with self._inside_call():
            return self._patiently(lambda: self._rows(statement, params))

    def _connection(self) -> sqlite3.Connection:
        if self._sqlite is None:
            raise refusal("closed")
        return self._sqlite

    def _execute(self, name: str, params: Mapping[str, Value] | None = None) -> sqlite3.Cursor:
        return self._connection().execute(statement(name), params or {})

    def _rows(self, name: str, params: Mapping[str, Value]) -> list[Row]:
        return self._decoding(lambda: self._execute(name, params).fetchall())

    def _decoding(self, read: Callable[[], _Result]) -> _Result:
        """What `read` gives; text that is no UTF-8, which another hand wrote, as bytes."""
        try:
            return read()
        except sqlite3.OperationalError as error:
            if _code(error) != _SQLITE_ERROR:
                raise
        connection = self._connection()
        connection.text_factory = _text_or_bytes
        try:
            return read()
        finally:
            connection.text_factory = str

    def _patiently(self, call: Callable[[], _Result]) -> _Result:
        """What `call` gives, tried again within the busy timeout.

        For what waits for nobody's turn: the switch to WAL, and a read while another
        process recovers the log.
        """
        deadline = time.monotonic() + self._busy_timeout_ms / 1000
        while True:
            try:
                return call()
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(_RETRY_SECONDS)

    def _try_begin(self) -> bool:
        try:
            self._execute("connection.begin")
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise
            return False
        return True

    def _row(self, name: str, params: Mapping[str, Value]) -> Row | None:
        rows = self._rows(name, params)
        return rows[0] if rows else None

    def _changes(self, name: str, params: Mapping[str, Value]) -> int:
        return self._execute(name, params).rowcount

    def _now(self, now: int | None) -> int:
        if now is None:
            now = self._clock()
            if not MIN_TIME_MS <= now <= MAX_TIME_MS:
                raise refusal("clock_out_of_range", now)
        return now

    def _lease_end(self, now: int, lease_ms: int) -> int:
        if now + lease_ms > MAX_TIME_MS:
            raise refusal("lease_out_of_range", lease_ms)
        return now + lease_ms

    def _stamp(self, now: int | None) -> tuple[int, str]:
        """The time of a transaction, in milliseconds and as stored text."""
        ms = self._now(now)
        return ms, iso_from_ms(ms)

    def _failure(self, error: sqlite3.Error) -> FencepostError:
        return sqlite_failure(_code(error), self._path, str(error))

    def _inside_call(self) -> _Call:
        return _Call(self)

    def _transaction(self) -> _Transaction:
        return _Transaction(self)


class _Call:
    """One call: refused in a forked child, when closed, and inside another call."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Connection) -> None:
        self._owner = owner

    def __enter__(self) -> None:
        owner = self._owner
        if os.getpid() != owner._pid:
            raise refusal("forked")
        owner._lock.acquire()
        try:
            if owner._inside:
                raise refusal("reentrant")
            owner._connection()
            owner._inside = True
        except BaseException:
            owner._lock.release()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._owner._inside = False
        self._owner._lock.release()
        if isinstance(error, sqlite3.Error):
            raise self._owner._failure(error) from error


class _Transaction(_Call):
    """A call in one immediate transaction, which no path leaves open."""

    __slots__ = ()

    def __enter__(self) -> None:
        super().__enter__()
        try:
            if self._owner._read_only:
                raise refusal("read_only", self._owner._path)
            if not self._owner._turns.take(self._owner._try_begin):
                raise sqlite_failure(_SQLITE_BUSY, self._owner._path)
        except BaseException as error:
            # An interrupt may have come after the lock was taken.
            self._roll_back(error)
            super().__exit__(type(error), error, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._owner._execute("connection.commit")
        except BaseException as failed:
            # Not only SQLite's errors: a signal's exception comes out of the commit too.
            self._roll_back(failed)
            super().__exit__(type(failed), failed, None)
            raise
        if error is not None:
            self._roll_back(error)
        super().__exit__(kind, error, trace)

    def _roll_back(self, error: BaseException) -> None:
        # SQLite may have rolled back by itself; what failed first is what is reported.
        if self._owner._connection().in_transaction:
            try:
                self._owner._execute("connection.rollback")
            except sqlite3.Error as failed:
                error.add_note(f"the rollback failed too: {failed}")


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", _SQLITE_ERROR))


def _is_busy(error: sqlite3.Error) -> bool:
    return _code(error) & 0xFF == _SQLITE_BUSY


def _text_or_bytes(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


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


_open_connections: weakref.WeakSet[Connection] = weakref.WeakSet()


def _forget_in_child() -> None:
    """Keep inherited connections from ever being closed by a forked child.

    Closing one there could checkpoint and delete the write-ahead log under the parent,
    and the destructor closes too; so each gets a reference that is never given back.
    """
    for connection in _open_connections:
        if connection._sqlite is not None:
            _immortal.append(connection._sqlite)
            _keep_forever(connection._sqlite)


_immortal: list[sqlite3.Connection] = []


def _keep_forever(connection: sqlite3.Connection) -> None:
    try:
        from ctypes import py_object, pythonapi
    except ImportError:
        # Interpreters without reference counts do not destroy what a list still holds.
        return
    pythonapi.Py_IncRef(py_object(connection))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
