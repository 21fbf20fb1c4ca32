"""A1: what was refused or failed changed nothing.

- A call that was definitely refused has no change.
- A call that says for some of its claims that they did not hold changed no more rows than
  it says; a claim that found nothing changed none.
- A change that no call explains counts against a refused call that was on at the time and
  asked for just that: the same row, or for a claim, a claim that ends when its own would.

The first two know a call's changes by what it carries. The third is for the calls that the
store alone names when they succeed, so that one which was refused has no name at all. What
no call explains and none asked for is R1's.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import identity
from ..operations import Commit, Event, Op
from ..rows import (
    QUEUE,
    RUNS,
    Change,
    EffectRow,
    QueueRow,
    RequestRow,
    ResourceRow,
    RunRow,
    TableRow,
)
from .base import End, Finding, Ledger

_FURTHER = {"resources.put": 1, "resources.request_deletion": 1}
"""Rows that a success may change beside the one that it must."""
_KEPT = 1000
_CLAIMS = {"queue.claim_next": QUEUE, "queue.claim_many": QUEUE, "runs.claim_many": RUNS}
_SWAPS = frozenset({"resources.update_status", "resources.update_finalizers", "resources.delete"})


class Refused:
    id = "A1"
    promise = "what was refused or failed changed nothing"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._refused: list[Op] = []
        self._most = _KEPT

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            op = event.op
            if type(event) is Commit:
                if op is None:
                    self._unexplained(event.change)
                elif op.rows[0].seq == event.change.seq:
                    self._changed(op)
            elif event.op.status == "fail" or not _succeeded(event.op):
                self.ledger.exercised += 1
                self._refused.append(event.op)
                if len(self._refused) > self._most:
                    self._let_go(event.op.low)
                    self._most = max(_KEPT, 2 * len(self._refused))

    def _let_go(self, seq: int) -> None:
        """Of the refused calls that were over when this commit was still to come."""
        self._refused = [op for op in self._refused if op.high >= seq]

    def _changed(self, op: Op) -> None:
        if op.status == "fail":
            self.ledger.exercised += 1
            self.ledger.violation(
                f"{op.name} was refused ({op.code}), and changed rows", [op], op.rows
            )
        elif op.status == "ok" and op.name != "resources.delete":
            due = identity.rows_due(op)
            self.ledger.exercised += isinstance(op.result, list) and due < len(op.result)
            if len(op.rows) > due + _FURTHER.get(op.name, 0):
                self.ledger.violation(
                    f"{op.name} says that it changed {due} rows, and changed {len(op.rows)}",
                    [op],
                    op.rows,
                )

    def _unexplained(self, change: Change) -> None:
        self._let_go(change.seq)
        for op in reversed(self._refused):
            if op.low < change.seq <= op.high and _asked_for(op, change):
                said = f"refused ({op.code})" if op.status == "fail" else f"told {op.result!r}"
                self.ledger.violation(
                    f"{op.name} was {said}, and the change of {change.table} {change.place} that "
                    "it asked for is there, made by nobody else",
                    [op],
                    [change],
                )
                return

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        return self.ledger.finding()


def _succeeded(op: Op) -> bool:
    """Whether the call says that it did something, or does not say."""
    return op.result is not False and not (op.name in _CLAIMS and op.result in (None, []))


def _asked_for(op: Op, change: Change) -> bool:
    """Whether a call of a kind that carries no name of its own asked for this change."""
    args, before, after = op.args, change.before, change.after
    if op.name in _CLAIMS:
        return change.table == _CLAIMS[op.name] and _leased(op, after)
    if op.name == "runs.renew":
        return change.key == (args["run_id"],) and _leased(op, after)
    if op.name == "queue.renew":
        claim = args["claim"]
        return change.key == (claim["controller"], claim["key"]) and _leased(op, after)
    if op.name in _SWAPS:
        wanted = (args["controller"], args["key"], args["expected_resource_version"])
        return isinstance(before, ResourceRow) and wanted == (
            before.controller,
            before.resource_key,
            before.resource_version,
        )
    if op.name == "effects.reserve":
        wanted = (args["key"], args["resource_uid"], args["request_fingerprint"])
        return isinstance(after, EffectRow) and wanted == (
            after.effect_key,
            after.resource_uid,
            after.request_fingerprint,
        )
    wanted = (args.get("resource_uid"), args.get("request_key"), args.get("input_fingerprint"))
    return op.name == "requests.reserve" and isinstance(after, RequestRow) and after[1:4] == wanted


def _leased(op: Op, row: TableRow | None) -> bool:
    """Whether the row is claimed for as long as the call wanted."""
    return (
        isinstance(row, QueueRow | RunRow)
        and op.now is not None
        and row.claim_expires_at == op.now + op.args["lease_ms"]
    )
