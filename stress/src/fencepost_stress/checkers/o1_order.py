"""O1: claims follow the documented order.

Runs: those with affinity to the runner first, then the oldest, then the first inserted.
Keys: by due time, controller and key. Judged at the claim's place in commit order, by the
time that its call read; of a claim of many the first is judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.order import ClaimOrder
from ..operations import Commit, Event, Op
from ..rows import Change, QueueRow, RunRow
from .base import End, Finding, Ledger

_CLAIMS = frozenset({"runs.claim_next", "runs.claim_many", "queue.claim_next", "queue.claim_many"})


class Order:
    id = "O1"
    promise = "claims follow the documented order: affinity, then age; keys by their due time"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._runs: dict[str, RunRow] = {}
        self._inserted: dict[str, int] = {}
        self._order = ClaimOrder(self._runs, self._inserted)
        self._keys: dict[tuple[str, str], QueueRow] = {}

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is not Commit:
                continue
            change, op = event.change, event.op
            row = change.after or change.before
            if isinstance(row, RunRow):
                if self._is_claim(change, op):
                    self._run(change, op)  # type: ignore[arg-type]
                self._move_run(change)
            elif isinstance(row, QueueRow):
                if self._is_claim(change, op):
                    self._key(change, op)  # type: ignore[arg-type]
                self._move_key(row, change)

    def _is_claim(self, change: Change, op: Op | None) -> bool:
        first = op is not None and op.rows[0].seq == change.seq
        return first and op is not None and op.name in _CLAIMS and op.now is not None

    def _move_run(self, change: Change) -> None:
        row = change.after
        if isinstance(row, RunRow):
            self._inserted.setdefault(row.run_id, change.seq)
            if row.status == "done":
                self._runs.pop(row.run_id, None)
            else:
                self._runs[row.run_id] = row
                self._order.note(row)
        elif isinstance(change.before, RunRow):
            self._runs.pop(change.before.run_id, None)
            self._inserted.pop(change.before.run_id, None)

    def _move_key(self, row: QueueRow, change: Change) -> None:
        if change.after is None:
            self._keys.pop((row.controller, row.resource_key), None)
        else:
            self._keys[row.controller, row.resource_key] = row

    def _run(self, change: Change, op: Op) -> None:
        runner, now = op.args["runner_id"], op.now or 0
        first = self._order.first(runner, now, frozenset(op.args.get("exclude_run_ids", ())))
        if first is None:
            return
        self.ledger.exercised += 1
        if first.run_id != change.key[0]:
            near = first.affinity_runner_id == runner
            self.ledger.violation(
                f"{runner} got {change.place}, and {first.run_id} came first: "
                f"{'it has affinity to the runner' if near else 'it is older'}",
                [op],
                [change],
            )

    def _key(self, change: Change, op: Op) -> None:
        now, controllers = op.now or 0, op.args["controllers"]
        due = [
            (row.available_at, *key)
            for key, row in self._keys.items()
            if row.available_at <= now
            and (row.claim_expires_at is None or row.claim_expires_at <= now)
            and row.controller in controllers
        ]
        if not due:
            return
        self.ledger.exercised += 1
        first = min(due)[1:]
        if first != change.key:
            self.ledger.violation(
                f"{change.place} was claimed, and {'/'.join(first)} was due first", [op], [change]
            )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        return self.ledger.finding()
