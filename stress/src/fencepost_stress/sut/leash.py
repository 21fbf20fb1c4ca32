"""Runs a command that dies when the one who started it does: `... leash COMMAND ARGUMENT...`.

The kernel's notice of death outlives the exec.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == parent:
        os.execvp(command[0], command)  # noqa: S606 - the user's command, without a shell


if __name__ == "__main__":
    main()
