"""How often a call that waits for the lock is overtaken, and whether that shows a line.

A call overtakes another when it was made later and had the lock before: by their records, so
whatever a machine makes of the processes' speed. How many calls overtake tells little, for
whoever has the lock may go on for a turn. How many turns does: where who waits stands in a
line, each other process has one before it, or a few where the lock was free in between. Where
who waits longest tries least often, the others have dozens. So what is counted are changes
from one process that overtakes to another, as a mean over those who do.

A single call proves nothing, since a process may be kept from running just as it is woken.
Many in a thousand do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import TypeAlias

from ..operations import Op
from .stalls import Stalls

TURNS = 12
"""So many turns a process are too many for a line."""
_PER_CALLS = 1000
_LEAST = 5
_OTHERS = 2
"""Turns of one other alone can't be told from each other: they are one."""
_BEHIND, _AHEAD = 5000, 10_000
"""So many calls are kept before the one that is judged, and have come after it."""
_KEPT = 10_000

_Taking: TypeAlias = tuple[int, int, Op]
"""When a call had the lock, and when it was made."""

_when = itemgetter(0)


class Overtaken:
    """The calls that too many turns of others overtook. Fed with each call that had the lock."""

    def __init__(self) -> None:
        self._recent: list[_Taking] = []
        self._judged = 0
        self._calls = 0
        self._far: list[tuple[float, Op]] = []

    def add(self, op: Op) -> None:
        """A call that read the clock when it had the lock, about in the order of these times."""
        self._recent.append((op.clock[-1][0], op.invoked, op))
        if len(self._recent) - self._judged >= 2 * _AHEAD:
            self._judge(len(self._recent) - _AHEAD)

    def finish(self) -> None:
        """No call follows."""
        self._judge(len(self._recent))

    def those(self, stalls: Stalls) -> list[tuple[float, Op]]:
        """The calls, each with the turns; without those in which a reason delayed anybody."""
        return [
            (turns, op)
            for turns, op in self._far
            if not stalls.within(op.process, op.invoked, op.clock[-1][0])
        ]

    def too_often(self, stalls: Stalls) -> bool:
        """Whether so many calls are more than chance."""
        return len(self.those(stalls)) > max(_LEAST, self._calls / _PER_CALLS)

    def _judge(self, until: int) -> None:
        self._recent.sort(key=_when)
        times = [time for time, *_ in self._recent]
        for place in range(self._judged, until):
            _, made, op = self._recent[place]
            first = bisect_right(times, made, 0, place)
            if place - first >= TURNS * _OTHERS:
                turns = _turns(self._recent[first:place], made)
                if turns >= TURNS and len(self._far) < _KEPT:
                    self._far.append((turns, op))
        self._calls += until - self._judged
        dropped = max(0, until - _BEHIND)
        del self._recent[:dropped]
        self._judged = until - dropped


def _turns(takings: Sequence[_Taking], made: int) -> float:
    """How many turns each of those had, in the mean, who asked later."""
    turns, last = 0, ""
    others = set()
    for _, began, op in takings:
        if began > made:
            turns += op.process != last
            last = op.process
            others.add(op.process)
    return turns / len(others) if others else 0.0
