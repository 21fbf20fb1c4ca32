"""Figures of a run: latencies by operation, calls over time, how fairly workers were served.

Memory is bounded: latencies go into buckets whose width grows with the value, calls over
time into buckets of a tenth of a second.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from ..durations import Durations
from ..operations import Op
from .origin import Origin

PERCENTILES = (50.0, 90.0, 99.0, 99.9)
_TICK_MS = 100
_POINTS = 600
_INCARNATION = re.compile(r"(.+?-\d+)-\d+(-t\d+)?")


@dataclass(slots=True)
class Latency:
    """The latencies of one operation."""

    count: int = 0
    refused: int = 0
    unknown: int = 0
    took: Durations = field(default_factory=Durations)

    def add(self, op: Op) -> None:
        self.count += 1
        if op.status == "unknown":
            self.unknown += 1
            return
        self.refused += op.status == "fail" or op.result is False
        self.took.add(op.returned - op.invoked)

    def describe(self, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "count": self.count,
            "refused": self.refused,
            "unknown": self.unknown,
            "ms": [self.took.percentile(percent) for percent in PERCENTILES],
            "longest_ms": round(self.took.longest / 1e6, 3),
        }


@dataclass(slots=True)
class Share:
    """What one worker, with all its restarts, got done."""

    processes: set[str] = field(default_factory=set)
    calls: int = 0
    claims: int = 0
    longest_ns: int = 0


class Figures:
    """Fed with every call of a run."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._latencies: dict[str, Latency] = defaultdict(Latency)
        self._shares: dict[str, Share] = defaultdict(Share)
        self._calls: Counter[int] = Counter()
        self._claims: Counter[int] = Counter()

    def add(self, op: Op) -> None:
        self._latencies[op.name].add(op)
        share = self._shares[slot_of(op.process)]
        share.processes.add(op.process)
        share.calls += 1
        tick = int(self._origin.ms(op.invoked) // _TICK_MS)
        self._calls[tick] += 1
        if op.status != "unknown":
            share.longest_ns = max(share.longest_ns, op.returned - op.invoked)
        if "claim" in op.name and op.result:
            claimed = len(op.result) if isinstance(op.result, list) else 1
            share.claims += claimed
            self._claims[tick] += claimed

    def latencies(self) -> list[dict[str, Any]]:
        return [self._latencies[name].describe(name) for name in sorted(self._latencies)]

    def throughput(self) -> dict[str, Any]:
        """Calls and claims a second, in at most `_POINTS` steps of equal length."""
        if not self._calls:
            return {"from_ms": 0, "step_ms": _TICK_MS, "calls": [], "claims": []}
        first, last = min(self._calls), max(self._calls)
        width = max(1, math.ceil((last - first + 1) / _POINTS))
        steps = range((last - first) // width + 1)
        series = {}
        for name, counts in (("calls", self._calls), ("claims", self._claims)):
            sums: Counter[int] = Counter()
            for tick, count in counts.items():
                sums[(tick - first) // width] += count
            series[name] = [round(sums[step] * 1000 / (width * _TICK_MS), 1) for step in steps]
        return {"from_ms": first * _TICK_MS, "step_ms": width * _TICK_MS, **series}

    def fairness(self) -> dict[str, Any]:
        """Each worker's share, and Jain's index of the calls: 1 is perfectly fair."""
        shares = [
            {
                "worker": slot,
                "processes": len(share.processes),
                "calls": share.calls,
                "claims": share.claims,
                "longest_ms": round(share.longest_ns / 1e6, 1),
            }
            for slot, share in sorted(self._shares.items())
        ]
        return {
            "workers": shares,
            "jain_calls": _jain([share.calls for share in self._shares.values()]),
            "jain_claims": _jain([share.claims for share in self._shares.values()]),
        }


def slot_of(process: str) -> str:
    """The worker that a process is an incarnation of: "worker-02" for "worker-02-003".

    A thread is a worker of its own: "worker-02-t1" for "worker-02-003-t1".
    """
    found = _INCARNATION.fullmatch(process)
    return f"{found[1]}{found[2] or ''}" if found else process


def _jain(shares: list[int]) -> float | None:
    squares = sum(share * share for share in shares)
    return round(sum(shares) ** 2 / (len(shares) * squares), 3) if squares else None
