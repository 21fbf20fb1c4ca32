"""Contention: processes that claim and park without think time, on one file."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import harmonic_mean, median
from typing import Any

from ..harness import Figures, Goal, Outcome, Plan, Worker, alone, interleaved, scratch, together
from ..stats import Figure, jain, percentile

TITLE = "Contention: processes in a loop of claim and park"
RUNS = 1000
ENGINES = {"native": ("native",), "python": ("python",), "mixed": ("native", "python")}


def run(plan: Plan) -> Outcome:
    """Throughput, fairness and waits for each number of processes."""
    outcome = Outcome()
    settings = plan.settings("full")
    for setting in settings:
        variants: dict[str, Callable[[], Figures]] = {}
        for engines, cycle in ENGINES.items():
            for processes in plan.pick((1, 2), (1, 2, 8, 32)):
                if processes >= len(cycle):
                    members = [cycle[at % len(cycle)] for at in range(processes)]
                    variants[f"{engines} {processes}"] = partial(
                        contend, members, plan.seconds, setting
                    )
        found = interleaved(variants, plan.rounds)
        for variant, figures in found.items():
            engines, processes = variant.split()
            outcome.rows.append(
                {"engine": engines, "synchronous": setting, "processes": int(processes), **figures}
            )
        _set_goals(outcome, found, setting)
    _foreign(plan, outcome)
    _held(plan, outcome)
    return outcome


def _set_goals(outcome: Outcome, found: dict[str, dict[str, Figure]], setting: str) -> None:
    for variant, figures in found.items():
        engines, count = variant.split()
        processes = int(count)
        if processes == 1:
            continue
        alone_ones = [found[f"{engine} 1"] for engine in ENGINES[engines]]
        middle = max(one["p50 ms"].median for one in alone_ones)
        what = f"{engines}, {processes} processes, {setting}"
        outcome.goals += [
            Goal.at_least(
                f"total against one process: {what}",
                _against_one(figures["cycles/s"], [one["cycles/s"] for one in alone_ones]),
                0.8 if processes == 32 else 0.9,
            ),
            Goal.at_least(f"Jain's index: {what}", figures["Jain"].median, 0.95),
            Goal.at_most(
                f"p99 in medians of one process: {what}",
                figures["p99 ms"].median / middle,
                12 * processes,
            ),
            Goal.at_most(f"longest wait, ms: {what}", figures["longest ms"].high, 1000),
            Goal.at_most(f"busy errors: {what}", figures["busy errors"].high, 0),
        ]


def _against_one(total: Figure, alone_ones: Sequence[Figure]) -> float:
    """The total in totals of one process, round by round as the disk drifts; the median of them.

    Where both engines share a file and get equal shares, the faster waits for the slower: as
    one process that makes a cycle of each in turn, which is their harmonic mean.
    """
    single = map(harmonic_mean, zip(*(one.rounds for one in alone_ones), strict=True))
    ratios: list[float] = [ours / one for ours, one in zip(total.rounds, single, strict=True)]
    return median(ratios)


def contend(engines: Sequence[str], seconds: float, setting: str) -> dict[str, float]:
    """One round: a process for each engine named, on a fresh database."""
    with scratch() as folder:
        path = prepared(folder, setting)
        workers = [
            Worker(__name__, {"path": path, "engine": engine, "setting": setting, "name": f"w{at}"})
            for at, engine in enumerate(engines)
        ]
        return summed(together(workers, seconds), seconds)


def prepared(folder: Path, setting: str = "off") -> str:
    """A database with parked runs."""
    path = str(folder / "store.sqlite")
    alone(__name__, {"path": path, "prepare": RUNS, "setting": setting})
    return path


def summed(results: Sequence[dict[str, Any]], seconds: float) -> dict[str, float]:
    """The figures of one round over all its processes."""
    counts = [result["count"] for result in results]
    waits = sorted(wait for result in results for wait in result["calls"])
    total = sum(counts)
    return {
        "cycles/s": total / seconds,
        "Jain": jain(counts),
        "p50 ms": percentile(waits, 0.5) * 1e3,
        "p99 ms": percentile(waits, 0.99) * 1e3,
        "longest ms": waits[-1] * 1e3 if waits else float("nan"),
        "busy errors": sum(result["busy"] for result in results),
        "CPU us/cycle": sum(result["cpu"] for result in results) / max(total, 1) * 1e6,
    }


def _foreign(plan: Plan, outcome: Outcome) -> None:
    """Four of ours beside one that knows nothing of turns: SQLite's busy timeout alone."""
    for engine in plan.pick(("native",), ("native", "python")):
        figures = interleaved(
            {engine: partial(_beside_foreign, engine, plan.seconds)}, plan.rounds
        )[engine]
        outcome.rows.append(
            {"engine": f"{engine} x 4 + plain", "synchronous": "full", "processes": 5, **figures}
        )
        what = f"beside 4 {engine}"
        outcome.goals += [
            Goal.at_least(f"share of the plain process {what}", figures["plain share"].low, 0.01),
            Goal.at_least(f"our share {what} plain", figures["our least share"].low, 0.05),
            Goal.at_most(f"busy errors {what} plain", figures["busy errors"].high, 0),
        ]


