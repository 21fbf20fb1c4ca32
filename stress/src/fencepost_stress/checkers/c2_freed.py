"""C2: deleting a failed continuation frees its parent's slot for exactly one other.

Looks only at parents whose continuation was deleted. After that, a racer may be refused
only when another one has taken the slot at some place of the refusal's window, and no
second one may take it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import Change, RunRow
from .base import End, Finding, Ledger
from .c1_continuation import REFUSAL


class Freed:
    id = "C2"
    promise = "deleting a failed continuation frees the slot for exactly one other"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        # By parent, the continuation that has the slot, and the commit that gave it.
        self._holders: dict[str, tuple[str, int]] = {}
        self._freed: dict[str, Change] = {}
        self._watching: list[Op] = []

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit:
                self._commit(event.change, event.op)
            elif event.op.status == "fail" and event.op.code == REFUSAL:
                self._refused(event.op)

    def _commit(self, change: Change, op: Op | None) -> None:
        before, after = change.before, change.after
        if before is None and isinstance(after, RunRow) and after.parent_run_id:
            self._taken(after.parent_run_id, after.run_id, change, op)
        elif after is None and isinstance(before, RunRow) and before.parent_run_id:
            parent, holder = before.parent_run_id, self._holders.get(before.parent_run_id)
            self._freed[parent] = change
            if holder is not None and holder[0] == before.run_id:
                del self._holders[parent]
        if self._watching:
            self._watching = [op for op in self._watching if not self._resolved(op, change.seq)]

    def _taken(self, parent: str, run_id: str, change: Change, op: Op | None) -> None:
        freed, holder = self._freed.get(parent), self._holders.get(parent)
        if freed is not None:
            if holder is None:
                self.ledger.exercised += 1
            else:
                self.ledger.violation(
                    f"the slot of {parent}, freed at commit {freed.seq} and taken by {holder[0]} "
                    f"at commit {holder[1]}, was taken a second time",
                    [op],
                    [freed, change],
                )
        self._holders[parent] = (run_id, change.seq)

    def _refused(self, op: Op) -> None:
        freed = self._freed.get(str(op.args.get("parent_run_id")))
        if freed is not None and not self._resolved(op, op.low):
            self._watching.append(op)

    def _resolved(self, op: Op, seq: int) -> bool:
        if seq > op.high:
            self._not_freed(op)
            return True
        return str(op.args["parent_run_id"]) in self._holders

    def _not_freed(self, op: Op) -> None:
        parent = str(op.args["parent_run_id"])
        self.ledger.violation(
            f"the slot of {parent} was free, and {op.args['run_id']} was refused it",
            [op],
            [self._freed.get(parent)],
        )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        for op in self._watching:
            self._not_freed(op)
        return self.ledger.finding()
