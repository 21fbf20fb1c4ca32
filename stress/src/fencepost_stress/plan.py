"""The plan of a run: a function of the seed and the options, and of nothing else."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from .live import CALLING, IDLE, INSIDE
from .workloads import WORKLOADS

FaultKind: TypeAlias = Literal["kill", "pause"]
Synchronous: TypeAlias = Literal["full", "normal"]
FAULTS: tuple[FaultKind, ...] = ("kill", "pause")

LEASE_MS = 600
RACE_MS = 200
_WARM_UP_MS = 800
_MEAN_GAP_MS: dict[FaultKind, int] = {"kill": 700, "pause": 1100}
_AIMS: dict[FaultKind, tuple[int, ...]] = {
    "kill": (IDLE, CALLING, INSIDE, INSIDE),
    # Who is stopped inside a transaction stops everybody: enough to see it now and then.
    "pause": (IDLE, IDLE, IDLE, CALLING, CALLING, INSIDE),
}
_SETTLE_MS = 900
"""A process is left alone for so long after a fault, so that it gets some work done."""

_BY_FAULT: dict[FaultKind, tuple[str, ...]] = {
    "kill": ("worker killed", "worker killed during a call"),
    "pause": ("worker paused past a lease",),
}


class Fault(msgspec.Struct, frozen=True):
    """One fault: `at_ms` after the start, on the process in `slot`.

    `aim` is the stage of `live` that the nemesis waits for, a short while; at any
    instant a worker may be between its calls, where a fault proves little.
    """

    at_ms: int
    kind: FaultKind
    slot: int
    duration_ms: int = 0
    aim: int = IDLE


class Plan(msgspec.Struct, frozen=True):
    """Everything that a run depends on, beside the machine."""

    seed: int
    engine: str
    processes: int
    seconds: float
    faults_asked: tuple[FaultKind, ...]
    profile: str
    faults: tuple[Fault, ...]
    required: tuple[str, ...]
    synchronous: Synchronous = "normal"
    lease_ms: int = LEASE_MS
    race_ms: int = RACE_MS
    think_ms: float = 1.0
    short_leases: float = 0.15
    keys: int = 6
    heal_patience_ms: int = 3000
    heal_limit_ms: int = 20_000
    wal_limit_bytes: int = 128 << 20
    checker_budget_seconds: float = 120.0
    workload: str = "mixed"
    weights: dict[str, int] = {}

    @property
    def load_ms(self) -> int:
        """How long new work is made; healing follows."""
        return round(self.seconds * 1000)


def make_plan(
    *,
    seed: int,
    engine: str,
    processes: int,
    seconds: float,
    faults: tuple[FaultKind, ...],
    profile: str = "custom",
    workload: str = "mixed",
    synchronous: Synchronous = "normal",
) -> Plan:
    """The plan for a seed. The same arguments give the same plan, on every machine.

    `synchronous` is the store's. A killed process loses nothing with either; with
    `normal` there are several times more calls to judge in the same time.
    """
    rng = random.Random(f"{seed}/{processes}/{seconds}/{','.join(sorted(faults))}")
    work = WORKLOADS[workload]
    required = list(work.required)
    for kind in faults:
        required.extend(_BY_FAULT[kind])
    return Plan(
        seed=seed,
        engine=engine,
        processes=processes,
        seconds=seconds,
        faults_asked=faults,
        profile=profile,
        faults=tuple(_faults(rng, processes, round(seconds * 1000), faults)),
        required=tuple(required),
        synchronous=synchronous,
        workload=workload,
        weights=work.weights,
        race_ms=RACE_MS if work.races else 0,
    )


def _faults(
    rng: random.Random, processes: int, load_ms: int, kinds: tuple[FaultKind, ...]
) -> list[Fault]:
    """Faults between the warm-up and the healing, none on a process that still has one."""
    warm_up = min(_WARM_UP_MS, load_ms // 5)
    moments: list[tuple[int, FaultKind]] = []
    for kind in sorted(kinds):
        at = float(warm_up)
        while (at := at + rng.uniform(0.5, 1.5) * _MEAN_GAP_MS[kind]) < load_ms:
            moments.append((round(at), kind))
    free_at = [0] * processes
    planned: list[Fault] = []
    for at_ms, kind in sorted(moments):
        slots = [slot for slot in range(processes) if free_at[slot] <= at_ms]
        if not slots:
            continue
        slot = rng.choice(slots)
        duration = round(rng.uniform(1.2, 1.8) * LEASE_MS) if kind == "pause" else 0
        free_at[slot] = at_ms + duration + _SETTLE_MS
        aim = rng.choice(_AIMS[kind])
        planned.append(Fault(at_ms, kind, slot, duration, aim))
    return planned


def save(plan: Plan, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")


def load(path: Path) -> Plan:
    return msgspec.json.decode(path.read_bytes(), type=Plan)
