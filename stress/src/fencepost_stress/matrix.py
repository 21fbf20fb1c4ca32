"""The mutants' matrix: each deliberately broken store, and what caught it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from rich.console import Console
from rich.table import Table

from .check import check
from .mutants import MUTANTS, SOMETIMES
from .plan import Plan
from .run import Watcher, execute
from .sut import MUTANT

SCHEMA = "fencepost-stress/mutants/1"
ROUNDS = 5
PATIENCE_MS = 1500
"""Broken stores strand work; nobody needs to wait for it as long as in a real run."""

Fate: TypeAlias = Literal["killed", "survived", "not reached"]


class Row(msgspec.Struct, frozen=True):
    """One mutant's fate."""

    mutant: str
    bug: str
    fate: Fate
    expected: tuple[str, ...]
    killed_by: tuple[str, ...] = ()
    reached: int = 0
    calls: int = 0
    seconds: float = 0.0
    directory: str = ""


class Matrix(msgspec.Struct, frozen=True):
    schema: str
    rows: tuple[Row, ...]

    @property
    def all_killed(self) -> bool:
        return all(row.fate == "killed" for row in self.rows)


def try_mutant(name: str, make: Callable[[str, int], Plan], directory: Path, watch: Watcher) -> Row:
    """Run a mutant, in rounds with other seeds, until it is caught or no round is left.

    `make` gives the plan for an engine and a round. A mutant counts as killed only when
    a property objects that its bug should break.
    """
    mutant = MUTANTS[name]
    row = Row(name, mutant.bug, "not reached", mutant.killers)
    for number in range(ROUNDS):
        place = directory / f"round-{number + 1}"
        plan = make(f"{MUTANT}{name}", number)
        ending = execute(msgspec.structs.replace(plan, heal_patience_ms=PATIENCE_MS), place, watch)
        verdict = check(place)
        killed_by = tuple(one.id for one in verdict.properties if one.verdict == "invalid")
        if any(one.required and not one.count for one in verdict.sometimes):
            killed_by += (SOMETIMES,)
        reached = row.reached + ending.reached
        fate: Fate = "survived" if reached else "not reached"
        if reached and set(killed_by) & set(mutant.killers):
            fate = "killed"
        row = msgspec.structs.replace(
            row,
            fate=fate,
            killed_by=killed_by,
            reached=reached,
            calls=row.calls + verdict.counts["calls"],
            seconds=round(row.seconds + verdict.run_seconds + verdict.check_seconds, 1),
            directory=str(place),
        )
        if fate == "killed":
            break
    return row


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
