"""S1: when the faults stop, every run ends done.

None is stranded, none lost, none invented, none done twice. Runs that their holder
deleted are accounted for by the change that deleted them. A run that is left over is
held against the store only with evidence: after its last change, and after its lease,
some worker asked for any run and was told that there was none. Without that, time ran
out, and the property is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import RUNS, Change, RunRow
from .base import End, Finding, Ledger

CLAIMS = frozenset({"runs.claim_next", "runs.claim_many"})


class Drained:
    id = "S1"
    promise = (
        "when the faults stop, every run ends done: none stranded, lost, invented or done twice"
    )

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._left: dict[str, Change] = {}
        self._done: set[str] = set()
        self._last_empty: Op | None = None

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is not Commit:
                self._empty(event.op)
            elif event.change.table == RUNS:
                self._commit(event.change, event.op)

    def _empty(self, op: Op) -> None:
        empty = op.name in CLAIMS and op.status == "ok" and not op.result
        if empty and not op.args.get("exclude_run_ids"):
            self._last_empty = op

    def _commit(self, change: Change, op: Op | None) -> None:
        before, after = change.before, change.after
        run_id = change.key[0]
        if before is None and op is None:
            self.ledger.violation(f"{run_id} was invented: no call enqueued it", [], [change])
        if isinstance(before, RunRow) and before.status == "done":
            self.ledger.violation(f"{run_id} was changed after it was done", [op], [change])
        if not isinstance(after, RunRow):
            self._left.pop(run_id, None)
            self._done.discard(run_id)
            if op is None:
                self.ledger.violation(f"{run_id} was lost: no call deleted it", [], [change])
        elif after.status == "done":
            self._left.pop(run_id, None)
            self._done.add(run_id)
        else:
            self._left[run_id] = change

    def finish(self, end: End) -> Finding:
        self.ledger.exercised += len(self._done)
        for row in end.tables.get(RUNS, ()):
            if not isinstance(row, RunRow):
                continue
            if row.status == "done":
                if row.run_id not in self._done:
                    self.ledger.violation(f"{row.run_id} is done, but nothing completed it")
                self._done.discard(row.run_id)
            elif row.run_id not in self._left:
                self.ledger.violation(f"{row.run_id} is there, but nothing left it there")
        self._done.difference_update(row.run_id for _, row in end.taken)
        for run_id in sorted(self._done)[:10]:
            self.ledger.violation(f"{run_id} was done and is no longer there")
        for run_id, change in sorted(self._left.items()):
            self._stranded(run_id, change, end)
        return self.ledger.finding(left=len(self._left))

    def _stranded(self, run_id: str, change: Change, end: End) -> None:
        after, asked = change.after, self._last_empty
        expiry = after.claim_expires_at if isinstance(after, RunRow) else None
        if (
            asked is not None
            and asked.now is not None
            and asked.now >= end.heal_started
            and asked.low >= change.seq
            and (expiry is None or expiry <= asked.now)
        ):
            self.ledger.violation(
                f"{run_id} is stranded: it was claimable, and a worker was told there was nothing",
                [asked],
                [change],
            )
        else:
            self.ledger.doubt(f"{run_id} is not done, but no worker was told there was nothing")
