"""Whether the machine lets anybody work: where it does not, the harness itself sleeps too long.

A worker that gets nothing for seconds may starve at the store's lock, or for the processor: a
host that is overcommitted, a quota that is used up, a machine that was suspended. The second
is nobody's fault, and takes the harness, which asks for next to nothing, as well.
"""

from __future__ import annotations

import time

from .history import Writer

STILL = "stood still"
_LATE_NS = 250_000_000
"""Longer than a scheduler keeps one waiting who sleeps nearly all the time."""


def sleep(seconds: float, writer: Writer) -> None:
    """Sleep; note it when that took far longer than it should have."""
    due = time.monotonic_ns() + round(seconds * 1e9)
    time.sleep(seconds)
    woken = time.monotonic_ns()
    if woken - due > _LATE_NS:
        writer.note(STILL, since=due, until=woken)
