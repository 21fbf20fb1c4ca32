"""Reads a run's evidence once more, for the report: a fold like the checkers, but not a judge."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import history
from ..check import events
from ..history import TornHistoryError
from ..operations import Commit, Event, Op
from ..sut.check import events as external_events
from ..sut.setup import is_external, load_setup
from ..verdict import RunVerdict
from ..witness import WitnessError
from .claims import MOST, Claim, Claims
from .figures import Figures
from .marks import Mark, read as read_marks
from .origin import Origin, origin_of
from .outside import OutsideClaims
from .story import Story, Teller, lanes_of

STORIES = 8
"""So many violations of each property get a story; verdict.json has up to twenty."""
_VAGUE = frozenset({"R1", "D1", "S1"})
"""Properties that object to almost any fault: at one instant, the others say it better."""


@dataclass(slots=True)
class Gathered:
    """What the report shows beside the verdict."""

    origin: Origin
    stories: list[Story]
    claims: dict[str, list[Claim]]
    one_in: int
    marks: list[Mark]
    phases: dict[str, float]
    latencies: list[dict[str, Any]]
    throughput: dict[str, Any]
    fairness: dict[str, Any]
    problem: str = ""
    lanes: frozenset[str] = field(default_factory=frozenset)


def gather(directory: Path, run: RunVerdict, most_claims: int = MOST) -> Gathered:
    """Everything about a run that its verdict does not say; of claims, not more than that."""
    origin = origin_of(directory)
    tellers = [
        Teller(origin, broken, violation)
        for broken in run.properties
        for violation in broken.violations[:STORIES]
    ]
    audience = _Audience(tellers)
    lanes = frozenset(audience.lanes)
    claims = Claims(origin, lanes, most_claims)
    outside = None
    if is_external(directory):
        claims = outside = OutsideClaims(origin, load_setup(directory), lanes, most_claims)
    figures = Figures(origin)
    problem = ""
    try:
        for event in _events(directory):
            op = event.op
            if isinstance(event, Commit):
                claims.add(event)
                if op is None or op.rows[0].seq != event.change.seq:
                    continue
            if op is not None:
                figures.add(op)
                if outside is not None:
                    outside.call(op)
                audience.tell(op)
    except (TornHistoryError, WitnessError, sqlite3.DatabaseError) as error:
        problem = f"the evidence can't be read to its end: {error}"
    marks, phases = read_marks(origin, history.read(directory / "history" / "nemesis.jsonl"))
    stories = [teller.tell(marks) for teller in tellers]
    stories.sort(key=lambda story: (story.at, story.id in _VAGUE, story.id))
    return Gathered(
        origin=origin,
        stories=stories,
        claims=claims.drawn(),
        one_in=claims.one_in,
        marks=marks,
        phases=phases,
        latencies=figures.latencies(),
        throughput=figures.throughput(),
        fairness=figures.fairness(),
        problem=problem,
        lanes=frozenset(audience.lanes),
    )


def _events(directory: Path) -> Iterator[Event]:
    return external_events(directory) if is_external(directory) else events(directory)


class _Audience:
    """Gives each call to the stories that it belongs to."""

    def __init__(self, tellers: list[Teller]) -> None:
        self.lanes: dict[str, list[Teller]] = defaultdict(list)
        self._calls: dict[tuple[str, int], list[Teller]] = defaultdict(list)
        for teller in tellers:
            for lane in teller.story.lanes:
                self.lanes[lane].append(teller)
            for call in teller.calls:
                self._calls[call].append(teller)

    def tell(self, op: Op) -> None:
        if not self._calls and not self.lanes:
            return
        concerned = list(self._calls.get((op.process, op.n), ()))
        for lane in lanes_of(op):
            concerned += self.lanes.get(lane, ())
        for teller in dict.fromkeys(concerned):
            teller.hear(op)
