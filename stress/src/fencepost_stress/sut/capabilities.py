"""What a queue has, and what it promises, in words that a report can quote."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Lease: TypeAlias = Literal["expires", "session", "kept", "taken"]
"""How a claim ends that nobody ends.

`expires`: by itself, so long after it was made or renewed. `session`: when the process
that made it has died and the queue is opened anew. `kept`: never. `taken`: there is no
claim: whoever takes an item has it, and the queue forgets it.
"""

Workers: TypeAlias = Literal["processes", "threads"]
"""What may share the queue: processes, or only the threads of one process."""

MIXED, WAIT = WORKLOADS = ("mixed", "wait")
"""Those of the harness's workloads that make sense for any queue; `wait` where claims can."""

PROPERTIES = ("F1", "F2", "C1", "S1", "Q1")
OPERATIONS = (
    "renew",
    "verify",
    "complete",
    "release",
    "delete",
    "parents",
    "unique",
    "wait",
)
"""Beside `enqueue` and `claim`. `parents`: enqueueing knows a parent, which may have one
child. `unique`: an item whose name is there already is refused. `wait`: claiming can wait."""


class Capabilities(msgspec.Struct, frozen=True):
    """The answer to `init`."""

    name: str
    version: str = ""
    operations: tuple[str, ...] = ()
    lease: Lease = "expires"
    workers: Workers = "processes"
    promises: dict[str, str] = {}
    """Where the library says so, by property. What is not here is reported as not claimed."""
    excused: dict[str, str] = {}
    """Why a property is not promised, in the library's words where there are some."""
    clock_error_ms: int = 0
    """By how much the queue's clock may differ from the machine's monotonic one in a run."""

    def problems(self) -> list[str]:
        """What is wrong with the declaration itself."""
        found = [f"unknown operation {one!r}" for one in self.operations if one not in OPERATIONS]
        found += [
            f"unknown property {one!r}"
            for one in (*self.promises, *self.excused)
            if one not in PROPERTIES
        ]
        if self.lease != "taken" and "complete" not in self.operations:
            found.append("a queue with claims needs the operation 'complete'")
        return found
