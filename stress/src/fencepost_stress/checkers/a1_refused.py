"""A1: what was refused or failed changed nothing.

A call that was definitely refused has no change; of a call that says for some of its
claims that they did not hold, no more rows changed than it says; an empty claim has none.
A change that no call explains is R1's; here it counts against the last refused call that
asked for just that.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import identity
from ..operations import Commit, Event, Op
from .base import End, Finding, Ledger

_FURTHER = {"resources.put": 1, "resources.request_deletion": 1}
"""Rows that a success may change beside the one that it must."""


class Refused:
    id = "A1"
    promise = "what was refused or failed changed nothing"

    def __init__(self) -> None:
        self._ledger = Ledger(self)

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            op = event.op
            if type(event) is Commit:
                if op is not None and op.rows[0].seq == event.change.seq:
                    self._changed(op)
            elif event.op.status == "fail" or event.op.result is False:
                self._ledger.exercised += 1

    def _changed(self, op: Op) -> None:
        if op.status == "fail":
            self._ledger.exercised += 1
            self._ledger.violation(
                f"{op.name} was refused ({op.code}), and changed rows", [op], op.rows
            )
        elif op.status == "ok" and op.name != "resources.delete":
            due = identity.rows_due(op)
            self._ledger.exercised += isinstance(op.result, list) and due < len(op.result)
            if len(op.rows) > due + _FURTHER.get(op.name, 0):
                self._ledger.violation(
                    f"{op.name} says that it changed {due} rows, and changed {len(op.rows)}",
                    [op],
                    op.rows,
                )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        return self._ledger.finding()
