"""The mutants' matrix: each deliberately broken store, and what caught it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import history
from .check import check
from .history import Invoke
from .mutants import MUTANTS, SOMETIMES
from .plan import Plan
from .run import Watcher, execute
from .sut import MUTANT
from .verdict import RunVerdict

SCHEMA = "fencepost-stress/mutants/1"
ROUNDS = 10
PATIENCE_MS = 1500
HEALING_MS = 6000
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
    calls_to_first: int | None = None
    seconds_to_first: float | None = None
    directory: str = ""


class Matrix(msgspec.Struct, frozen=True):
    schema: str
    rows: tuple[Row, ...]
    p95_seconds: float

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
        before = row.calls
        place = directory / f"round-{number + 1}"
        plan = make(f"{MUTANT}{name}", number)
        hasty = {"heal_patience_ms": PATIENCE_MS, "heal_limit_ms": HEALING_MS}
        ending = execute(msgspec.structs.replace(plan, **hasty), place, watch)
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
        row = _with_first(row, verdict, place, before)
        if fate == "killed":
            break
    return row


def _with_first(row: Row, verdict: RunVerdict, place: Path, before: int) -> Row:
    """The row, with how long it took to the first call that a violation shows."""
    shown = [
        int(call["invoked_ns"])
        for one in verdict.properties
        for violation in one.violations
        for call in violation["calls"]
    ]
    if row.calls_to_first is not None or not shown:
        return row
    first = min(shown)
    stamps = [
        record.mono
        for path in (place / "history").glob("worker-*.jsonl")
        for record in history.read(path)
        if isinstance(record, Invoke)
    ]
    return msgspec.structs.replace(
        row,
        calls_to_first=before + sum(stamp <= first for stamp in stamps),
        seconds_to_first=round((first - min(stamps)) / 1e9, 2),
    )


def percentile(values: Sequence[float], share: int = 95) -> float:
    """The least of the values that so many percent of them do not exceed."""
    ordered = sorted(values)
    return ordered[-(-len(ordered) * share // 100) - 1] if ordered else 0.0


def show(console: Console, matrix: Matrix) -> None:
    """The matrix as a table that fits into 80 columns."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("mutant", no_wrap=True)
    table.add_column("killed by", overflow="fold")
    for column in ("reached", "calls", "first", "seconds"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in matrix.rows:
        table.add_row(
            row.mutant,
            _fate(row),
            f"{row.reached:,}",
            f"{row.calls:,}",
            "-" if row.calls_to_first is None else f"{row.calls_to_first:,}",
            f"{row.seconds:.1f}",
        )
    console.print(table)
    console.print(
        "*: expected to object. first: the first call that a violation shows.", highlight=False
    )
    console.print(
        f"{sum(row.fate == 'killed' for row in matrix.rows)} of {len(matrix.rows)} killed; "
        f"95 % of them within {matrix.p95_seconds:.1f} s",
        highlight=False,
    )


def _fate(row: Row) -> Text:
    """Who killed it; where nobody did that should have, that, and who should have."""
    killers = " ".join(f"{id}*" if id in row.expected else id for id in row.killed_by)
    if row.fate == "killed":
        return Text(killers, style="green")
    others = f" (by {killers} only)" if killers else ""
    return Text(f"{row.fate}{others}: {' or '.join(row.expected)} expected", style="bold red")
