"""F4: the claims of a run or queue row show strictly growing fence numbers.

The order is that of the commits. Fences go on growing when a row was deleted and made
anew, so the last fence of an id is kept for good. Stores without fences show none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operations import Commit, Event, Op
from ..rows import QUEUE, RUNS, Change
from .base import End, Finding, Ledger

_CLAIMS = {
    "runs.enqueue": RUNS,
    "runs.claim_next": RUNS,
    "queue.claim_next": QUEUE,
}


class Fences:
    id = "F4"
    promise = "claims of a run or queue row show strictly growing fence numbers"

    def __init__(self) -> None:
        self._ledger = Ledger(self)
        self._last: dict[tuple[str, tuple[str, ...]], int] = {}

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Commit) and event.op is not None:
                self._claim(event.change, event.op)

    def _claim(self, change: Change, op: Op) -> None:
        if _CLAIMS.get(op.name) != change.table or op.status != "ok":
            return
        result: Any = op.result
        fence = result.get("fence") if isinstance(result, dict) else None
        if fence is None:
            return
        place = (change.table, change.key)
        last = self._last.get(place)
        if last is not None:
            self._ledger.exercised += 1
            if fence <= last:
                self._ledger.violation(
                    f"{'/'.join(change.key)} was claimed with fence {fence} after fence {last}",
                    [op],
                    [change],
                )
        self._last[place] = fence

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        return self._ledger.finding()
