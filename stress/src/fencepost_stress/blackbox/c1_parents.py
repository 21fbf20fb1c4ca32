"""C1 and C2: a parent has at most one child, and a deleted one frees its place once."""

from __future__ import annotations

from collections.abc import Iterator

from ..checkers.base import Finding, Ledger
from .f1_f2_claims import SHOWN_CALLS
from .models import ParentModel
from .search import OutOfBudgetError, explainable, shortest
from .terms import Evidence


class Parents:
    id = "C1"
    promise = "a parent has at most one continuation, whoever races"

    def __init__(self) -> None:
        self.ledgers: tuple[Ledger, ...] = (Ledger(self),)

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        (ledger,) = self.ledgers
        model = ParentModel()
        lost = 0
        for parent, calls in evidence.calls.by_parent.items():
            ledger.exercised += 1
            lost += sum(call.refused == "parent_taken" for call in calls)
            try:
                if not explainable(calls, model):
                    window = shortest(calls, model)[-SHOWN_CALLS:]
                    message = f"{parent!r}: no order of these calls leads to one child"
                    ledger.violation(message, [call.op for call in window])
            except OutOfBudgetError:
                ledger.doubt(f"not all orders of the calls on {parent!r} were tried")
        yield ledger.finding(races_lost=lost)
