"""F3: an expired lease is never renewed, and never verified as live.

Judged by the wall time that the store used. A renewal has its own change, so the
expiry that it found is known. A verification is held against every expiry that its
row had in the window where the call can have happened: it is wrong when none of them
lay after the time that it read.

The time must be that of the transaction, or waiting for the lock would eat the lease:
a call that read its clock before the commit in front of it had read its own did so
before it had the lock. That is judged by the monotonic stamps, whatever the clocks say.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import Change, QueueRow, RunRow
from .base import End, Finding, Ledger

_RENEWALS = frozenset({"runs.renew", "runs.renew_many", "queue.renew", "queue.renew_many"})


_TIMED = {*_RENEWALS, "runs.enqueue", "runs.claim_next", "runs.claim_many", "runs.park"}
_TIMED |= {"runs.complete", "queue.claim_next", "queue.claim_many", "queue.settle"}
"""Calls that go by the clock and whose changes can be nobody else's."""


class Expired:
    id = "F3"
    promise = "an expired lease is never renewed, and never verified as live"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._expiries: dict[str, tuple[str, int]] = {}
        self._watching: list[Op] = []
        self._latest: tuple[int, Op] | None = None

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit:
                self._commit(event.change, event.op)
            else:
                self._seen(event.op)

    def _commit(self, change: Change, op: Op | None) -> None:
        before, after = change.before, change.after
        if op is not None and op.clock and op.name in _TIMED:
            self._timed(op, change)
        if op is not None and op.name in _RENEWALS:
            self._renewed(change, op)
        if isinstance(after, RunRow) and after.claim_token and after.claim_expires_at is not None:
            self._expiries[after.run_id] = (after.claim_token, after.claim_expires_at)
        elif isinstance(before, RunRow):
            self._expiries.pop(before.run_id, None)
        if self._watching:
            self._watching = [op for op in self._watching if not self._resolved(op, change.seq)]

    def _timed(self, op: Op, change: Change) -> None:
        mono = op.clock[-1][0]
        if self._latest is not None and mono < self._latest[0]:
            self.ledger.violation(
                f"{op.name} went by a time that it read before it had the lock",
                [self._latest[1], op],
                [change],
            )
        else:
            self._latest = (mono, op)

    def _renewed(self, change: Change, op: Op) -> None:
        before = change.before
        if not isinstance(before, RunRow | QueueRow) or op.now is None:
            return
        self.ledger.exercised += 1
        if before.claim_expires_at is None or before.claim_expires_at <= op.now:
            self.ledger.violation(
                f"a lease that ended at {before.claim_expires_at} was renewed at {op.now}",
                [op],
                [change],
            )

    def _seen(self, op: Op) -> None:
        if op.name not in {"runs.renew", "runs.verify"} or op.status != "ok" or op.now is None:
            return
        if op.result is True and op.name == "runs.verify":
            self.ledger.exercised += 1
            if not self._resolved(op, op.low):
                self._watching.append(op)
        elif op.result is False:
            self.ledger.exercised += 1

    def _resolved(self, op: Op, seq: int) -> bool:
        """Whether the verification is explained, or can no longer be."""
        if seq > op.high:
            self.ledger.violation(
                f"{op.args['run_id']} was verified as live at {op.now}, after its lease", [op]
            )
            return True
        token, expiry = self._expiries.get(str(op.args["run_id"]), (None, 0))
        return token == op.token and op.now is not None and expiry > op.now

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        for op in self._watching:
            self.ledger.violation(
                f"{op.args['run_id']} was verified as live at {op.now}, after its lease", [op]
            )
        return self.ledger.finding()
