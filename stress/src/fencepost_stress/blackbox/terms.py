"""What the black-box checkers know about a run, beside its calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..sut.adapter import Item
from ..sut.capabilities import Lease
from .calls import Calls


@dataclass(slots=True, frozen=True)
class Terms:
    """How claims end of themselves, in nanoseconds."""

    lease: Lease
    lease_ns: int
    error_ns: int


@dataclass(slots=True, frozen=True)
class Evidence:
    """All there is: the calls, what the queue held at the end, and when the machine stood still."""

    calls: Calls
    terms: Terms
    items: Sequence[Item]
    still: Sequence[tuple[int, int]] = ()
