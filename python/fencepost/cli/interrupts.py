"""Ctrl-C as a wish that commands which go on for ever look at between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; the second one interrupts as usual.

    An exception in the middle of a wait would leave its socket behind.
    """
    asked = threading.Event()

    def ask(number: int, _: object) -> None:
        asked.set()
        signal.signal(number, before)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
