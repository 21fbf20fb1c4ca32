"""Q1: no lost wake-up.

After the last enqueue of a key there is a claim that began after it. The same must
hold each time a row leaves the queue: at that moment, too, a claim must have begun
after the last enqueue, or that enqueue woke nobody. A row that is left at the end is
held against the store only when a worker was told that there was nothing, after the
row's last change and when it was due; else time ran out.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import QUEUE, Change, QueueRow
from .base import End, Finding, Ledger

CLAIMS = frozenset({"queue.claim_next", "queue.claim_many"})


class Wakeups:
    id = "Q1"
    promise = (
        "no lost wake-up: after the last enqueue of a key there is a claim that began after it"
    )

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._waiting: dict[tuple[str, ...], Change] = {}
        self._rows: dict[tuple[str, ...], Change] = {}
        self._last_empty: dict[str, Op] = {}

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is not Commit:
                self._empty(event.op)
            elif event.change.table == QUEUE:
                self._commit(event.change, event.op)

    def _empty(self, op: Op) -> None:
        if op.name in CLAIMS and op.status == "ok" and not op.result:
            for controller in op.args["controllers"]:
                self._last_empty[str(controller)] = op

    def _commit(self, change: Change, op: Op | None) -> None:
        before, after = change.before, change.after
        if isinstance(after, QueueRow):
            self._rows[change.key] = change
            if not isinstance(before, QueueRow) or after.version != before.version:
                self.ledger.exercised += 1
                self._waiting[change.key] = change
            elif after.claim_token is not None and after.claim_token != before.claim_token:
                self._waiting.pop(change.key, None)
            return
        self._rows.pop(change.key, None)
        swallowed = self._waiting.pop(change.key, None)
        if swallowed is not None and not (op is not None and op.name == "resources.delete"):
            self.ledger.violation(
                f"{change.place} left the queue although no claim began after the "
                f"enqueue at commit {swallowed.seq}",
                [op],
                [swallowed, change],
            )

    def finish(self, end: End) -> Finding:
        present = {(row.controller, row.resource_key) for row in _queue(end)}
        for key, change in self._rows.items():
            if key not in present:
                self.ledger.violation(f"{'/'.join(key)} vanished from the queue", [], [change])
            else:
                self._left(key, change, end)
        return self.ledger.finding(left=len(self._rows))

    def _left(self, key: tuple[str, ...], change: Change, end: End) -> None:
        row, asked = change.after, self._last_empty.get(key[0])
        if not isinstance(row, QueueRow):
            return
        due = max(row.available_at, row.claim_expires_at or 0)
        if (
            asked is not None
            and asked.now is not None
            and asked.now >= max(end.heal_started, due)
            and asked.low >= change.seq
        ):
            self.ledger.violation(
                f"{'/'.join(key)} waits in the queue, and a worker was told there was nothing",
                [asked],
                [change],
            )
        else:
            self.ledger.doubt(f"{'/'.join(key)} is left, but no worker was told there was nothing")


def _queue(end: End) -> list[QueueRow]:
    return [row for row in end.tables.get(QUEUE, ()) if isinstance(row, QueueRow)]
