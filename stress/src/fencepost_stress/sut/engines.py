"""Fencepost's own engines: how a worker gets a store for an engine's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fencepost

from ..clock import Clock

ENGINES = ("native", "python", "mixed")
MUTANT = "mutant:"


def engine_of(engine: str, slot: int) -> str:
    """The engine of one process: `mixed` alternates, so that both meet on one file."""
    return ("native", "python")[slot % 2] if engine == "mixed" else engine


def open_store(
    engine: str,
    path: Path,
    clock: Clock,
    *,
    synchronous: str,
    busy_timeout_ms: int = 5000,
    reached: Callable[[], None] | None = None,
) -> fencepost.Store:
    """A store whose every reading of the time goes through `clock`.

    `reached` is told each time that a mutant comes to its broken line.
    """
    if engine.startswith(MUTANT):
        # Only here: the processes of a real run should not have broken stores in them.
        from ..mutants import open_mutant

        name = engine.removeprefix(MUTANT)
        return open_mutant(
            name,
            path,
            clock,
            reached=reached,
            synchronous=synchronous,
            busy_timeout_ms=busy_timeout_ms,
        )
    return fencepost.open(
        path,
        engine=engine,
        clock=clock,
        synchronous=synchronous,
        busy_timeout_ms=busy_timeout_ms,
    )
