"""What a mutant is: the Python engine with one small change that stands for a real bug."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import fencepost
from fencepost.engine import python
from fencepost.engine.protocol import Value
from fencepost.engine.python import PythonEngine

from ..plan import FaultKind

SOMETIMES = "sometimes"
"""The killer of stores that do nothing: something that must happen never did."""

_BETWEEN_SECONDS = 0.002


class Mutant(PythonEngine):
    """Base of the mutants.

    Attributes:
        name: what the command line calls it.
        bug: the bug that it stands for.
        killers: the properties of which at least one must object.
        faults: those without which the bug does not show.
        workload: the one that comes to the bug soonest.
        processes: how many the bug takes to show, where that is more than usual.
        watcher: told each time that the broken line is reached.
    """

    name: ClassVar[str]
    bug: ClassVar[str]
    killers: ClassVar[tuple[str, ...]]
    faults: ClassVar[tuple[FaultKind, ...]] = ()
    workload: ClassVar[str] = "mixed"
    processes: ClassVar[int] = 0
    watcher: ClassVar[Callable[[], None] | None] = None

    @classmethod
    def reached(cls) -> None:
        """To be called where the broken line is."""
        if cls.watcher is not None:
            cls.watcher()

    @classmethod
    def let_others_in(cls) -> None:
        """To be called between two transactions that should be one.

        A busy machine stops a process there now and then. Here each one is, so that whether
        somebody comes between does not depend on the machine.
        """
        time.sleep(_BETWEEN_SECONDS)

    @classmethod
    def prepare(cls) -> None:
        """Break what is not the engine's, in this process, before a store is opened."""

    def run_sql(self, sql: str, params: Mapping[str, Any]) -> int:
        """Run a statement that the store does not have; gives the number of changed rows."""
        return self._connection().execute(sql, params).rowcount

    def statement(self, name: str, params: Mapping[str, Value]) -> Mapping[str, Value]:  # noqa: ARG002
        """The values with which a named statement is really run."""
        return params

    def _execute(self, name: str, params: Mapping[str, Value] | None = None) -> sqlite3.Cursor:
        return super()._execute(name, self.statement(name, params or {}))


def open_as_store(
    mutant: type[Mutant],
    path: Path,
    clock: Callable[[], int],
    reached: Callable[[], None] | None,
    options: Mapping[str, Any],
) -> fencepost.Store:
    """A store over a mutant: `fencepost.open`, with the mutant in the engine's place."""
    mutant.watcher = reached
    mutant.prepare()
    correct = python.PythonEngine
    python.PythonEngine = mutant  # type: ignore[misc]
    try:
        return fencepost.open(path, engine="python", clock=clock, **options)
    finally:
        python.PythonEngine = correct  # type: ignore[misc]
