"""The origin of a run's time: everything a report says is told in time since the load began."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .. import ending as endings, history, plan as plans
from ..history import Note

_WALL = re.compile(r"\b1[5-9]\d{11}\b")


@dataclass(frozen=True, slots=True)
class Origin:
    """When the load began, on the monotonic clock (ns) and as wall time (ms)."""

    mono: int
    wall: float

    def ms(self, mono: int) -> float:
        """Milliseconds since the load began."""
        return round((mono - self.mono) / 1e6, 2)

    def told(self, text: str) -> str:
        """The text with each wall time in it as seconds since the load began."""
        return _WALL.sub(lambda found: f"{(int(found[0]) - self.wall) / 1000:.3f} s", text)


def origin_of(directory: Path) -> Origin:
    """The origin of the run in a directory.

    The nemesis notes the beginning of the load; the wall time of the same instant
    follows from the end of the load, which both the plan and the ending know.
    """
    ending = endings.load(directory)
    plan = plans.load(directory / "plan.json")
    wall = float(ending.heal_started - plan.load_ms)
    nemesis = directory / "history" / "nemesis.jsonl"
    first = 0
    for record in history.read(nemesis):
        first = first or record.mono
        if isinstance(record, Note) and record.kind == "load":
            return Origin(record.mono, wall)
    return Origin(first, wall)
