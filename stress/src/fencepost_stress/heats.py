"""Moments at which all processes of a run do the same thing at once."""

from __future__ import annotations

import time

_LINE_UP_NS = 4_000_000
"""Whoever asks so shortly before a heat waits for it, so that all start together."""


class Heats:
    """One process's view of the heats, which come every so many milliseconds of the load."""

    def __init__(self, every_ms: int) -> None:
        self._period = every_ms * 1_000_000
        self._last = -1

    def ahead_ms(self, elapsed_ns: int) -> int:
        """How long something may take that is to be over when the next heat lines up."""
        return max(0, self._period - elapsed_ns % self._period - _LINE_UP_NS) // 1_000_000

    def due(self, elapsed_ns: int) -> int | None:
        """The number of the heat that is on, once for each; None when it was had before."""
        heat, into = divmod(elapsed_ns, self._period)
        if self._period - into < _LINE_UP_NS:
            time.sleep((self._period - into) / 1e9)
            heat += 1
        if heat == self._last:
            return None
        self._last = heat
        return heat
