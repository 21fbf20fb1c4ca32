"""What grows: the log under load, also while a reader pins it, and the memory of a store."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ..harness import Figures, Goal, Outcome, Plan, Worker, alone, interleaved, scratch, together
from .contention import prepared

TITLE = "Growth: the write-ahead log and memory"
MIB = 2**20
PEEK_SECONDS = 0.02


def run(plan: Plan) -> Outcome:
    """The log's size under four busy processes, and what a store holds in memory."""
    outcome = Outcome()
    logs: dict[str, Callable[[], Figures]] = {
        f"{engine},{pinned}": partial(_log, engine, pinned == "pinned", plan.seconds)
        for engine in plan.pick(("native",), ("native", "python"))
        for pinned in ("free", "pinned")
    }
    for name, figures in interleaved(logs, plan.rounds).items():
        engine, pinned = name.split(",")
        outcome.rows.append({"engine": engine, "log": pinned, **figures})
        if pinned == "free":
            goal = Goal.at_most(f"log under load, MiB: {engine}", figures["log MiB"].high, 16)
            outcome.goals.append(goal)
    calls = plan.pick(500, 20_000)
    memory: dict[str, Callable[[], Figures]] = {
        engine: partial(_memory, engine, calls) for engine in ("native", "python")
    }
    for engine, figures in interleaved(memory, plan.rounds).items():
        outcome.rows.append({"engine": engine, "memory after calls": calls, **figures})
        grown = figures["grown by calls MiB"].median
        outcome.goals.append(Goal.at_most(f"growth by {calls:,} calls, MiB: {engine}", grown, 8))
    return outcome


def _log(engine: str, pinned: bool, seconds: float) -> dict[str, float]:
    with scratch() as folder:
        path = prepared(folder)
        job = {"path": path, "engine": engine, "setting": "normal"}
        workers = [
            Worker("bench.scenarios.contention", {**job, "name": f"w{at}"}) for at in range(4)
        ]
        if pinned:
            workers.append(Worker(__name__, {"role": "reader", "path": path}))
        log = Path(f"{path}-wal")
        sizes: list[int] = []

        def watch(end: float) -> None:
            while time.monotonic() < end:
                # Asking for the size opens nothing.
                sizes.append(log.stat().st_size if log.exists() else 0)
                time.sleep(PEEK_SECONDS)

        results = together(workers, seconds, meanwhile=watch)
    commits = 2 * sum(result["count"] for result in results)
    return {
        "log MiB": max(sizes) / MIB,
        "commits/s": commits / seconds,
        "log bytes/commit": max(sizes) / max(commits, 1) if pinned else float("nan"),
    }


def _memory(engine: str, calls: int) -> dict[str, float]:
    with scratch() as folder:
        job = {"path": prepared(folder), "engine": engine, "role": "memory", "calls": calls}
        return alone(__name__, job)


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Pin the log by an open read, or do calls and look at the memory."""
    from ..worker import start

    if job["role"] == "reader":
        connection = sqlite3.connect(job["path"], isolation_level=None)
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM workflow_run_queue").fetchone()
        window = start()
        time.sleep(max(window.end - time.monotonic(), 0.0))
        connection.close()
        return {"count": 0}
    import fencepost

    start()
    fencepost.open(f"{job['path']}-other", engine=job["engine"], synchronous="off").close()
    empty = _resident()
    with fencepost.open(job["path"], engine=job["engine"], synchronous="off") as store:
        opened = _resident()
        _calls(store, job["calls"] // 10)
        warm = _resident()
        _calls(store, job["calls"])
        return {
            "opened MiB": opened - empty,
            "after first calls MiB": warm - empty,
            "grown by calls MiB": _resident() - warm,
        }


def _calls(store: Any, count: int) -> None:
    for _ in range(count):
        run = store.runs.claim_next(runner_id="w", lease_ms=60_000)
        store.runs.renew(run_id=run.run_id, claim_token=run.claim_token, lease_ms=60_000)
        store.runs.park(run_id=run.run_id, claim_token=run.claim_token)


def _resident() -> float:
    """The memory of this process that is in use, in MiB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB
