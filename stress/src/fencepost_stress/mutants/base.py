"""What a mutant is: the Python engine with one small change that stands for a real bug."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import fencepost
from fencepost import layout
from fencepost.engine.python import PythonEngine


class Mutant(PythonEngine):
    """Base of the mutants.

    Attributes:
        name: what the command line calls it.
        bug: the bug that it stands for.
        killers: the properties of which at least one must object.
        reached: to be called where the broken line is.
    """

    name: ClassVar[str]
    bug: ClassVar[str]
    killers: ClassVar[tuple[str, ...]]
    reached: Callable[[], None]

    def run_sql(self, sql: str, params: Mapping[str, Any]) -> int:
        """Run a statement that the store does not have; gives the number of changed rows."""
        return self._connection().execute(sql, params).rowcount


def _unwatched() -> None:
    """Nobody counts how often the broken line is reached."""


def open_as_store(
    mutant: type[Mutant],
    path: Path,
    clock: Callable[[], int],
    reached: Callable[[], None] | None,
) -> fencepost.Store:
    """A store over a mutant, opened as `fencepost.open` opens one."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    engine = mutant(
        str(path), read_only=False, synchronous="full", busy_timeout_ms=5000, clock=clock
    )
    engine.reached = _unwatched if reached is None else reached
    layout.prepare(engine, str(path), read_only=False)
    return fencepost.Store(
        engine, path=str(path), name="python", read_only=False, on_close=lambda: None
    )
