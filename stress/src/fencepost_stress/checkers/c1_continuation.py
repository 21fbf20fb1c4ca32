"""C1: a parent has at most one continuation, whoever races.

All but one racer get the typed refusal and change nothing. The refusal itself must be
true: at some place in the call's window the parent had a continuation.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import Change, RunRow
from .base import End, Finding, Ledger

REFUSAL = "continuation_exists"
_NO_ANSWER = frozenset({"busy", "full"})


class Continuation:
    id = "C1"
    promise = "a parent has at most one continuation; every other racer is refused, with no effect"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        # By parent, its continuations and the commits that made them.
        self._continuations: dict[str, dict[str, int]] = {}
        self._watching: list[Op] = []

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit:
                self._commit(event.change, event.op)
            elif event.op.name == "runs.enqueue" and event.op.args.get("parent_run_id"):
                self._loser(event.op)

    def _commit(self, change: Change, op: Op | None) -> None:
        before, after = change.before, change.after
        if isinstance(before, RunRow) and before.parent_run_id and after is None:
            left = self._continuations.get(before.parent_run_id, {})
            left.pop(before.run_id, None)
            if not left:
                self._continuations.pop(before.parent_run_id, None)
        if before is None and isinstance(after, RunRow) and after.parent_run_id:
            present = self._continuations.setdefault(after.parent_run_id, {})
            if present:
                self.ledger.violation(
                    f"{after.parent_run_id} has a second continuation, {after.run_id}, "
                    f"beside {_shown(present)}",
                    [op],
                    [change],
                )
            present[after.run_id] = change.seq
        if op is not None and op.status == "fail" and op.args.get("parent_run_id"):
            self.ledger.violation(
                f"a refused enqueue ({op.code}) changed the table", [op], [change]
            )
        if self._watching:
            self._watching = [op for op in self._watching if not self._resolved(op, change.seq)]

    def _loser(self, op: Op) -> None:
        if op.status != "fail" or op.code in _NO_ANSWER or op.code == "run_exists":
            return
        if op.code != REFUSAL:
            self.ledger.violation(f"a racer was refused with {op.code}, not {REFUSAL}", [op])
            return
        self.ledger.exercised += 1
        if not self._resolved(op, op.low):
            self._watching.append(op)

    def _resolved(self, op: Op, seq: int) -> bool:
        if seq > op.high:
            self._unfounded(op)
            return True
        return bool(self._continuations.get(str(op.args["parent_run_id"])))

    def _unfounded(self, op: Op) -> None:
        self.ledger.violation(
            f"{op.args['parent_run_id']} had no continuation when another one was refused", [op]
        )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        for op in self._watching:
            self._unfounded(op)
        return self.ledger.finding()


def _shown(present: dict[str, int]) -> str:
    return ", ".join(f"{run_id} of commit {seq}" for run_id, seq in present.items())
