"""L1: no busy error within the busy timeout under legitimate load, and no worker starves.

Of single calls, and of opening the store:

- A busy answer that comes before the timeout is over is wrong whatever the load.
- One that comes after it is wrong unless somebody was made to hold the lock for a tenth of
  the timeout at least: a process that was stopped in a call, or a fault that takes the lock.
- So is any call that waits longer than the timeout when such times are left out, also one
  that never returns: until its process was gone, or until the end.

Of calls that wait for the lock: no more than one in a thousand is overtaken by a dozen turns of
each of the others (see `overtaken`).

Of workers that all have the same to do, while the load is on. Such times count for nobody
(see `stalls`).

- Nobody is without a call that had the lock for three seconds in which others had hundreds.
- Nobody gets less than a twentieth of the mean rate; whoever gets nothing at all is one of
  them. Jain's index of the rates is reported: 1 when all get the same, 1/n when one gets
  everything.

A call had the lock when it read the clock and returned. Waiting for work is none of this:
who sleeps in it wants nothing.

What would be right but for times in which the machine let nobody work is undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappush, heapreplace

from ..durations import Durations
from ..operations import NEVER, WAIT, Commit, Event, Op
from .base import End, Finding, Ledger, Life
from .overtaken import TURNS, Overtaken
from .stalls import STOOD_STILL, Between, Stalls

_SLACK = 0.9
_KEPT = 1000
_STARVING = 0.05
_LEAST_CALLS = 500
_STRETCH_NS = 3_000_000_000
_MEANWHILE = 200
"""So many calls of others in a stretch show that the lock was to be had."""
_TICK_NS = 100_000_000
_OVERTAKEN_SHOWN = 3


@dataclass(slots=True)
class _Share:
    """What one process got: its calls, and the long stretches without any."""

    first: int
    last: int
    calls: int = 0
    asleep: int = 0
    stretches: list[tuple[int, int]] = field(default_factory=list)

    def served(self, until: int) -> None:
        """A call returned."""
        if until - self.last > _STRETCH_NS:
            self.stretches.append((self.last, until))
        self.last = max(self.last, until)


class Patience:
    id = "L1"
    promise = "no busy error within the busy timeout; no worker starves"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._shares: dict[str, _Share] = {}
        self._late: list[Op] = []
        self._open: list[Op] = []
        self._waits = Durations()
        self._long: list[tuple[int, int, Op]] = []
        self._ticks: Counter[int] = Counter()
        self._latest = 0
        self._between = Between()
        self._overtaken = Overtaken()

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            op = event.op
            if op is None or (type(event) is Commit and op.rows[0].seq != event.change.seq):
                continue
            self._between.add(op)
            self._latest = max(self._latest, op.invoked)
            if op.returned == NEVER:
                self._open.append(op)
            elif op.status == "fail" and op.code == "busy":
                self.ledger.exercised += 1
                self._late.append(op)
            elif op.name == WAIT:
                self._slept(op)
            elif op.clock:
                self.ledger.exercised += 1
                self._waited(op)
                self._overtaken.add(op)

    def _slept(self, op: Op) -> None:
        """It waited for work, not for the lock, and came back."""
        share = self._share(op)
        share.asleep += op.returned - op.invoked
        share.served(op.returned)

    def _share(self, op: Op) -> _Share:
        share = self._shares.get(op.process)
        if share is None:
            share = self._shares[op.process] = _Share(op.invoked, op.invoked)
        return share

    def _waited(self, op: Op) -> None:
        wait = op.returned - op.invoked
        self._waits.add(wait)
        # Not the longest alone: that one may have its reason, and a shorter one none.
        entry = (wait, self.ledger.exercised, op)
        if len(self._long) < _KEPT:
            heappush(self._long, entry)
        elif wait > self._long[0][0]:
            heapreplace(self._long, entry)
        self._latest = max(self._latest, op.returned)
        self._ticks[op.returned // _TICK_NS] += 1
        share = self._share(op)
        share.calls += 1
        share.served(op.returned)

    def finish(self, end: End) -> Finding:
        stalls = [Stalls(end, self._between, still=still) for still in (False, True)]
        excused = self._busy(end, stalls)
        self._slow(end, stalls)
        overtaken = self._out_of_line(stalls)
        jain = self._fairness(end, stalls) if end.even else None
        return self.ledger.finding(
            **{f"p{share}_ms": self._waits.percentile(share) for share in (50, 95, 99)},
            longest_ms=round(self._waits.longest / 1e6, 1),
            jain=jain,
            busy_excused=excused,
            overtaken=overtaken,
            still_ms=sum(until - since for since, until in end.still) // 1_000_000,
        )

    def _object(
        self,
        wrong: Callable[[Stalls], bool],
        stalls: Sequence[Stalls],
        message: str,
        ops: Sequence[Op] = (),
    ) -> bool:
        """Object to what is wrong; where that is only as the machine stood still, doubt it.

        `stalls` are without such times, and with them.
        """
        without, with_them = stalls
        if not wrong(without):
            return False
        if wrong(with_them):
            self.ledger.violation(message, ops)
        else:
            self.ledger.doubt(f"{message}; {STOOD_STILL}")
        return True

    def _busy(self, end: End, stalls: Sequence[Stalls]) -> int:
        """Judge the busy answers; gives how many had their reason."""
        self.ledger.exercised += len(end.not_opened)
        told: list[tuple[str, str, int, int, list[Op]]] = [
            (f"{process}, opening the store,", process, since, until, [])
            for process, since, until in end.not_opened
        ]
        told += [(op.name, op.process, op.invoked, op.returned, [op]) for op in self._late]
        wrong = 0
        for what, process, since, until, ops in told:
            wrong += self._object(
                partial(_is_unfounded, process, since, until, end.busy_timeout_ms * 1_000_000),
                stalls,
                f"{what} was told busy after {(until - since) / 1e6:.0f} ms; the busy timeout is "
                f"{end.busy_timeout_ms} ms and nobody was made to hold the lock",
                ops,
            )
        return len(told) - wrong

    def _slow(self, end: End, stalls: Sequence[Stalls]) -> None:
        """Judge the calls that took long, and those that never returned."""
        timeout = end.busy_timeout_ms * 1_000_000
        for wait, _, op in sorted(self._long, key=lambda entry: entry[1]):
            if wait > timeout:
                message = f"{op.name} waited for {wait / 1e6:.0f} ms"
                self._object(partial(_is_over, op, op.returned, timeout), stalls, message, [op])
        for op in self._open:
            life = end.lives.get(op.process)
            until = max(self._latest, op.invoked) if life is None else life.gone
            allowed = timeout + op.args.get("timeout_ms", 0) * 1_000_000
            self._object(
                partial(_is_over, op, until, allowed),
                stalls,
                f"{op.name} had not returned after {(until - op.invoked) / 1e6:.0f} ms, "
                "when its process was ended or the run was over",
                [op],
            )

    def _out_of_line(self, stalls: Sequence[Stalls]) -> int:
        """Judge how often calls that waited were overtaken; gives how many were too often."""
        self._overtaken.finish()
        found = sorted(self._overtaken.those(stalls[0]), key=lambda one: one[0], reverse=True)
        if found:
            self._object(
                self._overtaken.too_often,
                stalls,
                f"{len(found):,} calls were overtaken by {TURNS} turns or more of each of the "
                f"others, one by {found[0][0]:.0f}: who waits stands in no line",
                [op for _, op in found[:_OVERTAKEN_SHOWN]],
            )
        return len(found)

    def _fairness(self, end: End, stalls: Sequence[Stalls]) -> float | None:
        """Judge what each got of the time that it had; gives Jain's index, None without any."""
        shares = self._during_load(end.lives)
        starved = {
            process
            for process, share in shares.items()
            for since, until in share.stretches
            if self._starved(process, since, until, stalls)
        }
        rates = {one: self._rates(shares, one) for one in stalls}
        judged = rates[stalls[0]]
        if not any(judged.values()):
            return None
        mean = sum(judged.values()) / len(judged)
        if sum(share.calls for share in shares.values()) >= _LEAST_CALLS:
            for process in sorted(judged.keys() - starved):
                self._object(
                    partial(_is_slow, process, rates),
                    stalls,
                    f"{process} starves: {judged[process]:.1f} calls a second, "
                    f"where the mean is {mean:.1f}",
                )
        squares = sum(rate * rate for rate in judged.values())
        return round(sum(judged.values()) ** 2 / (len(judged) * squares), 3)

    def _rates(self, shares: Mapping[str, _Share], stalls: Stalls) -> dict[str, float]:
        """Calls a second, of those who had the time to make some."""
        rates = {}
        for process, share in shares.items():
            stalled = stalls.within(process, share.first, share.last)
            active = share.last - share.first - stalled - share.asleep
            if active >= _STRETCH_NS:
                rates[process] = share.calls * 1e9 / active
        return rates

    def _during_load(self, lives: Mapping[str, Life]) -> dict[str, _Share]:
        """Each process's share of its life under load, also of one that got nothing."""
        shares = dict(self._shares)
        for process, life in lives.items():
            if life.began >= life.ended:
                # It only helped to finish.
                shares.pop(process, None)
                continue
            share = shares.setdefault(process, _Share(life.began, life.began))
            if share.first - life.began > _STRETCH_NS:
                share.stretches.insert(0, (life.began, share.first))
            share.first = min(share.first, life.began)
            share.served(life.ended)
        return shares

    def _starved(self, process: str, since: int, until: int, stalls: Sequence[Stalls]) -> bool:
        """Judge a stretch in which a process got nothing."""
        # Whole ticks between, so that what it got itself at the ends is not among them.
        ticks = range(since // _TICK_NS + 1, until // _TICK_NS)
        others = sum(self._ticks[tick] for tick in ticks)
        if others < _MEANWHILE:
            return False
        idle = until - since - stalls[0].within(process, since, until)
        return self._object(
            lambda one: until - since - one.within(process, since, until) > _STRETCH_NS,
            stalls,
            f"{process} starves: nothing for {idle / 1e6:.0f} ms, in which others had "
            f"{others:,} calls",
        )


def _is_unfounded(process: str, since: int, until: int, timeout: int, stalls: Stalls) -> bool:
    """Whether a busy answer came too soon, or nobody was made to hold the lock."""
    if until - since < _SLACK * timeout:
        return True
    return stalls.within(process, since, until) < (1 - _SLACK) * timeout


def _is_over(op: Op, until: int, allowed: int, stalls: Stalls) -> bool:
    """Whether a call took longer than it is allowed to."""
    return until - op.invoked - stalls.within(op.process, op.invoked, until) > allowed


def _is_slow(process: str, rates: Mapping[Stalls, Mapping[str, float]], stalls: Stalls) -> bool:
    """Whether a process got far less than the mean."""
    among = rates[stalls]
    return process in among and among[process] * len(among) < _STARVING * sum(among.values())
