"""What each setting of `synchronous` costs, one process, apart from each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..harness import Figures, Outcome, Plan, interleaved
from .contention import contend

TITLE = "Durability: FULL, NORMAL and OFF"
KEPT = {
    "full": "everything acknowledged",
    "normal": "a sound file; the last commits may be gone",
    "off": "perhaps a damaged file",
}


def run(plan: Plan) -> Outcome:
    """Cycles of claim and park a second, and what a power cut leaves."""
    variants: dict[str, Callable[[], Figures]] = {
        f"{engine} {setting}": partial(contend, [engine], plan.seconds, setting)
        for engine in plan.pick(("native",), ("native", "python"))
        for setting in KEPT
    }
    outcome = Outcome()
    for name, figures in interleaved(variants, plan.rounds).items():
        engine, setting = name.split()
        outcome.rows.append(
            {
                "engine": engine,
                "synchronous": setting,
                "cycles/s": figures["cycles/s"],
                "p50 ms": figures["p50 ms"],
                "p99 ms": figures["p99 ms"],
                "left by a power cut": KEPT[setting],
            }
        )
    return outcome
