"""The results: JSON for machines, tables for readers, and the machine they come from."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .harness import Outcome, Plan
from .stats import Figure

Result = dict[str, Any]
RESULTS = "results.json"
# What rows carry for the plots and for whoever looks closer.
HIDDEN = ("histogram", "detail")


def result(name: str, title: str, plan: Plan, outcome: Outcome, load: float) -> Result:
    """What is kept of one scenario."""
    return {
        "name": name,
        "title": title,
        "quick": plan.quick,
        "rounds": plan.rounds,
        "seconds": plan.seconds,
        "load_before": load,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
        "rows": [{key: _plain(value) for key, value in row.items()} for row in outcome.rows],
        "goals": [asdict(goal) for goal in outcome.goals],
        "notes": outcome.notes,
    }


def _plain(value: Any) -> Any:
    return asdict(value) if isinstance(value, Figure) else value


def machine() -> dict[str, Any]:
    """What has a say in the figures."""
    import fencepost

    info = fencepost.engine_info()
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sqlite of Python": sqlite3.sqlite_version,
        "fencepost": fencepost.__version__,
        "engines": str(info),
    }


def save(folder: Path, results: Iterable[Result]) -> dict[str, Result]:
    """Put results beside those of earlier runs in the same folder; gives all of them."""
    kept = load(folder)
    kept.update({found["name"]: found for found in results})
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(kept, indent=1, allow_nan=False)
    (folder / RESULTS).write_text(text + "\n", "utf-8")
    return kept


def load(folder: Path) -> dict[str, Result]:
    """The results in a folder, by scenario."""
    path = folder / RESULTS
    kept: dict[str, Result] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return kept


def tables(found: Result) -> str:
    """The rows of one scenario as Markdown tables: one for each set of columns."""
    parts = [
        f"Measured {found['at']} with {found['rounds']} rounds of {found['seconds']:g} s, "
        f"load average before {found['load_before']:.2f}"
        f"{'; a quick run, whose figures say little' if found['quick'] else ''}."
    ]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in found["rows"]:
        shown = {key: value for key, value in row.items() if key not in HIDDEN}
        groups.setdefault(tuple(shown), []).append(shown)
    parts += [_table(columns, rows) for columns, rows in groups.items()]
    if found["goals"]:
        parts.append(_goals(found["goals"]))
    parts += [f"- {note}" for note in found["notes"]]
    return "\n\n".join(parts)


def _table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [list(columns), ["---"] * len(columns)]
    cells += [[_cell(row[column]) for column in columns] for row in rows]
    return _aligned(cells)


def _goals(goals: Sequence[Mapping[str, Any]]) -> str:
    missed = [goal for goal in goals if not goal["met"]]
    text = f"{len(goals) - len(missed)} of {len(goals)} goals met."
    if not missed:
        return text
    cells = [["not met", "goal", "measured"], ["---"] * 3]
    cells += [[goal["what"], goal["limit"], _number(goal["value"])] for goal in missed]
    return f"{text}\n\n{_aligned(cells)}"


def _aligned(cells: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[at]) for line in cells) for at in range(len(cells[0]))]
    return "\n".join(
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in cells
    )


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return f"{_number(value['median'])} ({_number(value['low'])}-{_number(value['high'])})"
    return _number(value) if isinstance(value, float) else str(value)


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


PICTURES = {
    "scale": ("rows", "claims a second against parked runs"),
    "contention": ("processes", "throughput, fairness and longest wait against processes"),
    "wakeup": ("wakeup", "wake-up latency"),
    "peers": ("peers", "other queues"),
}
"""A scenario's plot, and what it shows."""


def fill(document: Path, results: Mapping[str, Result]) -> None:
    """Replace what stands between the marks of each scenario in a document."""
    text = document.read_text("utf-8")
    for name, found in results.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        if begin in text and end in text:
            before, _, rest = text.partition(begin)
            shown = f"{_picture(name, document.parent)}{tables(found)}"
            text = f"{before}{begin}\n{shown}\n{end}{rest.partition(end)[2]}"
    document.write_text(text, "utf-8")


def _picture(scenario: str, folder: Path) -> str:
    plot, shows = PICTURES.get(scenario, ("", ""))
    link = f"plots/{plot}.png"
    return f"![{shows}]({link})\n\n" if plot and (folder / link).is_file() else ""
