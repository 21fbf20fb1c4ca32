"""F2: a token that lost its claim never succeeds again.

A success of a call that carries a token is sound when the call has a change of its
own whose row bore that very token before. A success without such a change is held
against the row's holder at the earliest place where the call can have happened
(`Op.low`): a token is in a row from its claim, which its own worker made and saw
before it could use the token, until it loses the row, once. So when the token does not
hold the row at `low`, it does not hold it later either.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import QUEUE, RUNS, Change, QueueRow, RunRow
from .base import End, Finding, Ledger

_RUN_CALLS = frozenset({"runs.renew", "runs.verify", "runs.park", "runs.complete", "runs.delete"})
_QUEUE_CALLS = frozenset({"queue.renew", "queue.settle", "queue.requeue"})


class Stale:
    id = "F2"
    promise = "a token that lost its claim never succeeds again"

    def __init__(self) -> None:
        self._ledger = Ledger(self)
        self._holders: dict[tuple[str, tuple[str, ...]], tuple[str, Change]] = {}

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Commit):
                self._move(event.change)
            else:
                self._use(event.op)

    def _move(self, change: Change) -> None:
        after = change.after
        if not isinstance(after, RunRow | QueueRow):
            if change.table in {RUNS, QUEUE}:
                self._holders.pop((change.table, change.key), None)
            return
        if after.claim_token is None:
            self._holders.pop((change.table, change.key), None)
        else:
            self._holders[change.table, change.key] = (after.claim_token, change)

    def _use(self, op: Op) -> None:
        place: tuple[str, tuple[str, ...]]
        if op.name in _RUN_CALLS:
            place = (RUNS, (str(op.args["run_id"]),))
        elif op.name in _QUEUE_CALLS:
            claim = op.args["claim"]
            place = (QUEUE, (str(claim["controller"]), str(claim["key"])))
        else:
            return
        if op.status != "ok":
            return
        token, change = self._holders.get(place, (None, None))
        if token == op.token:
            return
        if op.result is True:
            self._ledger.violation(
                f"{op.name} succeeded with a token that no longer held {'/'.join(place[1])} "
                f"(held by {token or 'nobody'})",
                [op],
                [change],
            )
        else:
            self._ledger.exercised += 1

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        return self._ledger.finding()
