"""What a mutant is: the Python engine with one small change that stands for a real bug."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import fencepost
from fencepost.engine import python
from fencepost.engine.python import PythonEngine


class Mutant(PythonEngine):
    """Base of the mutants.

    Attributes:
        name: what the command line calls it.
        bug: the bug that it stands for.
        killers: the properties of which at least one must object.
        watcher: told each time that the broken line is reached.
    """

    name: ClassVar[str]
    bug: ClassVar[str]
    killers: ClassVar[tuple[str, ...]]
    watcher: ClassVar[Callable[[], None] | None] = None

    @classmethod
    def reached(cls) -> None:
        """To be called where the broken line is."""
        if cls.watcher is not None:
            cls.watcher()

    def run_sql(self, sql: str, params: Mapping[str, Any]) -> int:
        """Run a statement that the store does not have; gives the number of changed rows."""
        return self._connection().execute(sql, params).rowcount


def open_as_store(
    mutant: type[Mutant],
    path: Path,
    clock: Callable[[], int],
    reached: Callable[[], None] | None,
    synchronous: str,
) -> fencepost.Store:
    """A store over a mutant: `fencepost.open`, with the mutant in the engine's place."""
    mutant.watcher = reached
    correct = python.PythonEngine
    python.PythonEngine = mutant  # type: ignore[misc]
    try:
        return fencepost.open(path, engine="python", clock=clock, synchronous=synchronous)
    finally:
        python.PythonEngine = correct  # type: ignore[misc]
