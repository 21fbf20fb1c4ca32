"""What the nemesis did, and the phases of a run, as marks on the timeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..history import Note, Record
from .origin import Origin

PHASES = frozenset({"load", "healing"})
EVERYBODY = "everybody"
"""Who is hit by a fault that is about the file: it has a row of its own."""
_ENDS = {"resume": "pause", "room again": "full"}


@dataclass(slots=True)
class Mark:
    """A fault: `until` is None for an instant. `process` may be a worker, or `EVERYBODY`."""

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

    A kind with an end of its own lasts until that, or until its process is killed; any other
    one that says `ms`, or `since` and `until`, lasts so long.
    """
    marks: list[Mark] = []
    phases: dict[str, float] = {}
    lasting: dict[tuple[str, str], Mark] = {}
    for record in nemesis:
        if not isinstance(record, Note):
            continue
        kind, process, at = record.kind, _process(record), origin.ms(record.mono)
        if kind in PHASES:
            phases[kind] = at
            continue
        if kind in _ENDS:
            begun = lasting.pop((_ENDS[kind], process), None)
            if begun is not None:
                begun.until = at
            continue
        if kind == "kill":
            for key in [key for key in lasting if key[1] == process]:
                lasting.pop(key).until = at
        mark = _mark(origin, record, process)
        marks.append(mark)
        if kind in _ENDS.values():
            lasting[kind, process] = mark
    return sorted(marks, key=lambda mark: mark.at), phases


def _mark(origin: Origin, record: Note, process: str) -> Mark:
    facts = record.facts
    mark = Mark(record.kind, origin.ms(record.mono), process, facts=_facts(record))
    if "since" in facts and "until" in facts:
        mark.at, mark.until = origin.ms(facts["since"]), origin.ms(facts["until"])
    elif "ms" in facts:
        mark.until = mark.at + float(facts["ms"])
    return mark


def _process(record: Note) -> str:
    if "process" in record.facts:
        return str(record.facts["process"])
    slot = record.facts.get("slot")
    return EVERYBODY if slot is None else f"worker-{slot:02d}"


def _facts(record: Note) -> str:
    told = {name: value for name, value in record.facts.items() if value and name not in _KNOWN}
    return ", ".join(f"{name} {value}" for name, value in told.items())


_KNOWN = frozenset({"slot", "process", "ms", "since", "until"})
