"""Keeping the write-ahead log bounded while many processes write.

SQLite begins its log anew only when a writer finds it moved to the last frame. Its
automatic checkpoint runs after a COMMIT, when under load the next writer has begun at the
old end already: with two busy writers the log grows without bound though nobody reads.
So the automatic one is off, and whoever commits to a log that has grown long empties it,
in its turn at the lock, when the others sleep.

`rust/fencepost-core/src/checkpoints.rs` does it with what only C can ask SQLite for: it
counts pages, and begins a log of ordinary length anew instead of cutting it. So the file may
be long where little of it is in use: how much is, a checkpoint says.
"""

from __future__ import annotations

import os
from collections.abc import Callable

LOG_BYTES = 4 * 1024 * 1024
OVERLONG_FRAMES = 4000
"""A log of so many pages is held by somebody; a shorter one, perhaps by short reads only."""


class Checkpoints:
    """When one connection empties the log."""

    def __init__(self, path: str) -> None:
        self._log = f"{path}-wal"
        self._limit = LOG_BYTES
        self._held = self._untold = False

    def after_commit(self, empty: Callable[[], int]) -> None:
        """Empty the log where it has grown long.

        `empty` says how many pages it had to leave in the log: 0 where nothing hindered it,
        -1 where that is not known, as another process is at it.

        A reader that holds a snapshot keeps the log from being emptied: it is tried again
        when the log has grown by as much once more, not at each commit.
        """
        try:
            size = os.stat(self._log).st_size
        except OSError:
            return
        if size >= self._limit:
            left = empty()
            if left == 0:
                self._begun_anew()
                return
            if 0 < left < OVERLONG_FRAMES:
                # Where it was longer, somebody else has begun it anew.
                self._begun_anew()
            elif left >= OVERLONG_FRAMES and not self._held:
                self._held = self._untold = True
            self._limit = size + LOG_BYTES
        elif size < LOG_BYTES:
            self._begun_anew()

    def _begun_anew(self) -> None:
        self._limit = LOG_BYTES
        self._held = self._untold = False

    def take_held(self) -> bool:
        """Whether the log is overlong and held; said once, until it could be emptied."""
        if not self._untold:
            return False
        self._untold = False
        return True
