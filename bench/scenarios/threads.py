"""One process: threads that share commits, and batch calls against single ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ..harness import Figures, Goal, Outcome, Plan, alone, interleaved, scratch
from .contention import prepared

TITLE = "One process: threads and batches at synchronous=FULL"
BATCH = 100
BATCHED = ("enqueue", "claim", "renew", "complete")


def run(plan: Plan) -> Outcome:
    """Rates of one and eight threads, and of single and batch calls."""
    outcome = Outcome()
    threads: dict[str, Callable[[], Figures]] = {
        f"{engine} {count}": partial(_threads, engine, count, plan.seconds)
        for engine in ("native", "python")
        for count in (1, 8)
    }
    found = interleaved(threads, plan.rounds)
    for name, figures in found.items():
        engine, count = name.split()
        outcome.rows.append({"engine": engine, "threads": int(count), **figures})
    for engine in ("native", "python"):
        gain = found[f"{engine} 8"]["cycles/s"].median / found[f"{engine} 1"]["cycles/s"].median
        outcome.goals.append(Goal.at_least(f"eight threads against one: {engine}", gain, 2))
    batches: dict[str, Callable[[], Figures]] = {
        engine: partial(_batches, engine, plan.pick(2, 20)) for engine in ("native", "python")
    }
    for engine, figures in interleaved(batches, plan.rounds).items():
        for operation in BATCHED:
            factor = figures[f"{operation} gain"]
            outcome.rows.append(
                {
                    "engine": engine,
                    "operation": operation,
                    "single/s": figures[f"{operation} single"],
                    f"in batches of {BATCH}, /s": figures[f"{operation} batch"],
                    "gain": factor,
                }
            )
            outcome.goals.append(
                Goal.at_least(f"{operation} in batches of {BATCH}: {engine}", factor.median, 20)
            )
    return outcome


def _threads(engine: str, count: int, seconds: float) -> dict[str, float]:
    with scratch() as folder:
        job = {"path": prepared(folder), "engine": engine, "threads": count}
        return {"cycles/s": alone(__name__, job, seconds)["count"] / seconds}


def _batches(engine: str, batches: int) -> dict[str, float]:
    with scratch() as folder:
        path = str(folder / "store.sqlite")
        return alone(__name__, {"path": path, "engine": engine, "batches": batches})


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Either form, on a store at FULL."""
    import fencepost

    from ..worker import start

    with fencepost.open(job["path"], engine=job["engine"]) as store:
        window = start()
        if "batches" in job:
            return _single_and_batch(store, job["batches"])
        counts = [0] * job["threads"]
        runs: Any = store.runs

        def loop(at: int) -> None:
            while window.is_open():
                run = runs.claim_next(runner_id=f"thread-{at}", lease_ms=60_000)
                if run is not None:
                    runs.park(run_id=run.run_id, claim_token=run.claim_token)
                counts[at] += window.has(time.monotonic())

        threads = [threading.Thread(target=loop, args=(at,)) for at in range(job["threads"])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {"count": sum(counts)}


def _single_and_batch(store: Any, batches: int) -> dict[str, float]:
    """Operations a second in both forms: as many batches as single calls in blocks of 10."""
    seconds: dict[str, float] = {}
    done: dict[str, int] = {}

    def timed(name: str, operations: int, call: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = call()
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - began
        done[name] = done.get(name, 0) + operations
        return result

    runs = store.runs
    for batch in range(batches):
        many = [_new(f"many-{batch}-{at}") for at in range(BATCH)]
        few = [_new(f"one-{batch}-{at}") for at in range(10)]
        timed("enqueue batch", BATCH, lambda: runs.enqueue_many(items=many))  # noqa: B023
        timed("enqueue single", 10, lambda: [runs.enqueue(**new) for new in few])  # noqa: B023
        for new in (*many, *few):
            runs.park(run_id=new["run_id"], claim_token="token")
        held = {"runner_id": "bench", "lease_ms": 60_000}
        claimed = timed("claim batch", BATCH, partial(runs.claim_many, **held, limit=BATCH))
        singly = timed(
            "claim single",
            10,
            lambda: [runs.claim_next(**held) for _ in range(10)],  # noqa: B023
        )
        claims = [(run.run_id, run.claim_token) for run in claimed]
        ones = [{"run_id": run.run_id, "claim_token": run.claim_token} for run in singly]
        timed("renew batch", BATCH, partial(runs.renew_many, claims=claims, lease_ms=60_000))
        timed(
            "renew single",
            10,
            lambda: [runs.renew(**one, lease_ms=60_000) for one in ones],  # noqa: B023
        )
        timed("complete batch", BATCH, partial(runs.complete_many, claims=claims))
        timed("complete single", 10, lambda: [runs.complete(**one) for one in ones])  # noqa: B023
    figures = {name: done[name] / seconds[name] for name in done}
    for operation in BATCHED:
        gain = figures[f"{operation} batch"] / figures[f"{operation} single"]
        figures[f"{operation} gain"] = gain
    return figures


def _new(run_id: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "workflow_name": "workflow",
        "workflow_source_ref": "workflow.py",
        "input": {"customer": 17},
        "runner_id": "bench",
        "lease_ms": 60_000,
        "claim_token": "token",
    }
