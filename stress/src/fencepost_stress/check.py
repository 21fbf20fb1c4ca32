"""From evidence to verdict, offline: reads a run's directory and runs nothing.

Every checker is fed in batches whose time is taken, so that one that crashes or takes
too long makes its own property unknown and no other.
"""

from __future__ import annotations

import gc
import signal
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import environment, history, plan as plans, timeline, witness
from .checkers import CHECKERS
from .checkers.base import NEVER_EXERCISED, Checker, End, Finding, Violation, batches
from .history import Begin, Record, TornHistoryError
from .operations import Event
from .plan import Plan
from .rows import TABLES
from .run import DATABASE, Ending, load_ending
from .sometimes import Sometimes
from .verdict import Property, RunVerdict, decide, property_of, repeat_command, sometimes_of
from .witness import WitnessError
from .workloads import COMMON, CUSTOM, WORKLOADS

_NEMESIS = "nemesis"


class Judge:
    """One checker, its time, and what became of it."""

    def __init__(self, make: Callable[[], Checker], budget_seconds: float) -> None:
        self._checker = make()
        self._budget = budget_seconds
        self._failure = ""
        self.seconds = 0.0

    def feed(self, events: Sequence[Event]) -> None:
        if not self._failure:
            self._run(lambda: self._checker.feed(events))

    def finding(self, end: End) -> Finding:
        found: list[Finding] = []
        if not self._failure:
            self._run(lambda: found.append(self._checker.finish(end)))
        if found and (not self._failure or found[0].verdict == "invalid"):
            return found[0]
        return Finding(self._checker.id, self._checker.promise, "unknown", 0, reason=self._failure)

    def _run(self, work: Callable[[], None]) -> None:
        began = time.thread_time()
        try:
            with _alarm(self._budget - self.seconds):
                work()
        except OutOfBudgetError:
            self._failure = f"the checker ran out of its {self._budget:g} s"
        except Exception:  # noqa: BLE001 - whatever a checker dies of, its property is unknown
            last = traceback.format_exc().strip().splitlines()[-1]
            self._failure = f"the checker crashed: {last}"
        self.seconds += time.thread_time() - began


class OutOfBudgetError(Exception):
    """A checker's time is over."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt the block when its time is over, also inside a loop that never ends.

    Where there is no such timer, or outside the main thread, only the harness's user
    can interrupt it.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(_number: int, _frame: object) -> None:
        raise OutOfBudgetError

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


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
    ending = load_ending(directory)
    database = directory / DATABASE
    problems = list(ending.problems)
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
        problems.append(f"the evidence can't be read to its end: {error}")
    end = _end(plan, ending, database, problems, sometimes)
    properties = tuple(
        property_of(_added(ending, _excused(plan, judge.finding(end))), judge.seconds)
        for judge in judges
    )
    counts = sometimes.finish(plan.lease_ms)
    counts |= {f"fault: {kind}": number for kind, number in ending.faults.items()}
    missing = {f"fault: {kind}" for kind in ending.impossible}
    reached = sometimes_of(counts, tuple(name for name in plan.required if name not in missing))
    verdict, reasons = decide(properties, reached, problems)
    return RunVerdict(
        engine=plan.engine,
        seed=plan.seed,
        profile=plan.profile,
        verdict=verdict,
        reasons=reasons,
        repeat=repeat_command(plan),
        directory=str(directory),
        properties=properties,
        sometimes=reached,
        counts=_counts(properties, counts),
        faults=ending.faults | {f"{kind} (not possible here)": 0 for kind in ending.impossible},
        environment=_environment(directory),
        run_seconds=ending.duration_seconds,
        check_seconds=round(time.perf_counter() - began, 3),
    )


def _wanted(plan: Plan) -> set[str]:
    """The properties that a workload exercises; for somebody's own code, what anybody's may."""
    if plan.workload != CUSTOM:
        return {*COMMON, *WORKLOADS[plan.workload].properties}
    # Its workers need not do equal work, so nobody can say that one starves.
    return {*COMMON, *WORKLOADS["mixed"].properties} - {"L1"}


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
        pauses=sometimes.paused,
        holds=sometimes.held,
    )


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
