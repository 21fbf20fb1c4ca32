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
from typing import Any

from ..operations import Commit, Event, Op
from ..rows import QUEUE, RUNS, Change, QueueRow, RunRow
from ..tokens import uses
from .base import End, Finding, Ledger


class Stale:
    id = "F2"
    promise = "a token that lost its claim never succeeds again"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._holders: dict[tuple[str, tuple[str, ...]], tuple[str, Change]] = {}
        # Of queue rows only: their tokens are the store's, and their keys are few.
        self._last_lost: dict[tuple[str, ...], str] = {}

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is not Commit:
                self._uses(event.op)
                continue
            op = event.op
            if op is not None and len(op.rows) > 1 and op.rows[0].seq == event.change.seq:
                self._uses(op)
            self._move(event.change)

    def _move(self, change: Change) -> None:
        self._look_for_return(change)
        after = change.after
        if not isinstance(after, RunRow | QueueRow):
            if change.table in {RUNS, QUEUE}:
                self._holders.pop((change.table, change.key), None)
            return
        if after.claim_token is None:
            self._holders.pop((change.table, change.key), None)
        else:
            self._holders[change.table, change.key] = (after.claim_token, change)

    def _look_for_return(self, change: Change) -> None:
        before, after = change.before, change.after
        held = before.claim_token if isinstance(before, QueueRow) else None
        holds = after.claim_token if isinstance(after, QueueRow) else None
        if holds is not None and holds != held and self._last_lost.get(change.key) == holds:
            self.ledger.violation(
                f"{'/'.join(change.key)} was claimed with the token of the claim before",
                [],
                [change],
            )
        if held is not None and held != holds:
            self._last_lost[change.key] = held

    def _uses(self, op: Op) -> None:
        if op.status == "ok":
            for table, key, token, result in uses(op):
                self._use(op, (table, key), token, result)

    def _use(self, op: Op, place: tuple[str, tuple[str, ...]], token: str, result: Any) -> None:
        holder, change = self._holders.get(place, (None, None))
        if holder == token:
            return
        if result is True:
            self.ledger.violation(
                f"{op.name} succeeded with a token that no longer held {'/'.join(place[1])} "
                f"(held by {holder or 'nobody'})",
                [op],
                [change],
            )
        else:
            self.ledger.exercised += 1

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        return self.ledger.finding()
