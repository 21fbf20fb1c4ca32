"""What a person reads at the end: short tables, and the window of each failure."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .checkers.base import Verdict
from .verdict import Property, RunVerdict, Verdicts

_STYLES: dict[Verdict, str] = {
    "valid": "green",
    "invalid": "bold red",
    "unknown": "yellow",
    "not claimed": "dim",
}
_SHOWN_VIOLATIONS = 3
_WIDTH = 400


def show(console: Console, verdicts: Verdicts) -> None:
    """The table of properties by engine, what failed and how to see it again."""
    console.print(_table(verdicts))
    for run in verdicts.runs:
        _show_run(console, run)
    console.print(Text.assemble("verdict: ", _styled(verdicts.verdict)))


def _styled(verdict: Verdict) -> tuple[str, str]:
    return verdict, _STYLES[verdict]


def _table(verdicts: Verdicts) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("promise")
    for run in verdicts.runs:
        table.add_column(run.engine, justify="right", no_wrap=True)
    for number, one in enumerate(verdicts.runs[0].properties):
        cells = [_cell(run.properties[number]) for run in verdicts.runs]
        table.add_row(one.id, one.promise, *cells)
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


def _show_run(console: Console, run: RunVerdict) -> None:
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
        console.print(Text.assemble("  ", _styled(run.verdict), f": {reason}"))
    for one in run.properties:
        for violation in one.violations[:_SHOWN_VIOLATIONS]:
            _show_violation(console, one, violation)
        if one.violation_count > _SHOWN_VIOLATIONS:
            console.print(f"  ... {one.violation_count:,} violations of {one.id} in all")
    console.print(f"  evidence: {run.directory}", highlight=False, soft_wrap=True)
    console.print(f"  repeat:   {run.repeat}", highlight=False, soft_wrap=True)


def _show_violation(console: Console, one: Property, violation: dict[str, Any]) -> None:
    _line(console, f"  {one.id} {violation['message']}")
    for call in violation["calls"]:
        _line(console, f"     {call['process']} call {call['call']}: {_call(call)}")
    for commit in violation["commits"]:
        _line(console, f"     commit {commit['seq']} on {commit['table']}: {_moved(commit)}")


def _line(console: Console, text: str) -> None:
    """A line of evidence; verdict.json has it whole."""
    console.print(Text(text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."))


def _call(call: dict[str, Any]) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in call["args"].items())
    outcome = call["code"] if call.get("code") else repr(call.get("result"))
    if call["status"] == "unknown":
        outcome = "outcome unknown"
    when = f" at {call['now_ms']}" if "now_ms" in call else ""
    return f"{call['name']}({arguments}){when} -> {outcome}"


def _moved(commit: dict[str, Any]) -> str:
    before, after = commit["before"], commit["after"]
    if before is None:
        return f"inserted {after}"
    if after is None:
        return f"deleted {before}"
    changed = [
        f"{name}: {before[name]!r} -> {after[name]!r}"
        for name in before
        if before[name] != after[name]
    ]
    return ", ".join(changed) or "nothing changed"
