"""S2: an expired claim is taken over within a bound.

The delay is the time from the lease's end to the claim that took over, by the times that
the calls read. Two things are held against the store: a takeover that comes too late, and a
worker that asks, leaving nothing out, while a lease is over for certain, and is told that
there is nothing. Too late is more than the bound after the first call that asked for any
when the lease was over. When nobody asks nobody can take over: of a gap between two calls
that ask only the first quarter of a second counts. Nor is a call held against the store
that was refused, for the disk may be full, or that got one whose turn it was: where work
piles up, what is older goes first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..operations import Commit, Event, Op
from ..rows import QUEUE, RUNS, Change, QueueRow, RunRow, TableRow
from .base import End, Finding, Ledger
from .f1_overlap import claim_time

BOUND_MS = 10_000
_KEPT = 100_000
_GAP_MS = 250
_CLAIMS = {
    "runs.claim_next": RUNS,
    "runs.claim_many": RUNS,
    "queue.claim_next": QUEUE,
    "queue.claim_many": QUEUE,
}


class _Asked:
    """When somebody asked, and what they got: its place in the order of claims, or None."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._got: list[Any] = []

    def add(self, now: int, got: Any) -> None:
        """Times are made to grow: clocks may differ. Of one millisecond the last in order counts,
        so that what is kept reaches back far enough, however many ask."""
        if self._times and now <= self._times[-1]:
            before = self._got[-1]
            self._got[-1] = None if got is None or before is None else max(before, got)
            return
        self._times.append(now)
        self._got.append(got)
        if len(self._times) > _KEPT:
            del self._times[: _KEPT // 2], self._got[: _KEPT // 2]

    def since(self, expiry: int, now: int, place: Any) -> int:
        """For how long it was asked from the first call after `expiry` on, up to now.

        Calls that got what comes before `place` are left out.
        """
        first = bisect_left(self._times, expiry)
        total, last = 0, None
        for asked, got in zip(self._times[first:], self._got[first:], strict=True):
            if got is None or got > place:
                total += 0 if last is None else min(asked - last, _GAP_MS)
                last = asked
        return total if last is None else total + min(now - last, _GAP_MS)


class Takeover:
    id = "S2"
    promise = "an expired claim is taken over within a bound"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._delays: list[int] = []
        self._asked: defaultdict[str, _Asked] = defaultdict(_Asked)
        self._live: dict[str, dict[tuple[str, ...], Change]] = {RUNS: {}, QUEUE: {}}

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            op = event.op
            if type(event) is not Commit:
                if event.op.name in _CLAIMS:
                    self._empty(event.op)
                    self._ask(event.op)
            elif event.change.table in self._live:
                self._commit(event.change, op)
                if op is not None and op.name in _CLAIMS and op.rows[-1] is event.change:
                    self._ask(op)

    def _ask(self, op: Op) -> None:
        """Somebody asked, and was answered. What is for this very runner goes first."""
        if op.status != "ok" or op.now is None or op.args.get("exclude_run_ids"):
            return
        got = op.rows[-1].before if op.rows else None
        if isinstance(got, RunRow) and got.affinity_runner_id == op.args["runner_id"]:
            return
        for controller in op.args.get("controllers", (RUNS,)):
            self._asked[controller].add(op.now, _place(got))

    def _commit(self, change: Change, op: Op | None) -> None:
        before, after = change.before, change.after
        live = self._live[change.table]
        if isinstance(after, RunRow | QueueRow) and after.claim_token is not None:
            live[change.key] = change
            if (
                isinstance(before, RunRow | QueueRow)
                and before.claim_expires_at is not None
                and before.claim_token != after.claim_token
            ):
                self._taken(before.claim_expires_at, change, after, op)
        else:
            live.pop(change.key, None)

    def _taken(self, expiry: int, change: Change, after: RunRow | QueueRow, op: Op | None) -> None:
        now = claim_time(after, op)
        if now is None or now < expiry:
            return
        self.ledger.exercised += 1
        if len(self._delays) < _KEPT:
            self._delays.append(now - expiry)
        if now - expiry <= BOUND_MS:
            return
        asked = self._asked[RUNS if isinstance(after, RunRow) else after.controller]
        if asked.since(expiry, now, _place(change.before)) > BOUND_MS:
            self.ledger.violation(
                f"{change.place} was taken over {now - expiry} ms after its lease had ended, "
                f"and others asked meanwhile",
                [op],
                [change],
            )

    def _empty(self, op: Op) -> None:
        now = op.now
        if op.status != "ok" or now is None or op.args.get("exclude_run_ids"):
            return
        controllers = op.args.get("controllers")
        for change in self._live[_CLAIMS[op.name]].values():
            row = change.after
            if not isinstance(row, RunRow | QueueRow) or row.claim_expires_at is None:
                continue
            if row.claim_expires_at > now or op.high > op.low:
                # With commits in its window it may have asked after the takeover.
                continue
            if isinstance(row, QueueRow) and (
                row.controller not in (controllers or ()) or row.available_at > now
            ):
                continue
            self.ledger.violation(
                f"the lease of {change.place} had ended at {row.claim_expires_at}, and a worker "
                f"was told at {now} that there was nothing",
                [op],
                [change],
            )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        delays = sorted(self._delays)
        if not delays:
            return self.ledger.finding(bound_ms=BOUND_MS)
        shares = {f"p{share}_ms": delays[len(delays) * share // 100] for share in (50, 95, 99)}
        return self.ledger.finding(bound_ms=BOUND_MS, max_ms=delays[-1], **shares)


def _place(row: TableRow | None) -> Any:
    """Where a row comes in the order of claims, as far as that is told by a time."""
    if isinstance(row, RunRow):
        return row.created_at
    return row.available_at if isinstance(row, QueueRow) else None
