"""Q1: who asks for work is not told that there is none while there is some.

An item is definitely free from the return of the call that put it there, or that gave it
back, or from the latest end of its lease, until the first call begins that may take it.
A claim that found nothing is wrong when an item was free all the while, from before it
began until after it returned; each claim of unknown outcome may have taken one item.

A claim that waits, and gets an item for which it slept a second and a half too long, has lost
its wake-up: no stop of a process in a plan lasts as long. Shorter delays are counted and not
judged, as the machine may have been busy.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from ..checkers.base import Finding, Ledger
from ..checkers.stalls import STOOD_STILL, within
from ..operations import NEVER, Op
from .calls import Call
from .terms import Evidence, Terms

_LATE_NS = 1_500_000_000
_TAKING = frozenset({"claim", "complete", "delete", "release", "renew"})


class Empty:
    id = "Q1"
    promise = "no lost wake-up: nobody is told 'nothing to do' while there is something"

    def __init__(self) -> None:
        self.ledgers: tuple[Ledger, ...] = (Ledger(self),)

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        (ledger,) = self.ledgers
        free = sorted(
            span
            for calls in evidence.calls.by_run.values()
            for span in _free(calls, evidence.terms)
        )
        asked = sorted(evidence.calls.empty, key=_asked_from)
        ghosts = _Ghosts(evidence)
        ends: list[tuple[int, str]] = []
        began = {(end, run): start for start, end, run in free}
        at = 0
        for call in asked:
            since, returned = _asked_from(call), call.op.returned
            ledger.exercised += 1
            while at < len(free) and free[at][0] < since:
                insort(ends, free[at][1:])
                at += 1
            del ends[: bisect_left(ends, (since, ""))]
            waiting = ends[bisect_left(ends, (returned + 1, "")) :]
            if len(waiting) > ghosts.before(since, returned):
                ledger.violation(*_explain(evidence, call, waiting[-1], began[waiting[-1]]))
        late = 0
        for call, slept in _slept(evidence):
            wait = call.op.args["wait_ms"] * 1_000_000
            ledger.exercised += 1
            late += slept > wait // 2
            if slept > _LATE_NS and not ghosts.before(call.high - slept, call.high):
                message = (
                    f"{call.op.process} slept for {slept / 1e6:.0f} ms beside {call.run!r}, "
                    "for which it waited"
                )
                if slept - within(evidence.still, call.high - slept, call.high) <= _LATE_NS:
                    ledger.doubt(f"{message}; {STOOD_STILL}")
                    continue
                around = evidence.calls.by_run[str(call.run)]
                ledger.violation(message, [one.op for one in around if one.low <= call.high])
        yield ledger.finding(free_spans=len(free), woken_late=late)


def _slept(evidence: Evidence) -> Iterator[tuple[Call, int]]:
    """Claims that waited and got something, and for how many nanoseconds that had been free."""
    for calls in evidence.calls.by_run.values():
        for call in calls:
            if not call.op.args.get("wait_ms") or call.unknown:
                continue
            freed = [_freed(one, calls, evidence.terms) for one in calls if one is not call]
            since = max((moment for moment in freed if moment and moment <= call.high), default=0)
            others = [one for one in calls if one.name == "claim" and one is not call]
            if since and not any(one.low <= call.high and one.high > since for one in others):
                yield call, call.high - max(since, call.low)


def _asked_from(call: Call) -> int:
    """A claim that waited must have noticed what was free for the last half of its wait."""
    waited: int = call.op.args.get("wait_ms", 0) * 1_000_000
    return max(call.low, call.op.returned - waited // 2) if waited else call.low


class _Ghosts:
    """How many items claims of unknown outcome may hold at a time."""

    def __init__(self, evidence: Evidence) -> None:
        self._spans = [(call.low, self._until(call, evidence)) for call in evidence.calls.ghosts]

    @staticmethod
    def _until(call: Call, evidence: Evidence) -> int:
        terms = evidence.terms
        if terms.lease != "expires" or call.high == NEVER:
            return NEVER
        return call.high + terms.lease_ns + terms.error_ns

    def before(self, since: int, returned: int) -> int:
        return sum(low <= returned and until >= since for low, until in self._spans)


def _free(calls: Sequence[Call], terms: Terms) -> Iterator[tuple[int, int, str]]:
    """When an item was definitely free, and its name."""
    acting = [
        call
        for call in calls
        if call.name in _TAKING and not call.refused and call.result is not False
    ]
    ended = min((call.low for call in acting if call.name in {"complete", "delete"}), default=NEVER)
    for call in calls:
        since = _freed(call, calls, terms)
        if since is None or since >= ended:
            continue
        # Whoever returned after it began may have come after it, and before it returned.
        others = [
            one.low
            for one in acting
            if one.high > call.low and not (one is call or _renews(one, call))
        ]
        until = min([ended, *others])
        if until > since:
            yield since, until, str(call.run)


def _renews(call: Call, claim: Call) -> bool:
    return call.name == "renew" and call.claim == claim.claim


def _freed(call: Call, calls: Sequence[Call], terms: Terms) -> int | None:
    """From when on the item was free by this call, if it was."""
    if call.unknown or call.refused:
        return None
    if call.name == "enqueue" or (call.name == "release" and call.result is True):
        return call.high
    if call.name == "claim" and terms.lease == "expires":
        renewed = [one.high for one in calls if _renews(one, call) and one.result is not False]
        return max([call.high, *renewed]) + terms.lease_ns + terms.error_ns
    return None


def _explain(
    evidence: Evidence, call: Call, span: tuple[int, str], began: int
) -> tuple[str, list[Op]]:
    end, run = span
    for_ms = (min(end, call.op.returned) - max(began, call.low)) / 1e6
    message = (
        f"{call.op.process} was told that there is nothing, while {run!r} was free "
        f"for all of the last {for_ms:.1f} ms"
    )
    around = [one.op for one in evidence.calls.by_run[run] if one.low <= call.op.returned]
    return message, [*around[-6:], call.op]
