"""The profiles: sets of options that go together."""

from __future__ import annotations

from typing import NamedTuple

from .faults import FAULTS, KILLS_AND_PAUSES, FaultKind
from .sut import ENGINES


class Profile(NamedTuple):
    """`sampled` is how many mutants are tried after the engines."""

    engines: tuple[str, ...]
    seconds: float
    processes: int
    faults: tuple[FaultKind, ...]
    sampled: int = 0


MUTANTS = "mutants"

PROFILES: dict[str, Profile] = {
    "quick": Profile(ENGINES, 7.0, 4, KILLS_AND_PAUSES),
    "ci": Profile(ENGINES, 40.0, 6, FAULTS, sampled=6),
    "soak": Profile(("mixed",), 600.0, 8, FAULTS),
    # Broken stores instead of engines, each with the faults that it needs.
    MUTANTS: Profile((), 3.0, 4, ()),
}
