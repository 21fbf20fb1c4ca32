"""R1: replaying the witness through the reference model reproduces every result seen.

A call that changed rows is predicted at its place in commit order: the same rows must
change in the same way, and the call must have been told what the model tells. A call
that changed nothing must be explained at some place of its window: as an empty claim,
a refusal or a reading that the model gives there for the time that the call read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model import Model, Outcome
from ..operations import NEVER, Commit, Event, Op
from ..rows import Change
from . import differences
from .base import End, Finding, Ledger

_UNANSWERED = frozenset({"busy", "full"})


class Replay:
    id = "R1"
    promise = "replaying the commits through a reference model reproduces every result seen"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._model = Model()
        self._watching: list[tuple[Op, Outcome | None]] = []

    def feed(self, events: Sequence[Event]) -> None:
        commit, seen = self._commit, self._seen
        for event in events:
            if type(event) is Commit:
                commit(event.change, event.op)
            else:
                seen(event.op)

    def _commit(self, change: Change, op: Op | None) -> None:
        if op is None:
            self.ledger.violation(
                f"no call explains the change of {change.table} {change.place}",
                [],
                [change],
            )
        elif op.rows[0].seq == change.seq:
            self._predict(op)
        self._model.write(change)
        if self._watching:
            self._watching = [
                watched for watched in self._watching if not self._explained(watched, change.seq)
            ]

    def _predict(self, op: Op) -> None:
        expected = self._model.outcome(op)
        if expected is None:
            self._not_predicted(op)
            return
        self.ledger.exercised += 1
        if op.status == "fail":
            self.ledger.violation(
                f"{op.name} was refused ({op.code}) and changed rows", [op], op.rows
            )
            return
        rows = op.rows
        actual = (rows[0][1:],) if len(rows) == 1 else tuple([row[1:] for row in rows])
        if expected.changes != actual and not _same_unordered(expected, actual):
            self.ledger.violation(
                f"{op.name} did what it should not: "
                f"{differences.of_changes(expected.changes, rows, _same)}",
                [op],
                op.rows,
            )
        elif op.status == "ok" and not _same(expected.result, op.result):
            self.ledger.violation(
                f"{op.name} was told what is not so: "
                f"{differences.of_results(expected.result, op.result, _same, _differing)}",
                [op],
                op.rows,
            )

    def _not_predicted(self, op: Op) -> None:
        self.ledger.doubt(
            f"{op.name} read no clock, so its outcome can't be predicted"
            if self._model.knows(op)
            else f"the model has no rule for {op.name}"
        )

    def _seen(self, op: Op) -> None:
        if op.status in {"open", "unknown"} or op.code in _UNANSWERED:
            return
        expected = self._model.outcome(op)
        if expected is None:
            self._not_predicted(op)
            return
        self.ledger.exercised += 1
        if not _explains(expected, op):
            self._watching.append((op, expected))

    def _explained(self, watched: tuple[Op, Outcome | None], seq: int) -> bool:
        op, first = watched
        if seq > op.high:
            self._unexplained(op, first)
            return True
        expected = self._model.outcome(op)
        return expected is not None and _explains(expected, op)

    def _unexplained(self, op: Op, first: Outcome | None) -> None:
        until = "the end" if op.high == NEVER else f"{op.high}"
        self.ledger.violation(
            f"{op.name} {differences.told(op)}, which is right nowhere between commits "
            f"{op.low} and {until}: at first due was {differences.due(first)}",
            [op],
        )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        for op, first in self._watching:
            self._unexplained(op, first)
        return self.ledger.finding()


def _explains(expected: Outcome, op: Op) -> bool:
    if op.status == "fail":
        return op.code in expected.refusals
    return not expected.refusals and not expected.changes and _same(expected.result, op.result)


def _same(expected: Any, actual: Any) -> bool:
    if expected is actual:
        return True
    if isinstance(expected, dict) and isinstance(actual, dict):
        # The usual case first; what differs may still be None in one and absent in the other.
        return expected == actual or not _differing(expected, actual)
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_same, expected, actual))
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, frozenset):
        return actual in expected
    return bool(expected == actual)


def _same_unordered(expected: Outcome, actual: tuple[Any, ...]) -> bool:
    """Whether the changes are the same but for the order of those that have none."""
    first = expected.ordered
    return (
        len(expected.changes) == len(actual) > first
        and expected.changes[:first] == actual[:first]
        and set(expected.changes[first:]) == set(actual[first:])
    )


def _differing(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """Members with another value. An absent member is as good as None; F4 looks at fences."""
    names = [name for name, value in expected.items() if not _same(value, actual.get(name))]
    if len(actual) > len(expected) or names:
        names += [
            name
            for name, value in actual.items()
            if name not in expected and value is not None and name != "fence"
        ]
    return names
