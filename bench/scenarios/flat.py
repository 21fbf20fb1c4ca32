"""Flat cost: each operation on a small and on a large database, one call each in turn.

A cycle takes a row through its life and puts a new one in, so the shape of a database
stays what it is. The small and the large one are open in the same process and get the
same cycles alternately, so whatever disturbs the machine disturbs both. The first cycles
warm up; they also count the pages that each operation appends to the log, which no noise
can touch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import median
from typing import Any

from ..databases import SHAPES, copy
from ..harness import Figures, Goal, Outcome, Plan, alone, interleaved, scratch
from ..stats import Figure

TITLE = "Flat cost: the time of an operation against the number of rows"
LIMIT = 1.15
WARM_UP = 20
OPERATIONS = ("claim", "renew", "verify", "complete", "settle", "enqueue", "park")
LONG_AGO = "2021-01-01T00:00:00.000Z"

Timed = Callable[[str, Callable[[], Any]], Any]
FRAME_BYTES = 4096 + 24


@dataclass(slots=True)
class Meter:
    """What the operations on one database cost, by operation.

    Attributes:
        log: the database's write-ahead log; None once the pages have been counted.
    """

    log: str | None
    seconds: dict[str, list[float]] = field(default_factory=dict)
    pages: dict[str, list[int]] = field(default_factory=dict)

    def measure(self, operation: str, call: Callable[[], Any]) -> Any:
        """Do it, and keep what it cost."""
        before = self._log_bytes()
        began = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - began
        if self.log is None:
            self.seconds.setdefault(operation, []).append(seconds)
        else:
            grown = (self._log_bytes() - before) // FRAME_BYTES
            self.pages.setdefault(operation, []).append(grown)
        return result

    def _log_bytes(self) -> int:
        """Asking for a size opens nothing; a log that is not there yet has no pages."""
        if self.log is None or not os.path.exists(self.log):
            return 0
        return os.stat(self.log).st_size


def run(plan: Plan) -> Outcome:
    """Ratios of the medians at both sizes, for each shape, engine and setting."""
    outcome = Outcome()
    cycles = plan.pick(10, 150)
    for name in plan.pick(("parked", "due"), tuple(SHAPES)):
        shape = SHAPES[name]
        large = plan.pick(min(shape.large, 5000), shape.large)
        with scratch() as folder:
            variants: dict[str, Callable[[], Figures]] = {}
            for engine in ("native", "python"):
                paths = [str(copy(name, size, folder, engine)) for size in (shape.small, large)]
                for setting in plan.settings("off"):
                    job = {
                        "engine": engine,
                        "setting": setting,
                        "paths": paths,
                        "table": shape.table,
                        "expired": name.endswith("expired") and shape.table == "runs",
                        "cycles": cycles,
                    }
                    variants[f"{engine} {setting}"] = partial(alone, __name__, job)
            found = interleaved(variants, plan.rounds)
        for variant, figures in found.items():
            outcome.rows.append(_row(name, large, variant, figures))
            if variant == "native off":
                outcome.rows.append(_pages(name, large, figures))
            outcome.goals += [
                Goal.at_most(
                    f"{operation}, {shape.shows}, {variant}",
                    figures[f"{operation} ratio"].median,
                    LIMIT,
                )
                for operation in OPERATIONS
                if f"{operation} ratio" in figures and shape.is_flat
            ]
    return outcome


def _row(shape: str, large: int, variant: str, figures: Mapping[str, Figure]) -> dict[str, Any]:
    engine, setting = variant.split()
    ratios = {
        f"{operation} ratio": figures.get(f"{operation} ratio", "-") for operation in OPERATIONS
    }
    return {
        "rows of": SHAPES[shape].shows,
        "sizes": f"{SHAPES[shape].small:,} / {large:,}",
        "engine": engine,
        "synchronous": setting,
        "claim us, small": figures["claim small"],
        "claim us, large": figures["claim large"],
        **ratios,
        "detail": {name: asdict(figure) for name, figure in figures.items()},
    }


def _pages(shape: str, large: int, figures: Mapping[str, Figure]) -> dict[str, Any]:
    """Pages written by each operation, at the small and at the large size."""
    row: dict[str, Any] = {
        "rows of": SHAPES[shape].shows,
        "sizes": f"{SHAPES[shape].small:,} / {large:,}",
    }
    for operation in OPERATIONS:
        sizes = [figures.get(f"{operation} pages {size}") for size in ("small", "large")]
        shown = [f"{figure.median:g}" for figure in sizes if figure is not None]
        row[f"pages of {operation}"] = " / ".join(shown) or "-"
    return row


def work(job: dict[str, Any]) -> dict[str, float]:
    """Medians in microseconds at both sizes, and their ratio, for each operation."""
    import fencepost

    from ..worker import start

    stores = [
        fencepost.open(path, engine=job["engine"], synchronous=job["setting"])
        for path in job["paths"]
    ]
    start()
    cycle = _queue_cycle
    if job["table"] == "runs":
        cycle = partial(_runs_cycle, expired=job["expired"])
    meters = [Meter(f"{path}-wal") for path in job["paths"]]
    for serial in range(WARM_UP + job["cycles"]):
        if serial == WARM_UP:
            for meter in meters:
                meter.log = None
        for at in (0, 1) if serial % 2 else (1, 0):
            cycle(stores[at], meters[at].measure)
    for store in stores:
        store.close()
    figures = {}
    for operation in meters[0].seconds:
        small, large = (median(meter.seconds[operation]) for meter in meters)
        figures[f"{operation} small"] = small * 1e6
        figures[f"{operation} large"] = large * 1e6
        figures[f"{operation} ratio"] = large / small
        for size, meter in zip(("small", "large"), meters, strict=True):
            figures[f"{operation} pages {size}"] = median(meter.pages[operation])
    return figures


def _runs_cycle(store: Any, timed: Timed, *, expired: bool) -> None:
    runs = store.runs
    run = timed("claim", partial(runs.claim_next, runner_id="bench", lease_ms=60_000))
    claim = {"run_id": run.run_id, "claim_token": run.claim_token}
    timed("renew", partial(runs.renew, **claim, lease_ms=60_000))
    timed("verify", partial(runs.verify, **claim))
    timed("complete", partial(runs.complete, **claim))
    new = {
        "run_id": f"new-{time.monotonic_ns()}",
        "workflow_name": "workflow",
        "workflow_source_ref": "workflow.py",
        "input": {"customer": 17},
        "runner_id": "bench",
        "claim_token": "token",
        "affinity_runner_id": run.affinity_runner_id,
    }
    if expired:
        # Its lease ended long ago: one more expired claim in the place of the one taken.
        timed("enqueue", partial(runs.enqueue, **new, lease_ms=1, now=LONG_AGO))
        return
    timed("enqueue", partial(runs.enqueue, **new, lease_ms=60_000))
    timed("park", partial(runs.park, run_id=new["run_id"], claim_token="token"))


def _queue_cycle(store: Any, timed: Timed) -> None:
    queue = store.queue
    claim = timed("claim", partial(queue.claim_next, controllers=["bench"], lease_ms=60_000))
    timed("renew", partial(queue.renew, claim=claim, lease_ms=60_000))
    timed("settle", partial(queue.settle, claim=claim))
    timed("enqueue", partial(queue.enqueue, controller=claim.controller, key=claim.key))
