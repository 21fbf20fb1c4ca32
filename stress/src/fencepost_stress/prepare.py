"""Creates the database in a process of its own: `python -m fencepost_stress.prepare ENGINE PATH`.

The harness process must never have a store open, since it reads the file with its own
SQLite library.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import fencepost

from .clock import Clock, shared_offset
from .sut import open_store


def main() -> int:
    engine, path = sys.argv[1:]
    warnings.simplefilter("ignore", fencepost.SQLiteVersionWarning)
    with open_store(engine, Path(path), Clock(shared_offset()), synchronous="full"):
        return 0


if __name__ == "__main__":
    sys.exit(main())
