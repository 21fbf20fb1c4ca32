"""Claims a second against the number of parked runs, beside a claim that sorts.

The claim that sorts is one statement over all that may be claimed, with an ORDER BY for
affinity and age: what a store without indexes in claim order has to do.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ..databases import copy, statements
from ..harness import Figures, Outcome, Plan, alone, interleaved, scratch

TITLE = "Scale: claims a second against parked runs"


def run(plan: Plan) -> Outcome:
    """Cycles of claim and park a second at each size."""
    outcome = Outcome()
    seconds = min(plan.seconds, 2.0)
    for size in plan.pick((1000, 3000), (1000, 10_000, 100_000, 1_000_000)):
        with scratch() as folder:
            variants: dict[str, Callable[[], Figures]] = {}
            for how in ("native", "python", "sorting"):
                path = str(copy("parked", size, folder, how))
                for setting in plan.settings("full"):
                    variants[f"{how} {setting}"] = partial(_rate, how, setting, path, seconds)
            found = interleaved(variants, plan.rounds)
        for variant, figures in found.items():
            how, setting = variant.split()
            outcome.rows.append(
                {"parked runs": size, "claimed by": how, "synchronous": setting, **figures}
            )
    return outcome


def _rate(how: str, setting: str, path: str, seconds: float) -> dict[str, float]:
    job = {"how": how, "path": path, "setting": setting}
    result = alone(__name__, job, seconds)
    return {"claims/s": result["count"] / result["seconds"]}


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Claim and park until the end of the window, one cycle at least."""
    from ..worker import start

    cycle = _sorting(job) if job["how"] == "sorting" else _store(job)
    window = start()
    while time.monotonic() < window.begin:
        cycle()
    began = time.monotonic()
    count = 0
    while count == 0 or window.is_open():
        cycle()
        count += 1
    return {"count": count, "seconds": time.monotonic() - began}


def _store(job: dict[str, Any]) -> Callable[[], None]:
    import fencepost

    store = fencepost.open(job["path"], engine=job["how"], synchronous=job["setting"])
    runs: Any = store.runs

    def cycle() -> None:
        run = runs.claim_next(runner_id="bench", lease_ms=60_000)
        runs.park(run_id=run.run_id, claim_token=run.claim_token)

    return cycle


def _sorting(job: dict[str, Any]) -> Callable[[], None]:
    _drop_indexes(Path(job["path"]))
    connection = sqlite3.connect(job["path"], isolation_level=None)
    connection.execute(f"PRAGMA synchronous = {job['setting']}")
    named = statements()

    def cycle() -> None:
        now = time.time_ns() // 1_000_000
        connection.execute("BEGIN IMMEDIATE")
        (run_id,) = connection.execute(
            named["sorting_claim"],
            {"runner_id": "bench", "now": now, "expires_at": now + 60_000},
        ).fetchone()
        connection.execute("COMMIT")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(named["sorting_park"], {"run_id": run_id})
        connection.execute("COMMIT")

    return cycle


def _drop_indexes(path: Path) -> None:
    """Leave the indexes that the shared file format has by itself."""
    connection = sqlite3.connect(path, isolation_level=None)
    ours = connection.execute(statements()["our_indexes"]).fetchall()
    for (name,) in ours:
        connection.execute(f'DROP INDEX "{name}"')
    connection.close()
