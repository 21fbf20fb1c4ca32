"""The mutants' matrix: each deliberately broken store, and what caught it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from rich.console import Console
from rich.table import Table

from .check import check
from .mutants import MUTANTS
from .plan import Plan
from .run import Watcher, execute
from .sut import MUTANT

SCHEMA = "fencepost-stress/mutants/1"
HEAL_PATIENCE_MS = 1500
"""Broken stores strand work; nobody needs to wait for it as long as in a real run."""

Fate: TypeAlias = Literal["killed", "survived", "not reached"]


class Row(msgspec.Struct, frozen=True):
    """One mutant's fate."""

    mutant: str
    bug: str
    fate: Fate
    expected: tuple[str, ...]
    killed_by: tuple[str, ...]
    reached: int
    calls: int
    seconds: float
    directory: str


class Matrix(msgspec.Struct, frozen=True):
    schema: str
    rows: tuple[Row, ...]

    @property
    def all_killed(self) -> bool:
        return all(row.fate == "killed" for row in self.rows)


def try_mutant(name: str, make: Callable[[str], Plan], directory: Path, watch: Watcher) -> Row:
    """Run a mutant by the plan that `make` gives for its engine, and see whether it is caught.

    It counts as killed only when a property objects that its bug should break.
    """
    mutant = MUTANTS[name]
    plan = msgspec.structs.replace(make(f"{MUTANT}{name}"), heal_patience_ms=HEAL_PATIENCE_MS)
    ending = execute(plan, directory, watch)
    verdict = check(directory)
    killed_by = tuple(one.id for one in verdict.properties if one.verdict == "invalid")
    fate: Fate = "survived"
    if not ending.reached:
        fate = "not reached"
    elif set(killed_by) & set(mutant.killers):
        fate = "killed"
    return Row(
        mutant=name,
        bug=mutant.bug,
        fate=fate,
        expected=mutant.killers,
        killed_by=killed_by,
        reached=ending.reached,
        calls=verdict.counts["calls"],
        seconds=round(verdict.run_seconds + verdict.check_seconds, 1),
        directory=str(directory),
    )


def show(console: Console, matrix: Matrix) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("mutant", "fate", "killed by", "expected"):
        table.add_column(column, no_wrap=True)
    for column in ("reached", "calls", "seconds"):
        table.add_column(column, justify="right")
    for row in matrix.rows:
        style = "green" if row.fate == "killed" else "bold red"
        table.add_row(
            row.mutant,
            f"[{style}]{row.fate}[/]",
            " ".join(row.killed_by) or "-",
            " or ".join(row.expected),
            f"{row.reached:,}",
            f"{row.calls:,}",
            f"{row.seconds:.1f}",
        )
    console.print(table)
