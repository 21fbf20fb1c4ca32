"""From evidence to verdict, offline: reads a run's directory and runs nothing.

Every checker is fed in batches whose time is taken, so that one that crashes or takes
too long makes its own property unknown and no other.
"""

from __future__ import annotations

import gc
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import ending as endings, environment, history, plan as plans, timeline, witness
from .checkers import CHECKERS
from .checkers.base import NEVER_EXERCISED, End, Finding, Life, Violation, batches
from .ending import Ending
from .history import NOT_OPENED, Begin, Record, TornHistoryError
from .judging import Judge
from .operations import Event
from .plan import Plan
from .rows import TABLES
from .run import DATABASE
from .sometimes import Sometimes
from .verdict import (
    Property,
    RunVerdict,
    property_of,
    repeat_command,
    run_verdict,
    sometimes_of,
)
from .witness import WitnessError
from .workloads import COMMON, CUSTOM, PRUNED, PRUNES, ROWS_PRUNED, WORKLOADS

_NEMESIS = "nemesis"


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Look for garbage in cycles seldom: what is read makes none, and there is much of it."""
    before = gc.get_threshold()
    gc.set_threshold(500_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def check(directory: Path) -> RunVerdict:
    """Decide a run from its evidence."""
    began = time.perf_counter()
    plan = plans.load(directory / "plan.json")
    ending = endings.load(directory)
    database = directory / DATABASE
    problems = list(ending.problems)
    torn = ""
    wanted = _wanted(plan)
    judges = [Judge(make, plan.checker_budget_seconds) for make in CHECKERS if make.id in wanted]
    sometimes = Sometimes()
    try:
        sometimes.faults(history.read(directory / "history" / f"{_NEMESIS}.jsonl"))
        with _seldom_collected():
            for batch in batches(events(directory)):
                for judge in judges:
                    judge.feed(batch)
                sometimes.feed(batch)
    except (TornHistoryError, WitnessError, sqlite3.DatabaseError) as error:
        torn = f"the evidence can't be read to its end: {error}"
        problems.append(torn)
    end = _end(plan, ending, database, problems, sometimes)
    properties = tuple(
        property_of(_added(ending, _excused(plan, finding)), judge.seconds)
        for judge in judges
        for finding in [judge.cut_short(torn) if torn else judge.finding(end)]
    )
    counts = sometimes.finish(plan.lease_ms)
    if plan.is_pruned:
        counts[ROWS_PRUNED] = _pruned(directory)
    counts |= {f"fault: {kind}": number for kind, number in ending.faults.items()}
    missing = {f"fault: {kind}" for kind in ending.impossible}
    reached = sometimes_of(counts, tuple(name for name in plan.required if name not in missing))
    return run_verdict(
        plan,
        ending,
        directory,
        properties=properties,
        sometimes=reached,
        problems=problems,
        counts=_counts(properties, counts),
        faults=ending.faults | {f"{kind} (not possible here)": 0 for kind in ending.impossible},
        repeat=repeat_command(plan),
        environment=_environment(directory),
        began=began,
    )


def _wanted(plan: Plan) -> set[str]:
    """The properties that a workload exercises; for somebody's own code, what anybody's may."""
    if plan.workload != CUSTOM:
        return {*COMMON, *WORKLOADS[plan.workload].properties}
    return {*COMMON, *WORKLOADS["mixed"].properties}


def _added(ending: Ending, finding: Finding) -> Finding:
    """The finding, with what was seen to go wrong beside the calls."""
    for at_fault, message in ending.broken:
        if at_fault == finding.id:
            finding.verdict, finding.reason = "invalid", message
            finding.violations.append(Violation(message))
            finding.violation_count += 1
    return finding


def _excused(plan: Plan, finding: Finding) -> Finding:
    """Somebody's own code need not exercise everything."""
    if plan.workload == CUSTOM and finding.reason == NEVER_EXERCISED:
        finding.verdict = "not claimed"
    return finding


