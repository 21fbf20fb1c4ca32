"""Q2: one row a key, and an event during a claim survives the claim's end.

When a claim ends although the row's version has moved on since the claim, the row must
stay, unclaimed, and be due no later than it was, nor than the time that the call gave.
When nothing came since, a settle removes the row and a requeue puts it at its time.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import QUEUE, Change, QueueRow
from ..times import ms_of
from .base import End, Finding, Ledger

_ENDINGS = frozenset({"queue.settle", "queue.settle_many", "queue.requeue"})


class Events:
    id = "Q2"
    promise = "one row a key; an event during a claim is never swallowed by its settle or requeue"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._present: set[tuple[str, ...]] = set()

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit and event.change.table == QUEUE:
                self._commit(event.change, event.op)

    def _commit(self, change: Change, op: Op | None) -> None:
        if change.before is None:
            if change.key in self._present:
                self.ledger.violation(f"{change.place} has two rows", [op], [change])
            self._present.add(change.key)
        if change.after is None:
            self._present.discard(change.key)
        if op is not None and op.name in _ENDINGS:
            self._ending(change, op)

    def _ending(self, change: Change, op: Op) -> None:
        before, after = change.before, change.after
        if not isinstance(before, QueueRow) or before.version == before.claim_version:
            return
        self.ledger.exercised += 1
        given = op.args.get("available_at")
        latest = before.available_at if given is None else min(before.available_at, ms_of(given))
        if not isinstance(after, QueueRow):
            self.ledger.violation(
                f"{op.name} removed {change.place} although an event came "
                f"(version {before.version}, claimed at {before.claim_version})",
                [op],
                [change],
            )
        elif after.available_at > latest:
            self.ledger.violation(
                f"{op.name} put {change.place} off to {after.available_at} although "
                f"an event made it due at {latest}",
                [op],
                [change],
            )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        return self.ledger.finding()
