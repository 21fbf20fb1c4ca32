"""Numbers that workers keep in a small shared file: for the progress display, and for aim.

Not evidence: a display may be a little behind, the histories are not. The stage lets the
nemesis strike a worker in the middle of something.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import NamedTuple

_CELL = struct.Struct("=QQQQ")
_STAGE = struct.Struct("=Q")
_SIZE = _CELL.size + 2 * _STAGE.size

IDLE, CALLING, INSIDE = 0, 1, 2
"""Stages: between calls, in a call, in a call whose transaction has begun."""


class Counts(NamedTuple):
    calls: int = 0
    claims: int = 0
    refusals: int = 0
    reached: int = 0


def create(path: Path, slots: int) -> None:
    path.write_bytes(bytes(_SIZE * slots))


class Cell:
    """One slot's counters, written by the worker in it; a restarted worker counts on."""

    def __init__(self, path: Path, slot: int) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._offset = slot * _SIZE
        self._stage = self._offset + _CELL.size
        self.stage(IDLE)
        self._counts = Counts(*_CELL.unpack_from(self._map, self._offset))

    @property
    def armed(self) -> int:
        """The number of the point at which the worker is to end itself; 0 for none."""
        return int(_STAGE.unpack_from(self._map, self._stage + _STAGE.size)[0])

    def add(self, *, claims: int = 0, refusals: int = 0) -> None:
        counts = self._counts
        self._set(
            counts._replace(
                calls=counts.calls + 1,
                claims=counts.claims + claims,
                refusals=counts.refusals + refusals,
            )
        )

    def stage(self, stage: int) -> None:
        """What the worker is doing now."""
        _STAGE.pack_into(self._map, self._stage, stage)

    def reach(self) -> None:
        """A mutant came to its broken line."""
        self._set(self._counts._replace(reached=self._counts.reached + 1))

    def _set(self, counts: Counts) -> None:
        self._counts = counts
        _CELL.pack_into(self._map, self._offset, *counts)


class Board:
    """All counters, for reading, and the points at which workers are to end themselves."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    def arm(self, slot: int, point: int) -> None:
        """Have the worker end itself at this point; 0 takes it back."""
        _STAGE.pack_into(self._map, slot * _SIZE + _CELL.size + _STAGE.size, point)

    def total(self) -> Counts:
        starts = range(0, len(self._map), _SIZE)
        cells = [_CELL.unpack_from(self._map, start) for start in starts]
        return Counts(*(sum(column) for column in zip(*cells, strict=True)))

    def stage(self, slot: int) -> int:
        """What a slot's worker is doing now."""
        return int(_STAGE.unpack_from(self._map, slot * _SIZE + _CELL.size)[0])
