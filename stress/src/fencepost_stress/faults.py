"""The faults of a plan: what is done to a run, when, and to whom.

All of it is a function of the seed. A fault-free warm-up comes before, and the healing
after; the nemesis carries the faults out, the workers those that are about themselves
(their clock, a fork, their share of the disk).
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from .live import CALLING, IDLE, INSIDE

FaultKind: TypeAlias = Literal[
    "kill", "pause", "restart", "clock", "hog", "reader", "checkpoint", "fork", "full", "storm"
]
FAULTS: tuple[FaultKind, ...] = (
    "kill",
    "pause",
    "restart",
    "clock",
    "hog",
    "reader",
    "checkpoint",
    "fork",
    "full",
    "storm",
)
KILLS_AND_PAUSES: tuple[FaultKind, ...] = ("kill", "pause")

CHECKPOINTS = ("PASSIVE", "FULL", "RESTART", "TRUNCATE")
POINTS = ("begun", "written", "committed", "claimed")
"""Where a worker can be killed by name: after BEGIN, before COMMIT, after it, after a claim."""

BUSY_TIMEOUT_MS = 1200
"""With faults that hold the lock: short, so that a run sees it end."""

_WARM_UP_MS = 800
_MEAN_GAP_MS: dict[FaultKind, int] = {
    "kill": 700,
    "pause": 1100,
    "restart": 1900,
    "clock": 1500,
    "hog": 1700,
    "reader": 1500,
    "checkpoint": 1300,
    "fork": 1700,
    "full": 2300,
}
_AIMS: dict[FaultKind, tuple[int, ...]] = {
    "kill": (IDLE, CALLING, INSIDE, INSIDE),
    "restart": (IDLE, CALLING, INSIDE),
    # Who is stopped inside a transaction stops everybody: enough to see it now and then.
    "pause": (IDLE, IDLE, IDLE, CALLING, CALLING, INSIDE),
}
_STRIKES_A_WORKER: tuple[FaultKind, ...] = ("kill", "pause", "restart")
_SETTLE_MS = 900
"""A process is left alone for so long after a fault, so that it gets some work done."""

_MOST_OFFSET_MS = 250
_MOST_DRIFT_PPM = 20_000
_STEP_MS = (-700, -300, 300, 700)


class Fault(msgspec.Struct, frozen=True):
    """One fault: `at_ms` after the start, on the process in `slot` where it has one.

    `aim` is the stage of `live` that the nemesis waits for, a short while; at any
    instant a worker may be between its calls, where a fault proves little. `detail` is
    the point of a kill, or the mode of a checkpoint; `step_ms` is how far a clock jumps.
    """

    at_ms: int
    kind: FaultKind
    slot: int
    duration_ms: int = 0
    aim: int = IDLE
    detail: str = ""
    step_ms: int = 0


class ClockError(msgspec.Struct, frozen=True):
    """How far one process's clock is off from the start, and by how much more each second."""

    offset_ms: int = 0
    drift_ppm: int = 0


def make_faults(
    rng: random.Random, processes: int, load_ms: int, lease_ms: int, kinds: Sequence[FaultKind]
) -> list[Fault]:
    """The faults between the warm-up and the healing, none on a process that still has one."""
    warm_up = min(_WARM_UP_MS, load_ms // 5)
    moments: list[tuple[int, FaultKind]] = []
    for kind in sorted(kinds):
        if kind not in _MEAN_GAP_MS:
            continue
        at = float(warm_up)
        while (at := at + rng.uniform(0.5, 1.5) * _MEAN_GAP_MS[kind]) < load_ms:
            moments.append((int(at), kind))
    free_at = [0] * processes
    planned: list[Fault] = []
    for at_ms, kind in sorted(moments):
        slots = [slot for slot in range(processes) if free_at[slot] <= at_ms]
        if not slots and kind in _STRIKES_A_WORKER:
            continue
        first = all(fault.kind != kind for fault in planned)
        fault = _fault(rng, at_ms, kind, rng.choice(slots or range(processes)), lease_ms, first)
        if kind in _STRIKES_A_WORKER:
            free_at[fault.slot] = at_ms + fault.duration_ms + _SETTLE_MS
        planned.append(fault)
    return planned


def _fault(
    rng: random.Random, at_ms: int, kind: FaultKind, slot: int, lease_ms: int, first: bool
) -> Fault:
    fault = Fault(at_ms, kind, slot, aim=rng.choice(_AIMS.get(kind, (IDLE,))))
    details: dict[str, Any] = {}
    match kind:
        case "pause":
            details = {"duration_ms": round(rng.uniform(1.2, 1.8) * lease_ms)}
        case "kill":
            details = {"detail": rng.choice(("", "", *POINTS))}
        case "hog":
            # The first is longer than the busy timeout, so that a short run sees that too.
            most = 1.3 if first else rng.choice((0.3, 0.3, 1.3))
            details = {"duration_ms": round(most * BUSY_TIMEOUT_MS)}
        case "reader":
            details = {"duration_ms": rng.randrange(300, 1500)}
        case "checkpoint":
            details = {"duration_ms": rng.randrange(100, 500), "detail": rng.choice(CHECKPOINTS)}
        case "full":
            details = {"duration_ms": rng.randrange(100, 400)}
        case "clock":
            details = {"step_ms": rng.choice(_STEP_MS)}
    return msgspec.structs.replace(fault, **details)


def make_clocks(rng: random.Random, processes: int) -> list[ClockError]:
    """A clock of its own for each process."""
    return [
        ClockError(
            rng.randint(-_MOST_OFFSET_MS, _MOST_OFFSET_MS),
            rng.randint(-_MOST_DRIFT_PPM, _MOST_DRIFT_PPM),
        )
        for _ in range(processes)
    ]


class ClockPath:
    """How far a process's clock is off, over time.

    It starts off by its offset, and drifts; a step puts it to another distance, as a
    correction from outside does, from where it drifts again.
    """

    def __init__(self, clock: ClockError, faults: Sequence[Fault], slot: int) -> None:
        mine = [fault for fault in faults if fault.kind == "clock" and fault.slot == slot]
        self._clock = clock
        self.moments = [0, *(fault.at_ms for fault in mine)]
        self._steps = [0, *(fault.step_ms for fault in mine)]

    def error_ms(self, elapsed_ms: float) -> int:
        """How far it is off, so long after the start."""
        last = max(0, bisect_right(self.moments, elapsed_ms) - 1)
        drifted = self._clock.drift_ppm * (elapsed_ms - self.moments[last]) / 1e6
        return self._clock.offset_ms + self._steps[last] + round(drifted)


def clock_error_ms(paths: Sequence[ClockPath], last_ms: int) -> int:
    """How far apart any two of the clocks, at any two moments, can be."""
    errors = [0]
    for path in paths:
        # An error is greatest where a clock is stepped, or just before.
        ends = [moment - 1 for moment in path.moments[1:]] + [last_ms]
        errors += [path.error_ms(moment) for moment in (*path.moments, *ends)]
    return max(errors) - min(errors)
