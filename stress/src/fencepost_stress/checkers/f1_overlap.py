"""F1: two live claims on one run or queue row never overlap.

A claim is live until the expiry in its row. A change that gives the row to another
token is judged by the wall time that its call read: the store reads its clock after
it has the write lock, so these times grow with commit order, and a process that was
stopped between reading the clock and committing kept everybody else out meanwhile.
A store that reads its clock before it has the lock decides by an older time; by that
time fewer leases have ended, never more, so the rule gives no false alarm for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import Change, QueueRow, RunRow
from .base import End, Finding, Ledger


class Overlap:
    id = "F1"
    promise = "two live claims on one run or queue row never overlap"

    def __init__(self) -> None:
        self.ledger = Ledger(self)

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit:
                self._claim(event.change, event.op)

    def _claim(self, change: Change, op: Op | None) -> None:
        before, after = change.before, change.after
        if not isinstance(before, RunRow | QueueRow) or not isinstance(after, RunRow | QueueRow):
            return
        if after.claim_token is None or after.claim_token == before.claim_token:
            return
        self.ledger.exercised += 1
        if before.claim_token is None:
            return
        now = claim_time(after, op)
        if now is None:
            self.ledger.doubt(f"the time of the claim at commit {change.seq} is not known")
        elif before.claim_expires_at is None or before.claim_expires_at > now:
            self.ledger.violation(
                f"{change.place} was claimed at {now} while another claim was live "
                f"until {before.claim_expires_at}",
                [op],
                [change],
            )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        return self.ledger.finding()


def claim_time(after: RunRow | QueueRow, op: Op | None) -> int | None:
    """When a claim was made: the clock that its call read, else expiry less lease."""
    if op is None:
        return None
    if op.now is not None:
        return op.now
    lease = op.args.get("lease_ms")
    if lease is None or after.claim_expires_at is None:
        return None
    return after.claim_expires_at - int(lease)
