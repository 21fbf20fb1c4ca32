"""A hook at the points of a write transaction where a process's death matters most.

For a test harness alone: `fencepost-stress` ends its workers there, to see that nothing
is lost. Nothing installs one otherwise, and a store without one asks nobody.

- `begun`: the write lock is held, nothing is written.
- `written`: everything is written, nothing is committed.
- `committed`: the COMMIT is done, the caller does not know yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Probe: TypeAlias = "Callable[[str], None]"

POINTS = ("begun", "written", "committed")

_installed: Probe | None = None


def install(probe: Probe | None) -> None:
    """Have stores that are opened from now on call `probe` with the name of each point.

    It must neither use a store nor raise. None takes it back for stores that are opened
    later.
    """
    global _installed
    _installed = probe


def installed() -> Probe | None:
    """The hook for the next store."""
    return _installed
