"""Creates what the adapter needs, and says what it declares: `... prepare JSON`.

A process of its own, so that the harness's has no queue open and no library loaded.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from .adapter import Place
from .systems import System, UnknownSystemError, make

EXIT_UNKNOWN_SYSTEM = 4


class Request(msgspec.Struct, frozen=True):
    system: System
    directory: str
    lease_ms: int


def main() -> int:
    request = msgspec.json.decode(sys.argv[1], type=Request)
    # What an adapter prints would be in the way of the declaration.
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        place = Place(Path(request.directory), "prepare", "prepare", request.lease_ms)
        adapter = make(request.system, place)
    except UnknownSystemError as error:
        print(error, file=sys.stderr)
        return EXIT_UNKNOWN_SYSTEM
    adapter.close()
    os.write(out, msgspec.json.encode(adapter.capabilities))
    return 0


if __name__ == "__main__":
    sys.exit(main())
