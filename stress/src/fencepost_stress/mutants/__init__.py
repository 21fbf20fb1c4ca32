"""Deliberately broken stores: what the harness must catch, or it proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fencepost

from .base import Mutant, open_as_store
from .queue import SettleSwallows
from .runs import (
    ClaimWithoutGuard,
    CompleteWithoutToken,
    ExpiredNeverReclaimed,
    NoUniqueParent,
    RenewExpired,
)

__all__ = ["MUTANTS", "Mutant", "open_mutant"]

MUTANTS: dict[str, type[Mutant]] = {
    mutant.name: mutant
    for mutant in (
        ClaimWithoutGuard,
        CompleteWithoutToken,
        RenewExpired,
        ExpiredNeverReclaimed,
        NoUniqueParent,
        SettleSwallows,
    )
}


def open_mutant(
    name: str,
    path: Path,
    clock: Callable[[], int],
    *,
    synchronous: str,
    reached: Callable[[], None] | None = None,
) -> fencepost.Store:
    """A store that is broken in the way that the mutant's name says."""
    return open_as_store(MUTANTS[name], path, clock, reached, synchronous)
