"""F4: the claims of a run or queue row show strictly growing fence numbers.

The order is that of the commits. Fences go on growing when a row was deleted and made
anew, so the last fence of an id is kept for good. Stores without fences show none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operations import Commit, Event, Op
from ..rows import QUEUE, RUNS, Change, QueueRow, RunRow
from .base import End, Finding, Ledger

_CLAIMS = {
    "runs.enqueue": RUNS,
    "runs.enqueue_many": RUNS,
    "runs.claim_next": RUNS,
    "runs.claim_many": RUNS,
    "queue.claim_next": QUEUE,
    "queue.claim_many": QUEUE,
}


class Fences:
    id = "F4"
    promise = "claims of a run or queue row show strictly growing fence numbers"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._last: dict[tuple[str, tuple[str, ...]], int] = {}

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit and event.op is not None:
                self._claim(event.change, event.op)

    def _claim(self, change: Change, op: Op) -> None:
        if _CLAIMS.get(op.name) != change.table or op.status != "ok":
            return
        results: list[Any] = op.result if isinstance(op.result, list) else [op.result]
        token = change.after.claim_token if isinstance(change.after, RunRow | QueueRow) else None
        for result in results:
            if isinstance(result, dict) and token in (
                result.get("claim_token"),
                result.get("token"),
            ):
                self._check(change, op, result.get("fence"))

    def _check(self, change: Change, op: Op, fence: int | None) -> None:
        if fence is None:
            return
        place = (change.table, change.key)
        last = self._last.get(place)
        if last is not None:
            self.ledger.exercised += 1
            if fence <= last:
                self.ledger.violation(
                    f"{change.place} was claimed with fence {fence} after fence {last}",
                    [op],
                    [change],
                )
        self._last[place] = fence

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        return self.ledger.finding()
