"""Reading a database that nobody has open, without leaving anything beside it.

A read-only connection to a WAL database makes the log and its index where they are
missing. A database at rest has neither, so it is opened as immutable, which takes no
locks; in exchange each read makes sure that the file stayed at rest meanwhile. Once a
writer appears, the reader opens the file again in the ordinary way.

That a file was written shows by its time, which on many systems moves only with the
clock's ticks: a file is opened as immutable once its time is older than a tick, so that
whoever writes later leaves another one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from ..errors import CorruptStoreError, StoreIOError
from .protocol import Engine, Row, Value

_State: TypeAlias = "tuple[int, int, int] | None"
_Result = TypeVar("_Result")

_TICK_SECONDS = 0.02
_MOST_TICKS = 50


class RestingReader:
    """An engine for reading that follows a file from rest into use and back.

    Every other operation is the inner engine's own, which refuses to write.
    """

    def __init__(self, path: str, connect: Callable[[bool], Engine]) -> None:
        self._path = path
        self._pid = os.getpid()
        self._connect = connect
        self._lock = threading.RLock()
        self._state = _at_rest_for_a_tick(path)
        self._engine = connect(self._state is not None)

    def read(self, statement: str, params: Mapping[str, Value]) -> list[Row]:
        return self._reading(lambda engine: engine.read(statement, params))

    def verify_run(self, run_id: str, claim_token: str, now: int | None) -> bool:
        return self._reading(lambda engine: engine.verify_run(run_id, claim_token, now))

    def close(self) -> None:
        if os.getpid() != self._pid:
            self._engine.close()
            return
        # Else a read of another thread could put a new engine in the place of this one.
        with self._lock:
            self._engine.close()

    def _reading(self, read: Callable[[Engine], _Result]) -> _Result:
        if os.getpid() != self._pid:
            # A fork may have copied the lock locked; the engine refuses the child.
            return read(self._engine)
        with self._lock:
            while self._state is not None:
                try:
                    result = read(self._engine)
                except (CorruptStoreError, StoreIOError):
                    # A page that changed under the read; anything else is as it says.
                    if _at_rest(self._path) == self._state:
                        raise
                else:
                    if _at_rest(self._path) == self._state:
                        return result
                # Whatever fails here, the next call tries again.
                state = _at_rest_for_a_tick(self._path)
                engine = self._connect(state is not None)
                self._engine.close()
                self._state, self._engine = state, engine
        return read(self._engine)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def _at_rest(path: str) -> _State:
    """What tells one state of a database at rest from another; None while in use."""
    if os.path.exists(f"{path}-wal"):
        return None
    try:
        status = os.stat(path)
    except OSError as error:
        raise StoreIOError(f"{path}: {error.strerror}; check the path") from error
    return status.st_ino, status.st_size, status.st_mtime_ns


def _at_rest_for_a_tick(path: str) -> _State:
    """The same for a file that is about to be opened; waits until its time is old enough."""
    state = _at_rest(path)
    for _ in range(_MOST_TICKS):
        if state is None or abs(time.time_ns() - state[2]) >= _TICK_SECONDS * 1e9:
            break
        time.sleep(_TICK_SECONDS)
        state = _at_rest(path)
    return state
