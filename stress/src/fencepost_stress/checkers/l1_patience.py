"""L1: no busy error within the busy timeout under legitimate load, and no worker starves.

- A busy answer that comes before the timeout is over is wrong whatever the load.
- One that comes after it is wrong unless somebody was made to hold the lock meanwhile: a
  process that was stopped, or a fault that takes the lock.
- So is any call that waits longer than the timeout without such a reason.
- Starving is a process that gets less than a twentieth of the mean rate. Jain's index of
  the rates is reported: 1 when all get the same, 1/n when one gets everything.

Rates count the calls that read the clock, so had the lock. Times in which a process was
stopped, or a fault held the lock, count for nobody: who is stopped may hold the lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappush, heapreplace

from ..operations import NEVER, Commit, Event, Op
from .base import End, Finding, Ledger

_SLACK = 0.9
_KEPT = 1000
_STARVING = 0.05
_LEAST_CALLS = 500
_LEAST_NS = 2_000_000_000


@dataclass(slots=True)
class _Share:
    """What one process got."""

    first: int
    last: int
    calls: int = 0


class Patience:
    id = "L1"
    promise = "no busy error within the busy timeout; no worker starves"

    def __init__(self) -> None:
        self._ledger = Ledger(self)
        self._shares: dict[str, _Share] = {}
        self._late: list[Op] = []
        self._waits: Counter[int] = Counter()
        self._long: list[tuple[int, int, Op]] = []

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            op = event.op
            if op is None or (type(event) is Commit and op.rows[0].seq != event.change.seq):
                continue
            if op.status == "fail" and op.code == "busy":
                self._ledger.exercised += 1
                self._late.append(op)
            elif op.clock and op.returned != NEVER:
                self._ledger.exercised += 1
                self._waited(op)

    def _waited(self, op: Op) -> None:
        wait = op.returned - op.invoked
        self._waits[wait.bit_length()] += 1
        # Not the longest alone: that one may have its reason, and a shorter one none.
        entry = (wait, self._ledger.exercised, op)
        if len(self._long) < _KEPT:
            heappush(self._long, entry)
        elif wait > self._long[0][0]:
            heapreplace(self._long, entry)
        share = self._shares.get(op.process)
        if share is None:
            share = self._shares[op.process] = _Share(op.invoked, op.invoked)
        share.calls += 1
        share.last = op.invoked

    def finish(self, end: End) -> Finding:
        timeout = end.busy_timeout_ms * 1_000_000
        excused = 0
        for op in self._late:
            waited = op.returned - op.invoked
            if waited >= _SLACK * timeout and _held(op, end):
                excused += 1
            else:
                self._ledger.violation(
                    f"{op.name} was told busy after {waited / 1e6:.0f} ms; the busy timeout is "
                    f"{end.busy_timeout_ms} ms and nobody was made to hold the lock",
                    [op],
                )
        for wait, _, op in sorted(self._long, key=lambda entry: entry[1]):
            if wait > timeout and not _held(op, end):
                self._ledger.violation(f"{op.name} waited for {wait / 1e6:.0f} ms", [op])
        jain = self._fairness(end)
        details = {f"p{share}_ms": self._percentile(share) for share in (50, 95, 99)}
        longest = max(self._long)[0] / 1e6 if self._long else 0.0
        return self._ledger.finding(
            **details,
            longest_ms=round(longest, 1),
            jain=jain,
            busy_excused=excused,
        )

    def _fairness(self, end: End) -> float:
        rates = {}
        stalls = _joined([*((since, until) for _, since, until in end.pauses), *end.holds])
        for process, share in self._shares.items():
            stalled = sum(
                max(0, min(until, share.last) - max(since, share.first)) for since, until in stalls
            )
            active = share.last - share.first - stalled
            if active >= _LEAST_NS:
                rates[process] = share.calls * 1e9 / active
        if not rates:
            return 1.0
        mean = sum(rates.values()) / len(rates)
        for process, rate in rates.items():
            if sum(share.calls for share in self._shares.values()) < _LEAST_CALLS:
                break
            if rate < _STARVING * mean:
                self._ledger.violation(
                    f"{process} starves: {rate:.1f} calls a second, where the mean is {mean:.1f}"
                )
        squares = sum(rate * rate for rate in rates.values())
        return round(sum(rates.values()) ** 2 / (len(rates) * squares), 3)

    def _percentile(self, share: int) -> float:
        """An upper bound, to a factor of two."""
        left = sum(self._waits.values()) * share / 100
        for bits in sorted(self._waits):
            left -= self._waits[bits]
            if left <= 0:
                return round((1 << bits) / 1e6, 3)
        return 0.0


def _held(op: Op, end: End) -> bool:
    """Whether somebody was made to hold the lock, or the caller was stopped, during the call."""
    stretches = [(since, until) for _, since, until in end.pauses]
    return any(
        since < op.returned and until > op.invoked for since, until in [*stretches, *end.holds]
    )


def _joined(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same times, each once."""
    joined: list[tuple[int, int]] = []
    for since, until in sorted(stretches):
        if joined and since <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(until, joined[-1][1]))
        else:
            joined.append((since, until))
    return joined
