"""S1: when the faults stop, everything ends done; nothing is stranded, lost or invented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..checkers.base import Finding, Ledger
from .calls import Call
from .terms import Evidence

_ENDINGS = frozenset({"complete", "delete"})
_LETTING_GO = _ENDINGS | {"release"}


class Finished:
    id = "S1"
    promise = "when the faults stop, every run ends done; none stranded, lost or invented"

    def __init__(self) -> None:
        self.ledgers: tuple[Ledger, ...] = (Ledger(self),)

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        (ledger,) = self.ledgers
        states = {item.run: item.state for item in evidence.items}
        missing: list[list[Call]] = []
        excused = 0
        for run, calls in evidence.calls.by_run.items():
            enqueued = [call for call in calls if call.name == "enqueue" and not call.refused]
            ops = [call.op for call in calls][-12:]
            if not enqueued:
                if any(call.name == "claim" for call in calls) or run in states:
                    ledger.violation(f"{run!r} is there, and nobody enqueued it", ops)
                continue
            certain = any(not call.unknown for call in enqueued)
            ledger.exercised += certain
            state = states.get(run)
            if evidence.terms.lease == "taken" and state != "waiting":
                # It is gone, whether the queue remembers it or not.
                state = None
            if state == "claimed" and _may_stay(evidence, calls):
                excused += 1
            elif state in {"waiting", "claimed"}:
                ledger.violation(f"{run!r} is {state} still, when all had been drained", ops)
            elif state in {"done", "failed"} and not _ended(calls):
                ledger.violation(f"{run!r} is {state}, and nobody completed it", ops)
            elif state is None and certain and not _over(evidence, calls):
                missing.append(calls)
        for run in states.keys() - evidence.calls.by_run.keys():
            ledger.violation(f"{run!r} is in the queue, and nobody enqueued it")
        # Whoever was killed while it claimed may have taken one with it; only where taking
        # is all there is.
        taken = evidence.terms.lease == "taken"
        spare = len(evidence.calls.ghosts) if taken else 0
        if len(missing) > spare:
            for calls in missing:
                message = f"{calls[0].run!r} was enqueued, and is gone; nobody ever completed it"
                ledger.violation(message, [call.op for call in calls][-12:])
        yield ledger.finding(
            held_by_the_dead=excused,
            gone_with_a_killed_claim=len(missing) if len(missing) <= spare else 0,
        )


def _ended(calls: Sequence[Call]) -> bool:
    return any(
        call.name in _ENDINGS and not call.refused and call.result is not False for call in calls
    )


def _over(evidence: Evidence, calls: Sequence[Call]) -> bool:
    """Whether an item that is not there any more can have come to its end."""
    if evidence.terms.lease == "taken":
        return any(call.name == "claim" for call in calls)
    return _ended(calls)


def _may_stay(evidence: Evidence, calls: Sequence[Call]) -> bool:
    """Whether a claim may be left: its holder died with it, and the queue says that it stays."""
    if evidence.terms.lease != "kept":
        return False
    claims = [call.claim for call in calls if call.name == "claim"]
    # One of unknown outcome may have taken it after everybody else let go of it.
    return bool(evidence.calls.ghosts) or not all(_let_go(calls, one) for one in claims)


def _let_go(calls: Sequence[Call], claim: str) -> bool:
    return any(
        call.claim == claim
        and call.name in _LETTING_GO
        and call.result is not False
        and not (call.unknown or call.refused)
        for call in calls
    )
