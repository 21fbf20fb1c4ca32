"""On a failure: how often does the plan fail, and what is the smallest plan that still does?

Processes race, so a plan that failed once may pass the next time. First the same plan is
run again a few times, which gives the rate. Then parts are taken away, the largest first:
the time after the first violation, faults, processes, kinds of work. A smaller plan that
fails on one of the same properties takes the place of the one before it. All of that within
a budget of seconds.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from . import report
from .check import check
from .plan import Plan
from .report.gather import Gathered, gather
from .run import HarnessError, Watcher, execute
from .verdict import SCHEMA, RunVerdict, Verdicts

FILE = "shrunk.json"
_REPETITIONS = 3
_MOST_TRIES = 4
_SHORTEST_SECONDS = 1.0
_PATIENCE_MS = 1500
"""What a broken store has stranded never comes; nobody needs to wait for it for long."""


class Shrunk(msgspec.Struct, frozen=True):
    """How often the plan failed when it was run again, and the smallest one that failed.

    `repeat` is empty when no run failed again; then the first run's evidence is all there is.
    """

    repetitions: int
    failed_again: int
    tried: int
    seconds: float
    smaller_by: tuple[str, ...] = ()
    processes: int = 0
    load_seconds: float = 0.0
    faults: int = 0
    calls: int = 0
    directory: str = ""
    repeat: str = ""


@dataclass(slots=True)
class _Search:
    broken: frozenset[str]
    folder: Path
    deadline: float
    watch: Watcher
    tried: int = 0
    taken: list[str] = field(default_factory=list)
    best: tuple[Plan, Path, RunVerdict] | None = None

    def fails(self, plan: Plan) -> bool:
        """Run a plan; keeps its evidence when it fails on one of the same properties."""
        self.tried += 1
        place = self.folder / f"try-{self.tried}"
        try:
            execute(plan, place, self.watch)
            verdict = check(place)
        except HarnessError:
            return False
        failed = {one.id for one in verdict.properties if one.verdict == "invalid"}
        if not failed & self.broken:
            shutil.rmtree(place)
            return False
        if self.best is not None:
            shutil.rmtree(self.best[1])
        self.best = (plan, place, verdict)
        return True

    def over(self, plan: Plan) -> bool:
        """Whether there is no time left for a run of a plan."""
        return time.monotonic() + plan.seconds + _PATIENCE_MS / 1000 > self.deadline


def shrink(
    plan: Plan,
    verdict: RunVerdict,
    folder: Path,
    budget_seconds: float,
    watch: Watcher,
) -> tuple[Shrunk, Gathered | None]:
    """Run a failed plan again and make it smaller; what it found is in `folder` afterwards.

    Gives the result, and what the report says of the smallest failing run.
    """
    began = time.monotonic()
    broken = frozenset(one.id for one in verdict.properties if one.verdict == "invalid")
    search = _Search(broken, folder, began + budget_seconds, watch)
    folder.mkdir(parents=True)
    plan = msgspec.structs.replace(plan, heal_patience_ms=_PATIENCE_MS)
    failed = runs = 0
    while runs < _REPETITIONS and (runs == 0 or not search.over(plan)):
        runs += 1
        failed += search.fails(plan)
    if failed:
        # Enough tries that a plan which fails as often as this one would be seen to fail.
        tries = min(_MOST_TRIES, math.ceil(2 * runs / failed))
        _take_away(search, plan, tries)
    gathered = _keep(search)
    result = _result(search, runs, failed, time.monotonic() - began)
    (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    return result, gathered


def _take_away(search: _Search, plan: Plan, tries: int) -> None:
    refused: set[str] = set()
    progress = True
    while progress:
        progress = False
        first_at_ms = math.inf if search.best is None else _first_violation_ms(search.best[2])
        for what, smaller in candidates(plan, first_at_ms):
            if what in refused or search.over(smaller):
                continue
            if any(not search.over(smaller) and search.fails(smaller) for _ in range(tries)):
                plan, progress = smaller, True
                search.taken.append(what)
                break
            refused.add(what)


def candidates(plan: Plan, first_at_ms: float) -> Iterator[tuple[str, Plan]]:
    """Smaller plans with what they leave out, the largest steps first."""

    def without(**changes: object) -> Plan:
        return msgspec.structs.replace(plan, required=(), **changes)

    enough = max(_SHORTEST_SECONDS, round(first_at_ms / 1000 + 0.3, 1))
    if enough < plan.seconds:
        kept = tuple(fault for fault in plan.faults if fault.at_ms < enough * 1000)
        yield f"{enough:g} s of load", without(seconds=enough, faults=kept)
    if plan.clocks:
        kept = tuple(fault for fault in plan.faults if fault.kind != "clock")
        yield "true clocks", without(faults=kept, clocks=())
    if plan.faults:
        yield "no faults", without(faults=(), faults_asked=(), clocks=())
        for kind in dict.fromkeys(fault.kind for fault in plan.faults):
            other = tuple(fault for fault in plan.faults if fault.kind != kind)
            if other:
                yield f"no {kind}", without(faults=other)
        half = plan.faults[: len(plan.faults) // 2]
        if half:
            yield f"the first {len(half)} faults", without(faults=half)
    for processes in dict.fromkeys((2, (plan.processes + 1) // 2, plan.processes - 1)):
        if 2 <= processes < plan.processes:
            moved = tuple(
                msgspec.structs.replace(fault, slot=fault.slot % processes) for fault in plan.faults
            )
            yield f"{processes} processes", without(processes=processes, faults=moved)
    for work, weight in plan.weights.items():
        if weight and sum(map(bool, plan.weights.values())) > 1:
            yield f"no {work}", without(weights={**plan.weights, work: 0})
    if plan.seconds > _SHORTEST_SECONDS:
        shorter = max(_SHORTEST_SECONDS, round(plan.seconds / 2, 1))
        kept = tuple(fault for fault in plan.faults if fault.at_ms < shorter * 1000)
        yield f"{shorter:g} s of load", without(seconds=shorter, faults=kept)


def _first_violation_ms(verdict: RunVerdict) -> float:
    """When the first violation came, after the load began."""
    stories = gather(Path(verdict.directory), verdict).stories
    return stories[0].at if stories else math.inf


def _keep(search: _Search) -> Gathered | None:
    """Give the smallest failing run its final place and a report of its own."""
    if search.best is None:
        return None
    plan, place, verdict = search.best
    final = search.folder / "smallest"
    place.rename(final)
    repeat = f"fencepost stress --plan {final / 'plan.json'}"
    verdict = msgspec.structs.replace(verdict, directory=str(final), repeat=repeat)
    search.best = (plan, final, verdict)
    (gathered,) = report.write(Verdicts(SCHEMA, verdict.verdict, (verdict,)), final)
    return gathered


def _result(search: _Search, runs: int, failed: int, seconds: float) -> Shrunk:
    result = Shrunk(runs, failed, search.tried, round(seconds, 1))
    if search.best is None:
        return result
    plan, place, verdict = search.best
    return msgspec.structs.replace(
        result,
        smaller_by=tuple(search.taken),
        processes=plan.processes,
        load_seconds=plan.seconds,
        faults=len(plan.faults),
        calls=verdict.counts["calls"],
        directory=str(place),
        repeat=verdict.repeat,
    )


def by_words(result: Shrunk) -> Iterator[str]:
    """What came of it, in words."""
    yield (
        f"run again, the same plan failed {result.failed_again} of {result.repetitions} times "
        f"({result.tried} runs in {result.seconds:.0f} s)"
    )
    if not result.repeat:
        yield "  it did not fail again: the evidence of the first run is all there is"
        return
    if result.smaller_by:
        yield f"  it still fails with: {', '.join(result.smaller_by)}"
    yield (
        f"  smallest: {result.processes} processes, {result.load_seconds:g} s, "
        f"{result.faults} faults, {result.calls:,} calls"
    )
    yield f"  repeat:   {result.repeat}"
