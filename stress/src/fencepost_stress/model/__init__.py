"""A reference model of the store, written from its specification.

It shares no code with the engines. It predicts what a call does in the present state;
the state itself is moved by the changes that the witness shows, so that one deviation
does not make everything after it look wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..operations import Op
from ..rows import Change, QueueRow, ResourceRow, RunRow
from .outcome import ANYTHING, Outcome, Prediction
from .queue import Queue
from .runs import Runs

__all__ = ["ANYTHING", "Model", "Outcome", "Prediction"]

_Rule: TypeAlias = Callable[[dict[str, Any], int], Outcome]

TIMELESS = frozenset({"runs.delete", "runs.get", "queue.requeue"})
"""Calls whose outcome does not depend on the clock."""


class Model:
    """The tables under test, and the rule of each operation."""

    def __init__(self) -> None:
        self.runs = Runs()
        self.queue = Queue()
        self._rules: dict[str, _Rule] = {
            "runs.enqueue": self.runs.enqueue,
            "runs.claim_next": self.runs.claim_next,
            "runs.renew": self.runs.renew,
            "runs.verify": self.runs.verify,
            "runs.park": self.runs.park,
            "runs.complete": self.runs.complete,
            "runs.delete": self.runs.delete,
            "runs.get": self.runs.get,
            "resources.put": self.queue.put,
            "queue.enqueue": self.queue.enqueue,
            "queue.claim_next": self.queue.claim_next,
            "queue.renew": self.queue.renew,
            "queue.settle": self.queue.settle,
            "queue.requeue": self.queue.requeue,
        }

    def knows(self, op: Op) -> bool:
        return op.name in self._rules

    def outcome(self, op: Op) -> Outcome | None:
        """What the call does now; None when its time is needed and was not observed."""
        now = op.now
        if now is None:
            timeless = op.name in TIMELESS or (
                op.name == "queue.enqueue" and op.args.get("available_at") is not None
            )
            if not timeless:
                return None
            now = 0
        return self._rules[op.name](op.args, now)

    def write(self, change: Change) -> None:
        before, after = change.before, change.after
        sample = after if after is not None else before
        match sample:
            case RunRow():
                self.runs.write(before, after)  # type: ignore[arg-type]
            case QueueRow():
                self.queue.write(before, after)  # type: ignore[arg-type]
            case ResourceRow():
                self.queue.write_resource(before, after)  # type: ignore[arg-type]
