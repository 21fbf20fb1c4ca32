"""The plan of a run: a function of the seed and the options, and of nothing else."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from .faults import (
    BUSY_TIMEOUT_MS,
    FAULTS,
    ClockError,
    ClockPath,
    Fault,
    FaultKind,
    clock_error_ms,
    make_clocks,
    make_faults,
)
from .workloads import PRUNING, WORKLOADS

Synchronous: TypeAlias = Literal["full", "normal"]
__all__ = ["FAULTS", "Fault", "FaultKind", "Plan", "Synchronous", "make_plan"]

LEASE_MS = 600
RACE_MS = 200
_LOG_IS_PINNED: frozenset[FaultKind] = frozenset({"pause", "reader", "checkpoint"})
"""A process that is stopped while it reads is a reader that stays."""
_LOG_BYTES = 32 << 20
"""Several times what a store keeps of its log while nothing pins it."""
_PINNED_LOG_BYTES = 128 << 20
_LOCK_IS_HELD: frozenset[FaultKind] = frozenset({"hog", "full"})

_BY_FAULT: dict[FaultKind, tuple[str, ...]] = {
    "kill": ("worker killed", "worker killed during a call"),
    "pause": ("worker paused past a lease",),
}
"""What a fault must have brought about, beside having happened."""


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
    clocks: tuple[ClockError, ...] = ()
    busy_timeout_ms: int = 5000
    lease_ms: int = LEASE_MS
    race_ms: int = RACE_MS
    think_ms: float = 1.0
    short_leases: float = 0.15
    keys: int = 6
    heal_patience_ms: int = 3000
    heal_limit_ms: int = 20_000
    wal_limit_bytes: int = _PINNED_LOG_BYTES
    checker_budget_seconds: float = 120.0
    workload: str = "mixed"
    weights: dict[str, int] = {}

    @property
    def load_ms(self) -> int:
        """How long new work is made; healing follows."""
        return round(self.seconds * 1000)

    @property
    def is_pruned(self) -> bool:
        """Whether a worker prunes the store."""
        return bool(self.weights.get(PRUNING))

    def clock_path(self, slot: int) -> ClockPath | None:
        """How far the clock of a slot's process is off; None where clocks are true."""
        return ClockPath(self.clocks[slot], self.faults, slot) if self.clocks else None

    @property
    def clock_error_ms(self) -> int:
        """How far any two clocks of the run can be apart: what the checkers must allow for."""
        paths = [path for slot in range(self.processes) if (path := self.clock_path(slot))]
        return clock_error_ms(paths, self.load_ms + self.heal_limit_ms) if paths else 0


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
        required.extend(_BY_FAULT.get(kind, ()))
        required.append(f"fault: {kind}")
    return Plan(
        seed=seed,
        engine=engine,
        processes=processes,
        seconds=seconds,
        faults_asked=faults,
        profile=profile,
        faults=tuple(make_faults(rng, processes, round(seconds * 1000), LEASE_MS, faults)),
        required=tuple(required),
        synchronous=synchronous,
        workload=workload,
        weights=work.weights,
        race_ms=RACE_MS if work.races else 0,
        clocks=tuple(make_clocks(rng, processes)) if "clock" in faults else (),
        wal_limit_bytes=_PINNED_LOG_BYTES if _LOG_IS_PINNED.intersection(faults) else _LOG_BYTES,
        busy_timeout_ms=BUSY_TIMEOUT_MS if _LOCK_IS_HELD.intersection(faults) else 5000,
    )


def save(plan: Plan, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")


def load(path: Path) -> Plan:
    return msgspec.json.decode(path.read_bytes(), type=Plan)
