"""Unmounts the small disk when the harness is gone: `python -m fencepost_stress.sweeper PLACE`.

It waits for the end of its standard input, whose writing end only the harness has, and does
what the harness had no time for when it was killed. Where the harness has unmounted the disk
itself there is nothing left to do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress


def main() -> int:
    umount, place = sys.argv[1:]
    sys.stdin.buffer.read()
    if os.path.ismount(place):
        # Lazily: the last of the workers may be about to die.
        done = subprocess.run([umount, "--lazy", place], stdin=subprocess.DEVNULL, check=False)
        with suppress(OSError):
            os.rmdir(place)
        return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
