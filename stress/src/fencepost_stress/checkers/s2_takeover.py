"""S2: an expired claim is taken over within a bound.

The delay is the time from the lease's end to the claim that took over, by the times that
the calls read. Two things are held against the store: a takeover that comes more than the
bound after the first call that asked for any when the lease was over, since when nobody
asks nobody can take over; and a worker that asks, leaving nothing out, while a lease is
over for certain, and is told that there is nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import QUEUE, RUNS, Change, QueueRow, RunRow
from .base import End, Finding, Ledger
from .f1_overlap import claim_time

BOUND_MS = 10_000
_KEPT = 100_000
_CLAIMS = {
    "runs.claim_next": RUNS,
    "runs.claim_many": RUNS,
    "queue.claim_next": QUEUE,
    "queue.claim_many": QUEUE,
}


class Takeover:
    id = "S2"
    promise = "an expired claim is taken over within a bound"

    def __init__(self) -> None:
        self._ledger = Ledger(self)
        self._delays: list[int] = []
        self._asked: defaultdict[str, list[int]] = defaultdict(list)
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
        """Somebody asked. Times are made to grow: clocks may differ."""
        if op.now is None or op.args.get("exclude_run_ids"):
            return
        for controller in op.args.get("controllers", (RUNS,)):
            asked = self._asked[controller]
            asked.append(max(op.now, asked[-1]) if asked else op.now)
            if len(asked) > _KEPT:
                del asked[: _KEPT // 2]

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
        self._ledger.exercised += 1
        if len(self._delays) < _KEPT:
            self._delays.append(now - expiry)
        asked = self._asked[RUNS if isinstance(after, RunRow) else after.controller]
        first = bisect_left(asked, expiry)
        if first < len(asked) and now - asked[first] > BOUND_MS:
            self._ledger.violation(
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
            self._ledger.violation(
                f"the lease of {change.place} had ended at {row.claim_expires_at}, and a worker "
                f"was told at {now} that there was nothing",
                [op],
                [change],
            )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        delays = sorted(self._delays)
        if not delays:
            return self._ledger.finding(bound_ms=BOUND_MS)
        shares = {f"p{share}_ms": delays[len(delays) * share // 100] for share in (50, 95, 99)}
        return self._ledger.finding(bound_ms=BOUND_MS, max_ms=delays[-1], **shares)
