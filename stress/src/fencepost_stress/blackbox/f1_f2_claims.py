"""F1 and F2: live claims never overlap, and a claim that was lost is good for nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..checkers.base import Finding, Ledger
from .calls import Call
from .models import ItemModel
from .search import OutOfBudgetError, explainable, shortest
from .terms import Evidence

SHOWN_CALLS = 12


class Overlap:
    id = "F1"
    promise = "two live claims on one run never overlap"


class Stale:
    id = "F2"
    promise = "a token that lost its claim never succeeds again"


class Claims:
    """Decides both, because a history that tokens explain needs no second look."""

    def __init__(self) -> None:
        self.ledgers: tuple[Ledger, ...] = (Ledger(Overlap()), Ledger(Stale()))

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        strict = ItemModel(evidence.terms, strict=True)
        lax = ItemModel(evidence.terms, strict=False)
        overlap, stale = self.ledgers
        seen: Counter[str] = Counter()
        for run, calls in evidence.calls.by_run.items():
            claims = sum(call.name == "claim" for call in calls)
            used = sum(_told(call) for call in calls)
            overlap.exercised += claims
            stale.exercised += used
            seen["claimed more than once"] += claims > 1
            try:
                if explainable(calls, strict):
                    continue
                if explainable(calls, lax):
                    window = _window(calls, strict)
                    stale.violation(_stale(run, window), [call.op for call in window])
                else:
                    window = _window(calls, lax)
                    overlap.violation(_overlap(run, window), [call.op for call in window])
            except OutOfBudgetError:
                reason = f"no order of the calls on {run!r} was found, and not all were tried"
                overlap.doubt(reason)
                stale.doubt(reason)
        yield overlap.finding(runs=len(evidence.calls.by_run), **seen)
        yield stale.finding()


def _told(call: Call) -> bool:
    """Whether a call with a claim was answered, with yes or with no."""
    return call.name not in {"enqueue", "claim"} and isinstance(call.result, bool)


def _window(calls: Sequence[Call], model: ItemModel) -> list[Call]:
    return shortest(calls, model)[-SHOWN_CALLS:]


def _overlap(run: str, window: Sequence[Call]) -> str:
    claims = [call for call in window if call.name == "claim"]
    if len(claims) < 2:
        return f"{run!r}: no order of these calls leads to what they returned"
    first, second = claims[-2:]
    return (
        f"{run!r} was claimed by {second.op.process}, though the claim of {first.op.process} "
        "had not ended, or the run was done"
    )


def _stale(run: str, window: Sequence[Call]) -> str:
    last = max((call for call in window if not call.unknown), key=lambda call: call.high)
    said = "succeeded with a claim that had been lost"
    if last.result is False:
        said = "was refused, with a claim that was live"
    return f"{run!r}: {last.name} of {last.op.process} {said}"
