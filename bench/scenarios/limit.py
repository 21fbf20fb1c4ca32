"""How close the engines come to SQLite itself: the same statements bare, at synchronous=off."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

from ..harness import ROOT, Figures, Goal, Outcome, Plan, alone, interleaved, scratch

TITLE = "Close to the limit: operations through Python against bare statements"
OPERATIONS = ("enqueue", "verify", "renew", "park", "claim", "complete")
RUST_FILES = 3


def run(plan: Plan) -> Outcome:
    """Microseconds an operation, bare in Rust, in the Rust core, and through Python."""
    count = plan.pick(300, 10_000)
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--locked", "-p", "fencepost-core",
         "--example", "overhead"],
        check=True,
        cwd=ROOT,
    )  # fmt: skip
    variants: dict[str, Callable[[], Figures]] = {"rust": partial(_rust, count * RUST_FILES)}
    for engine in ("native", "python"):
        variants[engine] = partial(_through_python, engine, count)
    found = interleaved(variants, plan.rounds)
    outcome = Outcome()
    for operation in OPERATIONS:
        bare = found["rust"][f"{operation} bare"]
        native, python = (found[engine][operation] for engine in ("native", "python"))
        outcome.rows.append(
            {
                "operation": operation,
                "bare us": bare,
                "Rust core us": found["rust"][f"{operation} core"],
                "native us": native,
                "python us": python,
                "native/bare": native.median / bare.median,
                "python/native": python.median / native.median,
            }
        )
        outcome.goals.append(
            Goal.at_most(f"native against bare: {operation}", native.median / bare.median, 1.25)
        )
    for engine in ("native", "python"):
        rate = 1e6 / found[engine]["verify"].median
        outcome.goals.append(Goal.at_least(f"verify a second: {engine}", rate, 100_000))
    _canonical(plan, outcome)
    return outcome


def _canonical(plan: Plan, outcome: Outcome) -> None:
    figures = interleaved({"": partial(alone, __name__, {"canonical": True})}, plan.rounds)[""]
    outcome.rows.append({"operation": "canonical JSON, 100 KB", **figures})
    outcome.goals.append(
        Goal.at_most(
            "canonical JSON of 100 KB against json.dumps(sort_keys=True)",
            figures["canonical us"].median / figures["json.dumps us"].median,
            1,
        )
    )


def _rust(count: int) -> dict[str, float]:
    """What the example of the Rust core prints: name, bare, engine, ratio.

    It spreads the rounds over files, each of which is to become as large as Python's.
    """
    printed = subprocess.run(
        [str(ROOT / "target" / "release" / "examples" / "overhead"), str(count)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    figures: dict[str, float] = {}
    for line in printed.splitlines()[1:]:
        name, bare, core, _ = line.split()
        figures[f"{name} bare"] = float(bare)
        figures[f"{name} core"] = float(core)
    return figures


def _through_python(engine: str, count: int) -> dict[str, float]:
    with scratch() as folder:
        path = str(folder / "store.sqlite")
        return alone(__name__, {"path": path, "engine": engine, "count": count})


def work(job: dict[str, Any]) -> dict[str, float]:
    """The operations of the Rust example, in the same order, through the public interface.

    Called directly: a wrapper would be a good part of what is measured.
    """
    import fencepost

    from ..worker import start

    start()
    if "canonical" in job:
        return _canonical_times()
    spent: dict[str, list[int]] = {operation: [] for operation in OPERATIONS}
    now = time.perf_counter_ns
    with fencepost.open(job["path"], engine=job["engine"], synchronous="off") as store:
        runs: Any = store.runs
        for at in range(job["count"]):
            run_id = f"run-{at}"
            times = [now()]
            runs.enqueue(
                run_id=run_id,
                workflow_name="workflow",
                workflow_source_ref="source",
                input={},
                runner_id="runner",
                lease_ms=60_000,
                claim_token="token",
            )
            times.append(now())
            runs.verify(run_id=run_id, claim_token="token")
            times.append(now())
            runs.renew(run_id=run_id, claim_token="token", lease_ms=60_000)
            times.append(now())
            runs.park(run_id=run_id, claim_token="token")
            times.append(now())
            runs.claim_next(runner_id="runner", lease_ms=60_000, claim_token="token")
            times.append(now())
            runs.complete(run_id=run_id, claim_token="token")
            times.append(now())
            for operation, (began, ended) in zip(OPERATIONS, pairwise(times), strict=True):
                spent[operation].append(ended - began)
    # Medians, as in the Rust example.
    return {name: median(times) / 1000 for name, times in spent.items()}


def _canonical_times() -> dict[str, float]:
    from fencepost.canonical import canonical_json

    spec = {
        f"member-{at}": {"name": f"name {at}", "count": at, "ratio": at / 7, "on": True, "tags": []}
        for at in range(1300)
    }
    calls = {
        "canonical us": partial(canonical_json, spec),
        "json.dumps us": partial(
            json.dumps, spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        ),
    }
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(30):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            best[name] = min(best[name], (time.perf_counter() - began) * 1e6)
    return best
