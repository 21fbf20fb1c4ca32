"""The story of a violation: the shortest window of records that shows it, in words.

A checker names the calls and commits that break its property. Whoever reads that wants to
know the other party too: who held the row before, and what was done to it meanwhile. So
the story has every call that touched the same rows, from the claim that was broken into
until the last call that the checker named.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..operations import NEVER, Op
from ..rows import QUEUE, RUNS, TABLES, key_of
from ..verdict import Property
from . import words
from .claims import lane_of, moment
from .figures import slot_of
from .marks import EVERYBODY, Mark
from .origin import Origin

_BEFORE, _AFTER = 80, 1
_SHOWN = 30


@dataclass(slots=True)
class Line:
    """One thing that somebody did. Times in milliseconds since the load began.

    A call took effect at `at`, as far as can be told: when it read the clock last.
    """

    at: float
    began: float
    until: float | None
    who: str
    did: str
    outcome: str
    changes: list[str]
    named: bool
    """Whether the checker named it."""
    fault: bool = False


@dataclass(slots=True)
class Story:
    """A violation, where on the timeline it is, and its lines."""

    id: str
    promise: str
    message: str
    lanes: tuple[str, ...]
    at: float = 0.0
    start: float = 0.0
    end: float = 0.0
    lines: list[Line] = field(default_factory=list)
    left_out: int = 0


class Teller:
    """Collects one violation's story while the run's events pass by."""

    def __init__(self, origin: Origin, broken: Property, violation: Mapping[str, Any]) -> None:
        self._origin = origin
        self._calls = {(call["process"], call["call"]) for call in violation["calls"]}
        self._seqs = {commit["seq"] for commit in violation["commits"]}
        self._lost = _tokens(violation)
        self._before: deque[Op] = deque(maxlen=_BEFORE)
        self._kept: list[Op] = []
        self._after = 0
        lanes = [lane for call in violation["calls"] for lane in lanes_of_call(call)]
        parents = [call["args"].get("parent_run_id") for call in violation["calls"]]
        lanes += [lane_of(RUNS, (parent,)) for parent in parents if isinstance(parent, str)]
        lanes += [_lane_of_commit(commit) for commit in violation["commits"]]
        if not lanes:
            words_said = [word.strip(":,.") for word in str(violation["message"]).split()[:4]]
            lanes = [f"{table}:{word}" for word in words_said for table in (RUNS, QUEUE)]
        self.story = Story(
            broken.id,
            broken.promise,
            origin.told(violation["message"]),
            tuple(dict.fromkeys(lanes)),
        )

    def names(self, op: Op) -> bool:
        """Whether the checker named this call, or a commit of it."""
        if (op.process, op.n) in self._calls:
            return True
        return any(row.seq in self._seqs for row in op.rows)

    @property
    def calls(self) -> Iterable[tuple[str, int]]:
        return self._calls

    def hear(self, op: Op) -> None:
        """A call that touched one of the story's rows, or is named."""
        if self.names(op):
            self._kept.extend(self._before)
            self._before.clear()
            self._kept.append(op)
            self._after = 0
        elif self._kept and self._after < _AFTER:
            self._after += 1
            self._kept.append(op)
        else:
            self._before.append(op)

    def tell(self, marks: Iterable[Mark]) -> Story:
        """The story, when all events have passed."""
        ops = self._kept or list(self._before)[-_SHOWN // 2 :]
        first = self._first(ops)
        story = self.story
        lines = [self._line(op) for op in ops[first:]]
        if not lines:
            return story
        story.at = max((line.at for line in lines if line.named), default=lines[-1].at)
        story.start = min(line.began for line in lines)
        story.end = max(line.until or line.at for line in lines)
        who = {line.who for line in lines}
        workers = {slot_of(process) for process in who}
        for mark in marks:
            lasts = mark.at if mark.until is None else mark.until
            hit = mark.process in who or mark.process in workers or mark.process == EVERYBODY
            if hit and lasts >= story.start and mark.at <= story.end:
                lines.append(_fault(mark))
        lines.sort(key=lambda line: line.at)
        story.lines, story.left_out = _shorten(lines)
        return story

    def _first(self, ops: list[Op]) -> int:
        """Where the story begins: at the claim that was broken into, or a little before."""
        culprit = next((index for index, op in enumerate(ops) if self.names(op)), len(ops))
        wanted, begins = set(self._lost), culprit
        for index in range(culprit - 1, -1, -1):
            for row in ops[index].rows:
                token = getattr(row.after, "claim_token", None)
                if token in wanted and getattr(row.before, "claim_token", None) != token:
                    wanted.discard(token)
                    begins = index
        return begins if begins < culprit else max(0, culprit - 6)

    def _line(self, op: Op) -> Line:
        call = op.describe()
        changes = [
            self._origin.told(
                f"commit {row.seq} on {row.table}: "
                + words.moved(
                    {
                        "before": row.before and row.before._asdict(),
                        "after": row.after and row.after._asdict(),
                    }
                )
            )
            for row in op.rows
        ]
        began = self._origin.ms(op.invoked)
        return Line(
            moment(self._origin, op) or began,
            began,
            None if op.returned == NEVER else self._origin.ms(op.returned),
            op.process,
            words.deed(op.name, op.args),
            words.outcome(call),
            changes,
            self.names(op),
        )


def _fault(mark: Mark) -> Line:
    return Line(mark.at, mark.at, mark.until, mark.process, mark.told(), "", [], False, True)


def _shorten(lines: list[Line]) -> tuple[list[Line], int]:
    """Keep what was named, faults, and the rest as far as there is room."""
    room = _SHOWN - sum(line.named or line.fault for line in lines)
    kept = []
    for line in reversed(lines):
        if line.named or line.fault or room > 0:
            kept.append(line)
            room -= not (line.named or line.fault)
    return kept[::-1], len(lines) - len(kept)


def _tokens(violation: Mapping[str, Any]) -> set[str]:
    """The claims that the named commits and calls broke into, or used."""
    rows = [commit["before"] for commit in violation["commits"]]
    tokens = {row["claim_token"] for row in rows if row and row.get("claim_token")}
    for call in violation["calls"]:
        claim = call["args"].get("claim")
        token = claim.get("token") if isinstance(claim, dict) else call["args"].get("claim_token")
        tokens.add(token)
    return tokens - {None}


def _lane_of_commit(commit: Mapping[str, Any]) -> str:
    table = commit["table"]
    row = commit["after"] or commit["before"]
    return lane_of(table, key_of(table, TABLES[table](**row)))


def lanes_of_call(call: Mapping[str, Any]) -> list[str]:
    """The rows that a call names in its arguments and its result."""
    args = call["args"]
    found = [args.get("run_id")]
    keys = [args, args.get("claim")]
    result = call.get("result")
    for one in result if isinstance(result, list) else [result]:
        if isinstance(one, Mapping):
            found.append(one.get("run_id"))
            keys.append(one)
    lanes = [lane_of(RUNS, (run_id,)) for run_id in found if isinstance(run_id, str)]
    for key in keys:
        if isinstance(key, Mapping) and {"controller", "key"} <= set(key):
            lanes.append(lane_of(QUEUE, (str(key["controller"]), str(key["key"]))))
    return lanes


def lanes_of(op: Op) -> set[str]:
    """The rows that a call names or changed."""
    call = {"args": op.args, "result": op.result if op.status == "ok" else None}
    return {*lanes_of_call(call), *(lane_of(row.table, row.key) for row in op.rows)}
