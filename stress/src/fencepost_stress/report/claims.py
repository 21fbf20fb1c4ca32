"""The claims of a run as spans of time: who held what, from when to when, and how it ended.

Times are those of the clock readings inside the calls, on the monotonic clock that all
processes share, so a worker whose wall clock is off is drawn where it really was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from ..operations import Commit, Op
from ..rows import RUNS, QueueRow, RunRow
from .origin import Origin

MOST = 60_000
"""So many claims are drawn in a report; of longer runs, every second, fourth, ... lane is."""

FATES = ("held", "let go", "done", "taken over", "taken early")
_ROUNDED_MS = 1.0
"""Stores count whole milliseconds; the timeline does not."""
_DONE = frozenset({"complete", "delete", "settle"})


@dataclass(slots=True)
class Claim:
    """Times in milliseconds since the load began; `lease` is when the latest lease ends."""

    worker: str
    token: str
    start: float
    lease: float
    end: float | None = None
    fate: str = "held"
    renewals: int = 0


class Claims:
    """Fed with every commit of a run."""

    def __init__(
        self, origin: Origin, keep: frozenset[str] = frozenset(), most: int = MOST
    ) -> None:
        self._most = most
        self._origin = origin
        self._keep = keep
        self._lanes: dict[str, list[Claim]] = {}
        self._open: dict[str, Claim] = {}
        self._count = 0
        self.one_in = 1

    def add(self, event: Commit) -> None:
        change, op = event.change, event.op
        before, after = change.before, change.after
        old = before if isinstance(before, RunRow | QueueRow) else None
        new = after if isinstance(after, RunRow | QueueRow) else None
        if old is None and new is None:
            return
        lane = lane_of(change.table, change.key)
        at = moment(self._origin, op)
        if at is None:
            return
        current = self._open.get(lane)
        if current is not None and (new is None or new.claim_token != current.token):
            self._end(lane, current, at, new, op)
        if new is None or new.claim_token is None or op is None:
            return
        lease = at if new.claim_expires_at is None else at + _lease(new.claim_expires_at, op)
        if current is not None and new.claim_token == current.token:
            if lease != current.lease and old is not None:
                moved = old.claim_expires_at != new.claim_expires_at
                current.renewals += moved
                current.lease = lease if moved else current.lease
        else:
            self._begin(lane, Claim(op.process, new.claim_token, at, lease))

    def _begin(self, lane: str, claim: Claim) -> None:
        self._open[lane] = claim
        if not self._drawn(lane):
            return
        self._lanes.setdefault(lane, []).append(claim)
        self._count += 1
        while self._count > self._most:
            self.one_in *= 2
            self._lanes = {name: kept for name, kept in self._lanes.items() if self._drawn(name)}
            self._count = sum(len(kept) for kept in self._lanes.values())
            if self.one_in > 1 << 20:
                return

    def _drawn(self, lane: str) -> bool:
        return lane in self._keep or crc32(lane.encode()) % self.one_in == 0

    def _end(
        self, lane: str, claim: Claim, at: float, new: RunRow | QueueRow | None, op: Op | None
    ) -> None:
        del self._open[lane]
        claim.end = at
        if new is not None and new.claim_token is not None:
            claim.fate = "taken early" if claim.lease > at + _ROUNDED_MS else "taken over"
        else:
            verb = "" if op is None else op.name.partition(".")[2].removesuffix("_many")
            claim.fate = "done" if verb in _DONE else "let go"

    def drawn(self) -> dict[str, list[Claim]]:
        """The claims by lane, in the order of each lane's first claim."""
        return dict(sorted(self._lanes.items(), key=lambda lane: lane[1][0].start))


def lane_of(table: str, key: Sequence[object]) -> str:
    return f"{table}:{'/'.join(map(str, key))}"


def label_of(lane: str) -> str:
    """A lane's name as a person reads it."""
    table, _, key = lane.partition(":")
    return key if table == RUNS else f"{key} ({table})"


def _lease(expires_at: int, op: Op) -> float:
    """How long the lease still had when its row was written, by the caller's own clock."""
    return 0.0 if op.now is None else float(expires_at - op.now)


def moment(origin: Origin, op: Op | None) -> float | None:
    """When a call wrote: at its last reading of the clock, which it takes under the lock."""
    if op is None:
        return None
    return origin.ms(op.clock[-1][0] if op.clock else op.invoked)
