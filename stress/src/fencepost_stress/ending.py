"""What the harness found when every process of a run was gone: a run's `end.json`."""

from __future__ import annotations

from pathlib import Path

import msgspec

_FILE = "end.json"


class Ending(msgspec.Struct, frozen=True):
    """How a run ended."""

    healed: bool
    heal_started: int
    """The wall time at which the faults had stopped, in milliseconds since the epoch."""
    duration_seconds: float
    faults: dict[str, int]
    reached: int
    """How often a mutant came to its broken line."""
    wal_peak_bytes: int = 0
    """Of the write-ahead log; that of somebody's own queue is not watched."""
    wal_samples: int = 0
    problems: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()
    """Faults that were asked for and can't be had here."""
    broken: tuple[tuple[str, str], ...] = ()
    """What was seen to go wrong beside the calls: the property that it breaks, and what it was."""


def save(ending: Ending, directory: Path) -> None:
    (directory / _FILE).write_bytes(msgspec.json.encode(ending))


def load(directory: Path) -> Ending:
    return msgspec.json.decode((directory / _FILE).read_bytes(), type=Ending)


def is_there(directory: Path) -> bool:
    """Whether the run in a directory came to its end."""
    return (directory / _FILE).exists()