def _beside_foreign(engine: str, seconds: float) -> dict[str, float]:
    with scratch() as folder:
        path = prepared(folder, "full")
        ours = [
            Worker(__name__, {"path": path, "engine": engine, "setting": "full", "name": f"w{at}"})
            for at in range(4)
        ]
        plain = Worker("bench.candidates", {"path": path, "how": "busy", "name": "plain"})
        results = together([*ours, plain], seconds)
    figures = summed(results[:-1], seconds)
    total = max(sum(result["count"] for result in results), 1)
    figures["plain share"] = results[-1]["count"] / total
    figures["our least share"] = min(result["count"] for result in results[:-1]) / total
    figures["plain longest ms"] = max(results[-1]["calls"], default=float("inf")) * 1e3
    figures["busy errors"] += results[-1]["busy"]
    return figures


def _held(plan: Plan, outcome: Outcome) -> None:
    """The CPU of eight that wait while another process keeps the write lock."""
    seconds = min(plan.seconds, 4.0)
    for engine in plan.pick(("native",), ("native", "python")):
        figures = interleaved({engine: partial(_behind_holder, engine, seconds)}, plan.rounds)[
            engine
        ]
        outcome.rows.append(
            {"engine": f"{engine} x 8, lock held", "synchronous": "full", "processes": 9, **figures}
        )
        outcome.goals.append(
            Goal.at_most(
                f"CPU of eight {engine} waiting for a held lock, % of a core",
                figures["waiting CPU %"].median,
                5.0,
            )
        )


def _behind_holder(engine: str, seconds: float) -> dict[str, float]:
    with scratch() as folder:
        path = prepared(folder)
        holder = Worker("bench.candidates", {"path": path, "how": "hold", "name": "holder"})
        job = {"path": path, "engine": engine, "setting": "full", "name": "w", "once": True}
        workers = [Worker(__name__, job) for _ in range(8)]
        # The holder has the lock before the others are told to begin.
        results = together([holder, *workers], seconds, warm_up=0.0)[1:]
    return {
        "waiting CPU %": sum(result["cpu"] for result in results) / seconds * 100,
        "busy errors": sum(result["busy"] for result in results),
    }


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Claim and park until the end of the window."""
    import fencepost
    from fencepost.errors import StoreBusyError

    from ..worker import start

    if "prepare" in job:
        return _prepare(job)
    store = fencepost.open(
        job["path"], engine=job["engine"], synchronous=job["setting"], busy_timeout_ms=30_000
    )
    runs: Any = store.runs
    window = start()
    calls: list[float] = []
    count = busy = 0
    cpu = _cpu()
    once = job.get("once", False)
    while window.is_open():
        began = time.monotonic()
        if not once and began < window.begin:
            cpu = _cpu()
        try:
            run = runs.claim_next(runner_id=job["name"], lease_ms=60_000)
            between = time.monotonic()
            if run is not None:
                runs.park(run_id=run.run_id, claim_token=run.claim_token)
        except StoreBusyError:
            busy += 1
            continue
        ended = time.monotonic()
        if ended >= window.begin:
            calls += (between - began, ended - between)
        count += window.has(ended)
        if once:
            break
    return {"count": count, "busy": busy, "calls": calls, "cpu": _cpu() - cpu}


def _prepare(job: dict[str, Any]) -> dict[str, Any]:
    import fencepost

    from ..worker import start

    new = {"workflow_name": "workflow", "workflow_source_ref": "workflow.py", "runner_id": "nobody"}
    with fencepost.open(job["path"], synchronous="off") as store:
        items: list[dict[str, Any]] = [
            {**new, "run_id": f"run-{at}", "lease_ms": 60_000, "claim_token": "token"}
            for at in range(job["prepare"])
        ]
        for item in items:
            store.runs.enqueue(**item)
            store.runs.park(run_id=item["run_id"], claim_token="token")
    start()
    return {}


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