def events(directory: Path) -> Iterator[Event]:
    """What happened in a run, in commit order."""
    database = directory / DATABASE
    paths = sorted((directory / "history").glob("worker-*.jsonl"))
    histories: list[tuple[str, Iterable[Record]]] = [
        (path.stem, history.read(path)) for path in paths
    ]
    starts = {path.stem: history.begin_of(path) for path in paths}
    return timeline.join(histories, witness.read(database), starts)


def _end(
    plan: Plan, ending: Ending, database: Path, problems: list[str], sometimes: Sometimes
) -> End:
    try:
        broken, foreign = witness.integrity(database)
    except sqlite3.DatabaseError as error:
        broken, foreign = [f"the database can't be read: {error}"], []
    tables = {}
    if not broken:
        tables = {name: witness.Table(database, name) for name in TABLES}
    else:
        problems.append("the tables at the end were not read: the database is damaged")
    return End(
        tables=tables,
        heal_started=ending.heal_started,
        integrity=broken,
        foreign_keys=foreign,
        wal_peak_bytes=ending.wal_peak_bytes,
        wal_limit_bytes=plan.wal_limit_bytes,
        wal_samples=ending.wal_samples,
        busy_timeout_ms=plan.busy_timeout_ms,
        clock_error_ms=plan.clock_error_ms,
        pruned=plan.is_pruned,
        pauses=sometimes.paused,
        holds=sometimes.held,
        still=sometimes.still,
        lives=dict(_lives(database.parent, sometimes)),
        not_opened=tuple(_not_opened(database.parent)),
        # Somebody's own code need not give all its workers the same to do.
        even=plan.workload != CUSTOM,
        prunings=dict(_prunings(database.parent)) if plan.is_pruned else {},
        taken=tuple(witness.pruned(database)) if plan.is_pruned else (),
    )


def _pruned(directory: Path) -> int:
    """How many rows the workers say that they pruned."""
    return sum(
        int(note.facts["runs"]) + int(note.facts["events"])
        for path in (directory / "history").glob("worker-*.jsonl")
        for note in history.notes(path, PRUNED)
    )


def _prunings(directory: Path) -> Iterator[tuple[str, tuple[str, int]]]:
    """What the workers say that they were about to prune."""
    for path in sorted((directory / "history").glob("worker-*.jsonl")):
        for note in history.notes(path, PRUNES):
            facts = note.facts
            yield str(facts["run"]), (str(facts["done_before"]), int(facts["limit"]))


def _lives(directory: Path, sometimes: Sometimes) -> Iterator[tuple[str, Life]]:
    """The lives of the processes whose end the harness saw."""
    if sometimes.load is None:
        return
    load_began, load_ended = sometimes.load
    for path in sorted((directory / "history").glob("worker-*.jsonl")):
        gone, began = sometimes.gone.get(path.stem), history.begin_of(path)
        # Some are struck before they have recorded anything.
        if gone is not None and began:
            yield path.stem, Life(max(began, load_began), min(gone, load_ended), gone)


def _not_opened(directory: Path) -> Iterator[tuple[str, int, int]]:
    """The processes that were told busy when they opened the store, and how long they waited."""
    for path in sorted((directory / "history").glob("worker-*.jsonl")):
        for note in history.notes(path, NOT_OPENED):
            if note.facts["code"] == "busy":
                yield path.stem, int(note.facts["since"]), note.mono


def _counts(properties: Iterable[Property], counts: dict[str, int]) -> dict[str, int]:
    commits = next(one.details.get("commits", 0) for one in properties if one.id == "D1")
    return {"calls": counts.get("calls", 0), "commits": commits}


def _environment(directory: Path) -> dict[str, Any]:
    """Where the run took place, and with which libraries."""
    engines: dict[str, str | None] = {}
    for path in sorted((directory / "history").glob("worker-*.jsonl")):
        first = next(iter(history.read(path)), None)
        if isinstance(first, Begin):
            name = str(first.facts["engine"])
            library = "native_sqlite" if name == "native" else "python_sqlite"
            engines[name] = first.facts["libraries"][library]
    modes = {
        "journal_mode": witness.journal_mode(directory / DATABASE),
        "synchronous": plans.load(directory / "plan.json").synchronous,
    }
    return {"sqlite": engines, **modes, **environment.read(directory)}
