"""Deliberately broken stores: what the harness must catch, or it proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fencepost

from . import (
    claims,
    continuations,
    degenerate,
    queue,
    records,
    seldom,
    tokens,
    transactions,
    wakeups,
)
from .base import SOMETIMES, Mutant, open_as_store

__all__ = ["MUTANTS", "SOMETIMES", "Mutant", "open_mutant"]

MUTANTS: dict[str, type[Mutant]] = {
    mutant.name: mutant
    for mutant in (
        claims.ClaimWithoutGuard,
        claims.PeekThenClaim,
        transactions.Deferred,
        tokens.CompleteWithoutToken,
        tokens.CompleteByRunner,
        tokens.RenewExpired,
        tokens.VerifyExpired,
        tokens.RenewRevives,
        claims.ExpiredNeverReclaimed,
        claims.ReclaimKeepsToken,
        queue.TokenReused,
        transactions.ClockBeforeLock,
        claims.SkewedExpiry,
        queue.SettleSwallows,
        queue.RequeueOverwrites,
        continuations.NoUniqueParent,
        continuations.CountedBeforeLock,
        records.EffectReservedTwice,
        records.FinalStateOverwritten,
        transactions.AckBeforeCommit,
        transactions.ErrorAfterCommit,
        records.WatermarkMovesBack,
        records.FeedWithGaps,
        transactions.BusyAsEmpty,
        transactions.WaitsTooLong,
        transactions.BacksOff,
        transactions.LogNeverEmptied,
        claims.AffinityIgnored,
        claims.ExclusionIgnored,
        claims.SlowTakeover,
        claims.ResumeByRunner,
        claims.FenceByProcess,
        continuations.SlotStaysTaken,
        continuations.RefusalLeavesTrace,
        records.OrphansLeft,
        records.PrunesUnread,
        records.PrunesContinuations,
        seldom.WalkFindsNone,
        seldom.BatchForgetsExclusions,
        seldom.BatchIsDueAtOnce,
        seldom.BatchEndsTwice,
        seldom.SameSpecWakes,
        seldom.SameStatusMoves,
        seldom.ErrorStays,
        wakeups.NotifyDropped,
        degenerate.NothingEver,
        degenerate.RefusesEverything,
    )
}


def open_mutant(
    name: str,
    path: Path,
    clock: Callable[[], int],
    *,
    reached: Callable[[], None] | None = None,
    **options: Any,
) -> fencepost.Store:
    """A store that is broken in the way that the mutant's name says.

    `options` are those of `fencepost.open`.
    """
    return open_as_store(MUTANTS[name], path, clock, reached, options)
