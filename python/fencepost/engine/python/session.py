"""The statements of one operation, run on the locked connection.

Mirrors `rust/fencepost-core/src/session.rs`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from ...clock import MIN_TIME_MS, iso_from_ms
from ...errors import refusal
from ...statements import statement
from ..protocol import MAX_TIME_MS, Clock, Row, Value
from .signals import undisturbed

_Result = TypeVar("_Result")
_NOTHING: Mapping[str, Value] = {}
_SQLITE_ERROR = 1
_SQLITE_BUSY = 5


class Session:
    """What an operation works with while it has the connection."""

    _sqlite: sqlite3.Connection | None
    _clock: Clock

    def _connection(self) -> sqlite3.Connection:
        if self._sqlite is None:
            raise refusal("closed")
        return self._sqlite

    @undisturbed
    def _execute(self, name: str, params: Mapping[str, Value] | None = None) -> sqlite3.Cursor:
        if self._sqlite is None:
            raise refusal("closed")
        return self._sqlite.execute(statement(name), params or _NOTHING)

    @undisturbed
    def _execute_all(self, name: str, params: Sequence[Value]) -> None:
        """Run a statement that gives no rows, its parameters by their order."""
        self._connection().execute(statement(name), params)

    @undisturbed
    def _set(self, name: str) -> None:
        """Run a PRAGMA; the row it answers with may not stay unread.

        It would keep the statement at work, and no COMMIT would be done: CPython ends it with
        the last reference to the cursor, PyPy some time later.
        """
        self._execute(name).close()

    def _changes(self, name: str, params: Mapping[str, Value]) -> int:
        return self._execute(name, params).rowcount

    def _row(self, name: str, params: Mapping[str, Value]) -> Row | None:
        rows = self._rows(name, params)
        return rows[0] if rows else None

    @undisturbed
    def _rows(self, name: str, params: Mapping[str, Value]) -> list[Row]:
        cursor = self._execute(name, params)
        try:
            return cursor.fetchall()
        except sqlite3.OperationalError as error:
            # The row would leave the statement at work for as long as the cursor lives, which
            # on PyPy is long.
            cursor.close()
            return self._undecoded(error, lambda: self._execute(name, params).fetchall())

    def _some(
        self, name: str, params: Mapping[str, Value], most: int, wanted: Callable[[Row], bool]
    ) -> list[Row]:
        """The first rows that are wanted; others are stepped over."""

        @undisturbed
        def some() -> list[Row]:
            cursor = self._execute(name, params)
            try:
                return list(islice(filter(wanted, cursor), most))
            finally:
                # An open cursor would keep its read mark past the commit.
                cursor.close()

        try:
            return some()
        except sqlite3.OperationalError as error:
            return self._undecoded(error, some)

    def _undecoded(self, error: sqlite3.OperationalError, read: Callable[[], _Result]) -> _Result:
        """What `read` gives, which failed; text that is no UTF-8 (another hand's) as bytes."""
        if code_of(error) != _SQLITE_ERROR:
            raise error
        connection = self._connection()
        # Not `str`, which PyPy would call.
        usual = connection.text_factory
        connection.text_factory = _text_or_bytes
        try:
            return read()
        finally:
            connection.text_factory = usual

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


def code_of(error: sqlite3.Error) -> int:
    """SQLite's extended result code."""
    return int(getattr(error, "sqlite_errorcode", _SQLITE_ERROR))


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else has the lock."""
    return code_of(error) & 0xFF == _SQLITE_BUSY


def _text_or_bytes(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
