"""P1: pruning takes runs that are done and as old as was said, and no more of them than that.

The witness leaves out what pruning deletes; a log beside it holds those runs, each with its
place in commit order. Whoever prunes makes a run first, so the call that took one is the
latest whose run had been made.

- The run was done, and had been before the time that the call gave.
- A continuation goes after its parent: until then it keeps the parent's slot taken.
- A call takes no more runs than its limit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from ..operations import NEVER, Commit, Event
from ..rows import RUNS, RunRow
from .base import End, Finding, Ledger


class Pruned:
    id = "P1"
    promise = "pruning takes what is done and old enough, and no continuation before its parent"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._made: dict[str, int] = {}
        self._deleted: dict[str, int] = {}

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit and event.change.table == RUNS:
                change = event.change
                if change.before is None:
                    self._made[change.key[0]] = change.seq
                elif change.after is None:
                    self._deleted[change.key[0]] = change.seq

    def finish(self, end: End) -> Finding:
        calls = sorted(
            (self._made[run], before, limit)
            for run, (before, limit) in end.prunings.items()
            if run in self._made
        )
        taken: set[str] = set()
        counts: Counter[int] = Counter()
        for seq, row in end.taken:
            self.ledger.exercised += 1
            index = bisect_right(calls, seq, key=lambda call: call[0]) - 1
            if index < 0:
                self.ledger.violation(f"{row.run_id} was deleted, and nobody had pruned by then")
                continue
            made, before, limit = calls[index]
            counts[made] += 1
            self._judge(row, seq, before, taken)
            if counts[made] == limit + 1:
                self.ledger.violation(
                    f"{row.run_id} was pruned, one more than the limit of {limit}"
                )
            taken.add(row.run_id)
        return self.ledger.finding(calls=len(calls))

    def _judge(self, row: RunRow, seq: int, before: str, taken: set[str]) -> None:
        """Judge one run that was pruned after the commit `seq` and those `taken` before it."""
        if row.status != "done":
            self.ledger.violation(f"{row.run_id} was pruned, and is {row.status}")
        elif row.updated_at >= before:
            self.ledger.violation(
                f"{row.run_id} was pruned: done at {row.updated_at}, not before {before}"
            )
        parent = row.parent_run_id or ""
        there = self._made.get(parent, NEVER) <= seq < self._deleted.get(parent, NEVER)
        if there and parent not in taken:
            self.ledger.violation(f"{row.run_id} was pruned before {parent}, which it continues")
