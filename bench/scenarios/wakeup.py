"""Wake-up: from a commit to the return of `store.wait` in another process.

The time counts from before the call that commits, so it holds that call's own work too
and is an upper bound. The writer pauses between events, as work does that comes now and
then; the waiters must not notice by looking, so the pauses do not divide their looks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ..harness import (
    WARM_UP_SECONDS,
    Figures,
    Goal,
    Outcome,
    Plan,
    Worker,
    interleaved,
    scratch,
    together,
)
from ..stats import percentile

TITLE = "Wake-up: from commit to the return of store.wait"
ENGINES = ("native", "python")
PAUSES_SECONDS = (0.005, 0.007, 0.011, 0.013)
LEAST_SECONDS = 2.3
BUCKETS_MS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 300, 1000)


def run(plan: Plan) -> Outcome:
    """Latencies for one waiter and eight, and the CPU of eight that have nothing to do."""
    outcome = Outcome()
    histograms: dict[str, list[int]] = {}
    variants: dict[str, Callable[[], Figures]] = {}
    # Of fewer than 200 wake-ups the 99th percentile would be the longest.
    seconds = plan.pick(0.7, max(plan.seconds, LEAST_SECONDS))
    for engine in ENGINES:
        for count in plan.pick((1,), (1, 8)):
            for kind in plan.pick(("feed",), ("feed", "runs", "async")[: 3 if count == 1 else 1]):
                name = f"{engine},{count},{kind}"
                histograms[name] = [0] * (len(BUCKETS_MS) + 1)
                variants[name] = partial(_wake, engine, count, kind, seconds, histograms[name])
    for name, figures in interleaved(variants, plan.rounds).items():
        engine, count, kind = name.split(",")
        outcome.rows.append(
            {
                "engine": engine,
                "waiters": int(count),
                "waits for": kind,
                **figures,
                "histogram": {"upper_ms": BUCKETS_MS, "counts": histograms[name]},
            }
        )
        what = f"{engine}, {count} waiters, {kind}"
        outcome.goals += [
            Goal.at_most(f"p50, ms: {what}", figures["p50 ms"].median, 1),
            Goal.at_most(f"p99, ms: {what}", figures["p99 ms"].median, 5),
            Goal.at_most(f"wake-ups missing: {what}", figures["missing"].high, 0),
        ]
    idle = interleaved({"idle": partial(_idle, plan.pick(0.5, 10.0))}, plan.rounds)["idle"]
    for engine, figure in idle.items():
        row = {"engine": engine, "waiters": 8, "waits for": "nothing", "idle CPU %": figure}
        outcome.rows.append(row)
        outcome.goals.append(Goal.at_most(f"CPU of 8 idle waiters, %: {engine}", figure.median, 1))
    return outcome


def _wake(
    engine: str, count: int, kind: str, seconds: float, histogram: list[int]
) -> dict[str, float]:
    with scratch() as folder:
        job = {"path": str(folder / "store.sqlite"), "engine": engine, "kind": kind}
        writer = Worker(__name__, {**job, "role": "writer"})
        writer.await_ready()
        waiters = [Worker(__name__, {**job, "role": "waiter"}) for _ in range(count)]
        try:
            for waiter in waiters:
                waiter.await_ready()
            begin = time.monotonic() + WARM_UP_SECONDS
            for worker in (*waiters, writer):
                worker.go(begin, begin + seconds)
            written = writer.result()["events"]
            seen = [waiter.result()["events"] for waiter in waiters]
        finally:
            for worker in (*waiters, writer):
                worker.end()
    latencies = sorted(
        (returned[key] - began) * 1e3
        for returned in seen
        for key, began in written.items()
        if key in returned
    )
    for latency in latencies:
        histogram[sum(latency > bound for bound in BUCKETS_MS)] += 1
    return {
        "p50 ms": percentile(latencies, 0.5),
        "p99 ms": percentile(latencies, 0.99),
        "longest ms": latencies[-1] if latencies else float("nan"),
        "wake-ups": len(latencies),
        "missing": len(written) * count - len(latencies),
    }


def _idle(seconds: float) -> dict[str, float]:
    """The CPU of eight waiters of each engine; they have next to none, so all at once."""
    with scratch() as folder:
        jobs = [
            {"path": str(folder / engine), "engine": engine, "kind": "runs", "role": "idle"}
            for engine in ENGINES
            for _ in range(8)
        ]
        results = together([Worker(__name__, job) for job in jobs], seconds, warm_up=0.0)
    used = dict.fromkeys(ENGINES, 0.0)
    for job, result in zip(jobs, results, strict=True):
        used[job["engine"]] += result["cpu"] / seconds * 100
    return used


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Write, wait or idle until the end of the window."""
    import fencepost

    from ..worker import start

    with fencepost.open(job["path"], engine=job["engine"], synchronous="off") as store:
        window = start()
        end = window.end
        if job["role"] == "idle":
            cpu = time.process_time()
            store.wait(runs=True, controllers=["c"], timeout_ms=_left_ms(end))
            return {"cpu": time.process_time() - cpu}
        if job["role"] == "writer":
            # By then the waiters wait.
            time.sleep(max(window.begin - time.monotonic(), 0.0))
            return {"events": _write(store, job["kind"], end)}
        if job["kind"] == "runs":
            return {"events": _take_runs(store, end)}
        if job["kind"] == "async":
            return {"events": asyncio.run(_follow_async(store, end))}
        return {"events": _follow(store, end)}


def _left_ms(end: float) -> int:
    return max(int((end - time.monotonic()) * 1000), 0)


def _write(store: Any, kind: str, end: float) -> dict[str, float]:
    """An event or a parked run now and then; when each call began, by its key."""
    began: dict[str, float] = {}
    serial = 0
    # The last one has time to arrive.
    while time.monotonic() < end - 0.3:
        time.sleep(PAUSES_SECONDS[serial % len(PAUSES_SECONDS)])
        serial += 1
        key = f"run-{serial}"
        if kind == "runs":
            store.runs.enqueue(
                run_id=key,
                workflow_name="w",
                workflow_source_ref="w",
                runner_id="writer",
                lease_ms=60_000,
                claim_token="token",
            )
            began[key] = time.monotonic()
            store.runs.park(run_id=key, claim_token="token")
        else:
            began[key] = time.monotonic()
            store.feed.record(run_id=key, workflow_ref="w", type="t")
    return began


def _follow(store: Any, end: float) -> dict[str, float]:
    returned: dict[str, float] = {}
    seq = 0
    while (left := _left_ms(end)) > 0:
        ready = store.wait(feed_after=seq, timeout_ms=left)
        now = time.monotonic()
        for event in store.feed.after(seq=seq) if ready else ():
            seq = event.seq
            returned[event.run_id] = now
    return returned


async def _follow_async(store: Any, end: float) -> dict[str, float]:
    returned: dict[str, float] = {}
    seq = 0
    while (left := _left_ms(end)) > 0:
        ready = await store.wait_async(feed_after=seq, timeout_ms=left)
        now = time.monotonic()
        for event in store.feed.after(seq=seq) if ready else ():
            seq = event.seq
            returned[event.run_id] = now
    return returned


def _take_runs(store: Any, end: float) -> dict[str, float]:
    returned: dict[str, float] = {}
    while (left := _left_ms(end)) > 0:
        ready = store.wait(runs=True, timeout_ms=left)
        now = time.monotonic()
        while ready and (run := store.runs.claim_next(runner_id="w", lease_ms=60_000)):
            returned[run.run_id] = now
            store.runs.complete(run_id=run.run_id, claim_token=run.claim_token)
    return returned
