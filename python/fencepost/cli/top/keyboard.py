"""Keys, one by one, from a POSIX terminal."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ENDING = {b"q", b"Q", b"\x03", b""}


@contextmanager
def keys() -> Iterator[Callable[[float], bool]]:
    """Whether a key that ends the view comes within so many seconds.

    Keys are not shown meanwhile; the terminal is put back afterwards.
    """
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)

    def pressed_q(seconds: float) -> bool:
        ready, _, _ = select.select([descriptor], [], [], seconds)
        return bool(ready) and os.read(descriptor, 1) in _ENDING

    try:
        yield pressed_q
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
