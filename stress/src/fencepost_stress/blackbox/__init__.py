"""F1, F2, C1, S1 and Q1 decided from what the clients saw, and from nothing else.

The calls are split by item: claiming anything becomes claiming this item. For each item,
`search` looks for an order of its calls that a queue with leases could have carried out
one after the other, each at a moment between its call and its return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from ..checkers.base import Finding, Ledger
from .c1_parents import Parents
from .f1_f2_claims import Claims
from .q1_empty import Empty
from .s1_finished import Finished
from .terms import Evidence


class BlackBoxChecker(Protocol):
    """Decides one property, or two that are decided together, each with its ledger. Asked once."""

    ledgers: tuple[Ledger, ...]

    def check(self, evidence: Evidence) -> Iterator[Finding]: ...


CHECKERS: tuple[Callable[[], BlackBoxChecker], ...] = (Claims, Parents, Finished, Empty)
