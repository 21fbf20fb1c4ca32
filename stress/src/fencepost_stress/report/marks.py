"""What the nemesis did, and the phases of a run, as marks on the timeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..history import Note, Record
from .origin import Origin

PHASES = frozenset({"load", "healing"})
_ENDS = {"resume": "pause"}


@dataclass(slots=True)
class Mark:
    """A fault: `until` is None for an instant. `process` is empty when it hit nobody alone."""

    kind: str
    at: float
    process: str
    until: float | None = None
    facts: str = ""

    def told(self) -> str:
        """The fault in words: "is paused for 900 ms"."""
        if self.kind == "kill":
            said = "is killed"
        elif self.until is not None:
            said = f"{self.kind}, for {self.until - self.at:.0f} ms"
        else:
            said = self.kind
        return f"{said} ({self.facts})" if self.facts else said


def read(origin: Origin, nemesis: Iterable[Record]) -> tuple[list[Mark], dict[str, float]]:
    """The faults in the order of their beginnings, and when each phase began.

    A kind with an end of its own lasts until that; any other one that says `ms` lasts so long.
    """
    marks: list[Mark] = []
    phases: dict[str, float] = {}
    lasting: dict[tuple[str, str], Mark] = {}
    for record in nemesis:
        if not isinstance(record, Note):
            continue
        at = origin.ms(record.mono)
        process = str(record.facts.get("process", ""))
        if record.kind in PHASES:
            phases[record.kind] = at
        elif record.kind in _ENDS:
            begun = lasting.pop((_ENDS[record.kind], process), None)
            if begun is not None:
                begun.until = at
        else:
            mark = Mark(record.kind, at, process, facts=_facts(record))
            marks.append(mark)
            if record.kind == "kill":
                for (_, whose), begun in list(lasting.items()):
                    if whose == process:
                        begun.until = at
            if "ms" in record.facts:
                mark.until = at + float(record.facts["ms"])
                lasting[record.kind, process] = mark
    return marks, phases


def _facts(record: Note) -> str:
    told = {name: value for name, value in record.facts.items() if name not in _KNOWN}
    return ", ".join(f"{name} {value}" for name, value in told.items())


_KNOWN = frozenset({"slot", "process", "ms"})
