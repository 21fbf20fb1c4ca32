"""From the evidence of a run on somebody's queue to its verdict, running nothing."""

from __future__ import annotations

import platform
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from .. import ending as endings, history, plan as plans
from ..blackbox import CHECKERS
from ..blackbox.calls import Calls, deaths, join
from ..blackbox.terms import Evidence, Terms
from ..checkers.base import Finding
from ..history import TornHistoryError
from ..judging import judged
from ..operations import Event, Seen
from ..plan import Plan
from ..stillness import STILL
from ..verdict import RunVerdict, property_of, run_verdict, sometimes_of
from .adapter import Item
from .capabilities import MIXED, WAIT, Capabilities
from .setup import Setup, load_setup

_OF_WAITING = frozenset({"F1", "S1", "Q1"})
"""What the workload that only hands work over exercises."""
_NOT_CLAIMED = "it does not promise that"


def check(directory: Path) -> RunVerdict:
    """Decide a run from its evidence."""
    began = time.perf_counter()
    plan = plans.load(directory / "plan.json")
    setup = load_setup(directory)
    ending = endings.load(directory)
    problems = list(ending.problems)
    try:
        calls, killed = _read(directory)
        items = msgspec.json.decode((directory / "dump.json").read_bytes(), type=list[Item])
        still = _still(directory)
    except (TornHistoryError, FileNotFoundError) as error:
        problems.append(f"the evidence can't be read to its end: {error}")
        calls, killed, items, still = Calls(), {}, [], []
    evidence = Evidence(calls, _terms(setup), items, still)
    budget = plan.checker_budget_seconds
    properties = tuple(
        property_of(_promised(finding, setup.capabilities), seconds)
        for checker in [make() for make in CHECKERS]
        for finding, seconds in judged(checker, evidence, budget)
        if plan.workload != WAIT or finding.id in _OF_WAITING
    )
    counts = _counts(calls)
    counts["worker killed"] = len(killed)
    sometimes = sometimes_of(counts, _required(plan, setup.capabilities))
    problems.extend(_never_answered(calls))
    if not setup.capabilities.promises:
        problems.append("it promises nothing that could be decided")
    return run_verdict(
        plan,
        ending,
        directory,
        properties=properties,
        sometimes=sometimes,
        problems=problems,
        counts={"calls": calls.count, "commits": 0},
        faults=ending.faults,
        repeat=repeat_command(plan, setup),
        environment=_environment(setup),
        began=began,
    )


def events(directory: Path) -> Iterator[Event]:
    """All calls in the order of their invocation, as the report tells them."""
    calls, _ = _read(directory)
    ops = [call.op for of_run in calls.by_run.values() for call in of_run]
    ops += [call.op for call in (*calls.empty, *calls.ghosts)]
    return (Seen(op) for op in sorted(ops, key=lambda op: op.invoked))


def _read(directory: Path) -> tuple[Calls, dict[str, int]]:
    folder = directory / "history"
    killed = deaths(history.read(folder / "nemesis.jsonl"))
    paths = sorted(folder.glob("worker-*.jsonl"))
    return join((history.read(path) for path in paths), killed), killed


def _still(directory: Path) -> list[tuple[int, int]]:
    """When the machine let not even the harness work."""
    notes = history.notes(directory / "history" / "nemesis.jsonl", STILL)
    return [(int(note.facts["since"]), int(note.facts["until"])) for note in notes]


def _terms(setup: Setup) -> Terms:
    return Terms(
        lease=setup.capabilities.lease,
        lease_ns=setup.lease_ms * 1_000_000,
        error_ns=setup.capabilities.clock_error_ms * 1_000_000,
    )


def _promised(finding: Finding, capabilities: Capabilities) -> Finding:
    """The finding as it counts: what the queue does not promise is not held against it."""
    if finding.id in capabilities.promises:
        finding.details["promised"] = capabilities.promises[finding.id]
        return finding
    why = capabilities.excused.get(finding.id, _NOT_CLAIMED)
    seen = finding.violation_count
    finding.details["seen"] = seen
    finding.details["seen_like"] = [one.describe() for one in finding.violations[:3]]
    often = f"; seen {seen:,} times" if seen else ""
    return Finding(
        finding.id,
        finding.promise,
        "not claimed",
        finding.exercised,
        reason=f"{why}{often}",
        details=finding.details,
    )


def _counts(calls: Calls) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for of_run in calls.by_run.values():
        taken = False
        for call in of_run:
            if call.name == "claim" and not call.unknown:
                counts["claimed"] += 1
                counts["claimed again"] += taken
                counts["claimed after a wait"] += bool(call.op.args.get("wait_ms"))
                taken = True
            elif call.name == "enqueue" and call.op.status == "ok":
                counts["enqueued"] += 1
            counts["refused: " + call.refused] += bool(call.refused)
            counts["outcome unknown"] += call.unknown
            counts["claim refused as lost"] += call.result is False
    counts["outcome unknown"] += len(calls.ghosts)
    counts["nothing to claim"] += len(calls.empty)
    return {name: number for name, number in sorted(counts.items()) if number}


def _never_answered(calls: Calls) -> Iterator[str]:
    """What never came to an end that says how it ended, and the first error that it gave."""
    for name in ("enqueue", "claim"):
        made = [call for call in calls if call.name == name]
        if not made or (name == "claim" and calls.empty):
            continue
        errors = [call for call in made if call.said]
        if errors and all(call.unknown for call in made):
            first = min(errors, key=lambda call: call.low)
            yield (
                f"{name}: nobody knows how any of its {len(made):,} calls ended; "
                f"the first was told {first.said}"
            )


def _required(plan: Plan, capabilities: Capabilities) -> tuple[str, ...]:
    """What must have happened, or the run has proven little."""
    required = ["enqueued", "claimed"]
    if plan.workload == WAIT:
        return (*required, "claimed after a wait")
    required.append("nothing to claim")
    if capabilities.lease == "expires":
        required.append("claimed again")
    if "kill" in plan.faults_asked:
        required.append("worker killed")
    if "parents" in capabilities.operations:
        required.append("refused: parent_taken")
    return tuple(required)


def repeat_command(plan: Plan, setup: Setup) -> str:
    """The command that carries out the same plan."""
    system = setup.system
    target = f"--command '{system.command}'" if system.command else f"--sut {system.adapter}"
    faults = ",".join(plan.faults_asked) or "none"
    workload = "" if plan.workload == MIXED else f"--workload {plan.workload} "
    return (
        f"fencepost stress {target} {workload}--processes {plan.processes} "
        f"--seconds {plan.seconds:g} --faults {faults} --seed {plan.seed}"
    )


def _environment(setup: Setup) -> dict[str, object]:
    capabilities = setup.capabilities
    return {
        "system": f"{capabilities.name} {capabilities.version}".strip(),
        "workers": capabilities.workers,
        "sqlite": {"python": sqlite3.sqlite_version},
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
