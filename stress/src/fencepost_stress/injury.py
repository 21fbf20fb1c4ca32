"""What a worker does to itself: ending at a named point, on request, and forking."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import fencepost
from fencepost.engine.python import PythonEngine
from fencepost.errors import ForkedStoreError
from fencepost.store import engine_of

from .faults import POINTS, Fault
from .history import Writer
from .live import Cell
from .session import BETWEEN

EXIT_ON_REQUEST = 4
SUCCESSION_MS = 1500
"""A fork that fell due so long ago is left to the successor of a worker that was killed."""

_CHILD_SECONDS = 5
_MOST_PAGES = 1 << 30
_REFUSED, _NOT_REFUSED = 0, 1


class Points:
    """The named points, and the end on request.

    Where a point is armed, the process ends there by SIGKILL. SIGTERM is an exception
    wherever the process is, so that the store gets closed; where an exception has no way
    out (a callback of the native engine), the next call makes up for it.
    """

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._asked = False
        signal.signal(signal.SIGTERM, self._end)

    def __call__(self, point: str) -> None:
        if point == BETWEEN:
            if self._asked:
                sys.exit(EXIT_ON_REQUEST)
            return
        armed = self._cell.armed
        if armed and POINTS[armed - 1] == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        # Once: a second one must not interrupt the closing.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._asked = True
        sys.exit(EXIT_ON_REQUEST)


class Forks:
    """Forks with the store open when the plan says so; the child must be refused."""

    def __init__(self, faults: Sequence[Fault], slot: int, store: fencepost.Store) -> None:
        self._store = store
        self._due = [fault.at_ms for fault in faults if fault.kind == "fork" and fault.slot == slot]

    def skip(self, elapsed_ms: float) -> None:
        """Leave out what was due before: to an earlier incarnation."""
        self._due = [at_ms for at_ms in self._due if at_ms > elapsed_ms]

    def poll(self, elapsed_ms: float, writer: Writer) -> None:
        if self._due and self._due[0] <= elapsed_ms:
            self._due.pop(0)
            writer.note("fork", refused=self._fork())

    def _fork(self) -> bool:
        """Whether the child was refused, and ended."""
        child = os.fork()
        if child == 0:
            self._be_the_child()
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status) == _REFUSED

    def _be_the_child(self) -> None:
        # Nothing of the parent may run here: no handler, no `finally`, no exit function.
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.alarm(_CHILD_SECONDS)
            os._exit(self._misbehave())
        finally:
            os._exit(_NOT_REFUSED)

    def _misbehave(self) -> int:
        try:
            self._store.runs.list(limit=1)
        except ForkedStoreError:
            # Closing what was inherited must not touch the parent's file either.
            self._store.close()
            return _REFUSED
        return _NOT_REFUSED


class Pages:
    """A limit on the database's size, where there is no small disk: the store is full at once.

    It belongs to a connection, and only the Python engine's can be reached.
    """

    def __init__(self, faults: Sequence[Fault], slot: int, store: fencepost.Store) -> None:
        due = [fault for fault in faults if fault.kind == "full" and fault.slot == slot]
        self._engine = _python_engine(store)
        self._due = due if self._engine is not None else []
        self._until = 0.0

    def poll(self, elapsed_ms: float, writer: Writer) -> None:
        if self._until and elapsed_ms >= self._until:
            self.relent()
        if self._due and self._due[0].at_ms <= elapsed_ms:
            fault = self._due.pop(0)
            self._until = elapsed_ms + fault.duration_ms
            self._limit("(SELECT page_count FROM pragma_page_count)")
            writer.note("full", pages=True)

    def relent(self) -> None:
        """There is room again."""
        if self._until:
            self._until = 0.0
            self._limit(str(_MOST_PAGES))

    def _limit(self, pages: str) -> None:
        if self._engine is None:
            return
        connection = self._engine._connection()
        (count,) = connection.execute(f"SELECT {pages}").fetchone()
        connection.execute(f"PRAGMA max_page_count = {count}").fetchall()


def _python_engine(store: fencepost.Store) -> PythonEngine | None:
    """The Python engine, below what wakes the waiters; None where the store has another."""
    engine: Any = engine_of(store)
    while engine is not None and not isinstance(engine, PythonEngine):
        engine = getattr(engine, "_engine", None)
    return engine
