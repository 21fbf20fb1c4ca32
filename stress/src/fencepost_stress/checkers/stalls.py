"""Times in which nobody, or one process, could go on, for reasons that are not the store's.

A fault that holds the lock stops everybody; so does a process that is stopped, for it may
hold the lock. One that is stopped between two of its calls holds nothing: that stops only
itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..operations import Op
from .base import End

_LEAST_NS = 100_000_000
"""Shorter times between calls are not kept: a process that is stopped in one counts as a
holder."""

STOOD_STILL = "but the machine let nobody work meanwhile"

_Stretch: TypeAlias = tuple[int, int]


class Between:
    """When each process was between two of its calls, as far as that was long."""

    def __init__(self) -> None:
        self._gaps: defaultdict[str, list[_Stretch]] = defaultdict(list)
        # Calls come in the order of commits; so until the one before, or after, is there too.
        self._returned: dict[tuple[str, int], int] = {}
        self._invoked: dict[tuple[str, int], int] = {}

    def add(self, op: Op) -> None:
        """A call, each once, in any order."""
        process, n = op.process, op.n
        before = self._returned.pop((process, n - 1), None)
        after = self._invoked.pop((process, n + 1), None)
        if before is None:
            self._invoked[process, n] = op.invoked
        else:
            self._gap(process, before, op.invoked)
        if after is None:
            self._returned[process, n] = op.returned
        else:
            self._gap(process, op.returned, after)

    def _gap(self, process: str, since: int, until: int) -> None:
        if until - since >= _LEAST_NS:
            self._gaps[process].append((since, until))

    def holds_nothing(self, process: str, since: int, until: int) -> bool:
        """Whether the process was between the same two calls all the while."""
        return any(start <= since and until <= stop for start, stop in self._gaps[process])


class Stalls:
    """What counts for nobody: `still`, when the machine let nobody work, only if it is to."""

    def __init__(self, end: End, between: Between, *, still: bool) -> None:
        everybody = [
            (since, until)
            for process, since, until in end.pauses
            # Pruning holds the lock, and is no call in the history.
            if end.pruned or not between.holds_nothing(process, since, until)
        ]
        self._everybody = joined([*everybody, *end.holds, *(end.still if still else ())])
        own: defaultdict[str, list[_Stretch]] = defaultdict(list)
        for process, since, until in end.pauses:
            own[process].append((since, until))
        self._own = {
            process: joined([*self._everybody, *stretches]) for process, stretches in own.items()
        }

    def within(self, process: str, since: int, until: int) -> int:
        """For how many nanoseconds of a time the process could not go on."""
        return within(self._own.get(process, self._everybody), since, until)


def joined(stretches: Iterable[_Stretch]) -> Sequence[_Stretch]:
    """The same times, each once."""
    found: list[_Stretch] = []
    for since, until in sorted(stretches):
        if found and since <= found[-1][1]:
            found[-1] = (found[-1][0], max(until, found[-1][1]))
        else:
            found.append((since, until))
    return found


def within(stretches: Iterable[_Stretch], since: int, until: int) -> int:
    """How much of a time falls into stretches that do not overlap."""
    return sum(max(0, min(stop, until) - max(start, since)) for start, stop in stretches)
