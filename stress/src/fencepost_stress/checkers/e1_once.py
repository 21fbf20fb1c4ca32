"""E1: an effect or request is created exactly once; a final state never changes.

Of all who reserve a key, one is told that it created the record, and it did: its call
inserted the row. Further reservations find that row. An effect that is applied or
rejected stays so; to say the same again is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import Change, EffectRow, RequestRow
from .base import End, Finding, Ledger

_FINAL = frozenset({"applied", "rejected"})
_RESERVATIONS = frozenset({"effects.reserve", "requests.reserve"})


class Once:
    id = "E1"
    promise = "an effect or request is created exactly once; a final state never changes"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        # The commits by which records came to be: rows of all ever made need not fit in memory.
        self._present: dict[tuple[str, str, str], int] = {}

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit:
                self._commit(event.change, event.op)
            elif event.op.name in _RESERVATIONS and event.op.status == "ok":
                self._found(event.op)
            elif event.op.code == "effect_terminal":
                self.ledger.exercised += 1

    def _commit(self, change: Change, op: Op | None) -> None:
        before, after = change.before, change.after
        row = before if after is None else after
        if isinstance(row, EffectRow):
            place = (change.table, row.resource_uid, row.effect_key)
        elif isinstance(row, RequestRow):
            place = (change.table, row.resource_uid, row.request_key)
        else:
            return
        if before is None:
            self._created(place, change, op)
        elif after is None:
            self._present.pop(place, None)
        elif isinstance(before, EffectRow) and isinstance(after, EffectRow):
            self._updated(before, after, change, op)

    def _created(self, place: tuple[str, str, str], change: Change, op: Op | None) -> None:
        self.ledger.exercised += 1
        first = self._present.get(place)
        if first is not None:
            self.ledger.violation(
                f"{place[2]} was created twice, before at commit {first}", [op], [change]
            )
        self._present[place] = change.seq
        if op is not None and op.status == "ok" and not op.result["created"]:
            self.ledger.violation(
                f"{op.name} created {place[2]} and said that it was there", [op], [change]
            )

    def _found(self, op: Op) -> None:
        self.ledger.exercised += 1
        if op.result["created"]:
            key = op.args["key"] if op.name == "effects.reserve" else op.args["request_key"]
            self.ledger.violation(f"{op.name} said that it created {key}, and did not", [op])

    def _updated(self, before: EffectRow, after: EffectRow, change: Change, op: Op | None) -> None:
        if before.state not in _FINAL:
            return
        self.ledger.exercised += 1
        if after.state != before.state:
            self.ledger.violation(
                f"{change.place} was {before.state}, which is final, and became {after.state}",
                [op],
                [change],
            )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        return self.ledger.finding()
