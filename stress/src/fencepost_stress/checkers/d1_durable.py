"""D1: what was acknowledged is in the database afterwards, whatever was killed.

Four tests, each against a different way to lose something:
- a call whose result says that it changed something has its change in the witness;
- every change finds its row as the last change of that row left it, so no commit
  between them was lost;
- the tables at the end are what the changes add up to;
- `seq` has no gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from .. import identity
from ..operations import Commit, Event, Op
from ..rows import FEED, RUNS, TABLES, WATERMARKS, Change, RunRow, TableRow, WatermarkRow, key_of
from .base import End, Finding, Ledger

_Place: TypeAlias = tuple[str, tuple[str, ...]]


class Durable:
    id = "D1"
    promise = "what was acknowledged is in the database afterwards, whatever was killed"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._state: dict[_Place, int] = {}
        self._seq = 0

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit:
                self._commit(event.change, event.op)
            elif identity.rows_due(event.op):
                self._missing(event.op)

    def _commit(self, change: Change, op: Op | None) -> None:
        if op is not None and op.status == "ok" and op.rows[0].seq == change.seq:
            self.ledger.exercised += 1
            if len(op.rows) < identity.rows_due(op):
                self._missing(op)
        if change.seq != self._seq + 1:
            self.ledger.violation(
                f"the witness goes from {self._seq} to {change.seq}: a commit is lost",
                [op],
                [change],
            )
        self._seq = change.seq
        place = (change.table, change.key)
        # The hash stands for the row: states of all rows ever made need not fit in memory.
        found = None if change.before is None else hash(change.before)
        if self._state.get(place) != found:
            self.ledger.violation(
                f"{change.table} {change.place} was not as its last commit left it",
                [op],
                [change],
            )
        if change.after is None:
            self._state.pop(place, None)
        else:
            self._state[place] = hash(change.after)

    def _missing(self, op: Op) -> None:
        if not op.known and not identity.of_outcome(op):
            self.ledger.doubt(f"{op.name} read no clock: its change can't be told from others")
            return
        self.ledger.violation(f"{op.name} was acknowledged, but no commit bears it out", [op])

    def finish(self, end: End) -> Finding:
        for table in TABLES:
            for row in end.tables.get(table, ()):
                self._at_end(table, row)
        gone = set(self._state)
        if end.pruned:
            gone -= _pruned(end, gone)
        for table, key in sorted(gone)[:10]:
            self.ledger.violation(f"{table} {_text(key)} was committed and is not there")
        return self.ledger.finding(commits=self._seq)

    def _at_end(self, table: str, row: TableRow) -> None:
        key = key_of(table, row)
        left = self._state.pop((table, key), None)
        if left != hash(row):
            state = f" ({row.status})" if isinstance(row, RunRow) else ""
            self.ledger.violation(f"{table} {_text(key)}{state} is not what its last commit left")


def _pruned(end: End, gone: set[_Place]) -> set[_Place]:
    """The rows that pruning may have taken: its runs, and events that every consumer has passed."""
    passed = min(
        (
            row.last_event_seq
            for row in end.tables.get(WATERMARKS, ())
            if isinstance(row, WatermarkRow)
        ),
        default=0,
    )
    events = {place for place in gone if place[0] == FEED and int(place[1][0]) <= passed}
    return events | {(RUNS, key_of(RUNS, row)) for _, row in end.taken}


def _text(key: tuple[str, ...]) -> str:
    return "/".join(map(str, key))
