"""The records of all histories in the order of their stamps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import TypeAlias

from .history import Begin, Clock, Invoke, Note, Record

INVOKE, CLOCK, RETURN = 0, 1, 2
_KIND_BITS = 2
KIND = (1 << _KIND_BITS) - 1
_CHUNK = 1000

Entry: TypeAlias = tuple[int, str, Record | None]
"""Its rank, its process, and the record; None marks the history's end."""

_rank = itemgetter(0)


class _Source:
    """One history, read in chunks when its turn comes."""

    def __init__(self, process: str, records: Iterable[Record]) -> None:
        self._process = process
        self._records = iter(records)
        self._last = 0
        self.waiting: list[Entry] = []
        self.ended = False

    def fill(self) -> None:
        chunk = list(islice(self._records, _CHUNK))
        process, last, waiting = self._process, self._last, self.waiting
        for record in chunk:
            kind = type(record)
            if kind is Begin or kind is Note:
                continue
            # Equal stamps count as overlapping: invocations first, returns last.
            rank = record.mono << _KIND_BITS
            if kind is Clock:
                rank |= CLOCK
            elif kind is not Invoke:
                rank |= RETURN
            last = max(rank, last)
            waiting.append((last, process, record))
        if len(chunk) < _CHUNK:
            self.ended = True
            waiting.append((last | RETURN, process, None))
        self._last = last

    def take(self, horizon: int) -> list[Entry]:
        """What ranks up to the horizon."""
        waiting = self.waiting
        if waiting[-1][0] <= horizon:
            self.waiting = []
            return waiting
        count = next(n for n, entry in enumerate(waiting) if entry[0] > horizon)
        self.waiting = waiting[count:]
        return waiting[:count]


def merged(
    histories: Iterable[tuple[str, Iterable[Record]]], starts: Mapping[str, int]
) -> Iterator[list[Entry]]:
    """Lists of entries; each list, and the lists among each other, in the order of ranks.

    `starts` tells stamps before which a process has no record, so that the history of a
    worker that was restarted late is not opened early.
    """
    later = sorted(
        (
            (starts.get(process, 0) << _KIND_BITS, process, records)
            for process, records in histories
        ),
        key=_rank,
        reverse=True,
    )
    sources: list[_Source] = []
    while later or sources:
        if not sources:
            sources.append(_Source(*later.pop()[1:]))
        horizon = _horizon(sources)
        while later and later[-1][0] <= horizon:
            sources.append(_Source(*later.pop()[1:]))
            horizon = _horizon(sources)
        entries = [entry for source in sources for entry in source.take(horizon)]
        entries.sort(key=_rank)
        yield entries
        sources = [source for source in sources if source.waiting or not source.ended]


def _horizon(sources: list[_Source]) -> int:
    """Up to where nothing is missing."""
    for source in sources:
        while not source.waiting and not source.ended:
            source.fill()
    going_on = [source.waiting[-1][0] for source in sources if not source.ended]
    return min(going_on) if going_on else max(source.waiting[-1][0] for source in sources)
