"""The calls of a run's clients, joined from their histories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..history import Begin, Fail, Info, Invoke, Note, Ok, Record
from ..operations import NEVER, Op

ENDED = "healed"
"""The last note of a client: nothing follows, and its process ends."""


@dataclass(slots=True, eq=False)
class Call:
    """A call on an item, with the moments between which it can have taken effect.

    `claim` names the claim that it made, or that it was made with. `high` is NEVER where
    nobody can say when the call took effect, if ever. `died` is a moment from which
    on the process of the caller may be gone, NEVER when nothing says so. `said` is the text
    of an error that left the outcome open.
    """

    op: Op
    run: str | None
    claim: str
    low: int
    high: int
    died: int
    said: str = ""

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def unknown(self) -> bool:
        """Whether the call may have taken effect, or not."""
        return self.op.status == "unknown"

    @property
    def result(self) -> Any:
        return self.op.result

    @property
    def refused(self) -> str:
        """The code of a definite refusal; empty when there was none."""
        return self.op.code if self.op.status == "fail" else ""


@dataclass(slots=True)
class Calls:
    """All calls, by what they are about, each list in the order of invocation."""

    by_run: dict[str, list[Call]] = field(default_factory=dict)
    by_parent: dict[str, list[Call]] = field(default_factory=dict)
    empty: list[Call] = field(default_factory=list)
    """Claims that found nothing."""
    ghosts: list[Call] = field(default_factory=list)
    """Claims of which nobody knows whether they took anything, and what."""
    count: int = 0

    def __iter__(self) -> Iterator[Call]:
        """Those whose outcome is unknown or that are about an item, in no order."""
        yield from self.ghosts
        for of_run in self.by_run.values():
            yield from of_run


def deaths(nemesis: Iterable[Record]) -> dict[str, int]:
    """By process that was killed: a moment at which it was gone."""
    return {
        str(record.facts["process"]): record.mono
        for record in nemesis
        if isinstance(record, Note) and record.kind == "kill"
    }


def join(histories: Iterable[Iterable[Record]], died: dict[str, int]) -> Calls:
    """Read all histories."""
    return group(call for history in histories for call in _of(history, died))


def group(found: Iterable[Call]) -> Calls:
    """Sort calls by what they are about."""
    calls = Calls()
    parents: dict[str, set[str]] = {}
    for call in sorted(found, key=lambda call: call.low):
        calls.count += 1
        parent = call.op.args.get("parent_run_id")
        if call.run is None:
            if call.unknown:
                calls.ghosts.append(call)
            elif not call.refused:
                calls.empty.append(call)
            continue
        calls.by_run.setdefault(call.run, []).append(call)
        if parent is not None:
            calls.by_parent.setdefault(parent, []).append(call)
            if not call.refused:
                parents.setdefault(call.run, set()).add(parent)
        elif call.name == "delete":
            # An item that was deleted may have come again, under another parent.
            for one in parents.get(call.run, ()):
                calls.by_parent[one].append(call)
    return calls


def _of(history: Iterable[Record], died: dict[str, int]) -> list[Call]:
    process, death = "", NEVER
    op: Op | None = None
    found: list[Call] = []
    for record in history:
        if isinstance(record, Begin):
            process = record.process
            death = died.get(str(record.facts.get("host", process)), NEVER)
        elif isinstance(record, Invoke):
            op = Op(process, record.n, record.name, record.args, record.mono)
        elif op is not None and isinstance(record, Ok | Fail | Info):
            op.returned = record.mono
            if isinstance(record, Ok):
                op.status, op.result = "ok", record.result
            else:
                op.status = "fail" if isinstance(record, Fail) else "unknown"
                op.code = record.code
            call = _call(op, death)
            if isinstance(record, Info):
                call.said = f"{record.code}: {record.message}"
            found.append(call)
            op = None
        elif isinstance(record, Note) and record.kind == ENDED:
            for call in found:
                call.died = min(call.died, record.mono)
    if op is not None:
        # Its process died in the middle, and whatever it began died with it.
        op.status = "unknown"
        found.append(_call(op, death))
    return found


def _call(op: Op, death: int) -> Call:
    run = op.args.get("run_id")
    label = op.args.get("claim", "")
    if op.name == "claim":
        label = f"{op.process}/{op.n}"
        if op.status == "ok" and op.result is not None:
            run = op.result["run_id"]
    high = op.returned
    if op.status == "unknown":
        # After an error something may still be under way, as long as the process lives.
        high = death
    return Call(op, run, label, op.invoked, high, death)
