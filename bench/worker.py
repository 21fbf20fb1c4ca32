"""What a measured process runs: `python -m bench.worker MODULE JOB`.

It opens what it needs, says that it is ready, reads the window of time in which to work,
and prints one JSON object. It ends when the one who started it is gone.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Window:
    """When to work, in seconds of the monotonic clock; work before `begin` warms up."""

    begin: float
    end: float

    def has(self, instant: float) -> bool:
        """Whether the instant counts."""
        return self.begin <= instant <= self.end

    def is_open(self) -> bool:
        """Whether there is time left, the warming up included."""
        return time.monotonic() < self.end


def start() -> Window:
    """Tell the starter that everything is open, and wait for the window."""
    print("ready", flush=True)
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    begin, end = json.loads(line)
    return Window(begin, end)


def main() -> None:
    """Run the named module's `work` on the job and print what it gives."""
    # The interpreter's SQLite may be one that fencepost warns of; the report names it.
    warnings.simplefilter("ignore", RuntimeWarning)
    module, job = sys.argv[1:]
    result: dict[str, Any] = importlib.import_module(module).work(json.loads(job))
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
