"""What a person reads at the end: short tables, and the window of each failure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..checkers.base import Verdict
from ..verdict import Property, RunVerdict, Verdicts
from .gather import Gathered
from .prose import prose
from .words import cut
from .write import PAGE

_STYLES: dict[Verdict, str] = {
    "valid": "green",
    "invalid": "bold red",
    "unknown": "yellow",
    "not claimed": "dim",
}
_SHOWN_STORIES = 2


def show(
    console: Console,
    verdicts: Verdicts,
    gathered: Sequence[Gathered] = (),
    folder: Path | None = None,
) -> None:
    """The table of properties by engine, what failed and how to see it again."""
    console.print(_table(verdicts))
    told: Sequence[Gathered | None] = gathered or [None] * len(verdicts.runs)
    for run, more in zip(verdicts.runs, told, strict=True):
        _show_run(console, run, more)
    if gathered and folder is not None:
        console.print(f"report: {folder / PAGE}", highlight=False, soft_wrap=True)
    console.print(Text.assemble("verdict: ", _styled(verdicts.verdict)))


def _styled(verdict: Verdict) -> tuple[str, str]:
    return verdict, _STYLES[verdict]


def _table(verdicts: Verdicts) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("promise")
    for run in verdicts.runs:
        table.add_column(run.engine, justify="right", no_wrap=True)
    promises = {one.id: one.promise for run in verdicts.runs for one in run.properties}
    for key, promise in promises.items():
        found = [{one.id: one for one in run.properties}.get(key) for run in verdicts.runs]
        table.add_row(key, promise, *(_cell(one) if one else Text("-") for one in found))
    table.add_row()
    for name in _required(verdicts):
        counts = [{one.name: one.count for one in run.sometimes} for run in verdicts.runs]
        table.add_row("", f"sometimes: {name}", *(f"{count.get(name, 0):,}" for count in counts))
    return table


def _required(verdicts: Verdicts) -> list[str]:
    names = {one.name for run in verdicts.runs for one in run.sometimes if one.required}
    return sorted(names)


def _cell(one: Property) -> Text:
    if one.verdict == "valid":
        return Text(f"{one.exercised:,}", style=_STYLES["valid"])
    return Text(one.verdict, style=_STYLES[one.verdict])


def _show_run(console: Console, run: RunVerdict, more: Gathered | None) -> None:
    faults = ", ".join(f"{number} {kind}" for kind, number in sorted(run.faults.items()))
    console.print(
        f"{run.engine}: {run.counts['calls']:,} calls, {run.counts['commits']:,} commits, "
        f"{faults or 'no faults'}; "
        f"ran {run.run_seconds:.1f} s, checked in {run.check_seconds:.1f} s",
        highlight=False,
    )
    if run.verdict == "valid":
        return
    for reason in run.reasons:
        told = reason if more is None else more.origin.told(reason)
        console.print(Text.assemble("  ", _styled(run.verdict), f": {cut(told)}"))
    if more is not None and more.stories:
        _show_stories(console, more)
    console.print(f"  evidence: {run.directory}", highlight=False, soft_wrap=True)
    console.print(f"  repeat:   {run.repeat}", highlight=False, soft_wrap=True)


def _show_stories(console: Console, more: Gathered) -> None:
    """The first violations, each with the window of records that shows it."""
    for story in more.stories[:_SHOWN_STORIES]:
        console.print()
        for line in prose(story):
            style = "bold" if line.startswith(">") else ""
            console.print(Text(f"  {line}", style=style), soft_wrap=True)
    console.print()
    if len(more.stories) > _SHOWN_STORIES:
        left = len(more.stories) - _SHOWN_STORIES
        console.print(f"  {left} more are told in the report", highlight=False)


def show_smallest(console: Console, words: Iterable[str], more: Gathered | None) -> None:
    """What came of running a failed plan again and making it smaller."""
    for line in words:
        console.print(line, highlight=False, soft_wrap=True)
    if more is not None and more.stories:
        _show_stories(console, more)
