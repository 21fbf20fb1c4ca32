"""The systems under test: how a worker gets a store for an engine's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fencepost

from .clock import Clock
from .mutants import MUTANTS, open_mutant

ENGINES = ("native", "python", "mixed")
MUTANT = "mutant:"


class UnknownEngineError(ValueError):
    """No system under test has this name."""


def engine_of(engine: str, slot: int) -> str:
    """The engine of one process: `mixed` alternates, so that both meet on one file."""
    if engine == "mixed":
        return ("native", "python")[slot % 2]
    if engine in ENGINES:
        return engine
    if engine.startswith(MUTANT) and engine.removeprefix(MUTANT) in MUTANTS:
        return engine
    raise UnknownEngineError(f"no engine {engine!r}; there are {', '.join(ENGINES)} and mutants")


def open_store(
    engine: str, path: Path, clock: Clock, reached: Callable[[], None] | None = None
) -> fencepost.Store:
    """A store whose every reading of the time goes through `clock`.

    `reached` is told each time that a mutant comes to its broken line.
    """
    if engine.startswith(MUTANT):
        return open_mutant(engine.removeprefix(MUTANT), path, clock, reached)
    return fencepost.open(path, engine=engine, clock=clock)
