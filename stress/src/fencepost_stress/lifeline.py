"""Nobody survives the harness: a child dies when its parent does, however that happens.

On Linux the kernel sends the child SIGKILL when the parent ends; that reaches a
stopped process too. Everywhere, the child also holds the reading end of a pipe whose
writing end only the parent has: when it reads the end of that pipe, the parent is gone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1


def die_with_parent(pipe: int, parent: int) -> None:
    """Arrange that this process ends when `parent`, who holds the other end of `pipe`, ends."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        # It died before the arrangement was made.
        os._exit(1)
    threading.Thread(target=_wait, args=(pipe,), daemon=True, name="lifeline").start()


def _wait(pipe: int) -> None:
    while os.read(pipe, 1):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
