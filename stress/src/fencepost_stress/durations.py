"""Durations by the million in bounded memory, with percentiles that are good to two per cent.

They go into buckets whose width grows with the value, as in an HDR histogram: the 33 values
of `bit_length` times 32 equal parts.
"""

from __future__ import annotations

import math
from collections import Counter

_PART_BITS = 5


class Durations:
    """Counts durations, in nanoseconds."""

    def __init__(self) -> None:
        self._buckets: Counter[tuple[int, int]] = Counter()
        self.count = 0
        self.longest = 0

    def add(self, nanoseconds: int) -> None:
        shift = max(nanoseconds.bit_length() - 1 - _PART_BITS, 0)
        self._buckets[shift, nanoseconds >> shift] += 1
        self.count += 1
        self.longest = max(self.longest, nanoseconds)

    def percentile(self, percent: float) -> float:
        """So many per cent took no longer; in milliseconds, 0 where there is nothing."""
        wanted = math.ceil(self.count * percent / 100)
        for shift, part in sorted(self._buckets):
            wanted -= self._buckets[shift, part]
            if wanted <= 0:
                middle = (part << shift) + (1 << shift) // 2
                return round(min(middle, self.longest) / 1e6, 3)
        return 0.0
