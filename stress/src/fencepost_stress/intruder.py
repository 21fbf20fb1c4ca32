"""What others do to a database: `python -m fencepost_stress.intruder JSON`.

A process with a plain connection that holds the write lock (`hog`), stays in a read
transaction so that the log can't be reset (`reader`), or makes checkpoints in
competition with the workers' own (`checkpoint`). It says on standard output what it
did, and when: the checkers must know.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import closing

import msgspec

from .lifeline import die_with_parent

_BETWEEN_CHECKPOINTS_SECONDS = 0.005
_BUSY_MS = 5000


class Errand(msgspec.Struct, frozen=True):
    """What to do, for how long."""

    kind: str
    database: str
    duration_ms: int
    detail: str
    parent: int
    lifeline: int


class Done(msgspec.Struct, frozen=True):
    """What came of it. `times` counts the checkpoints, `refused` those that found it busy."""

    since: int
    until: int
    times: int = 1
    refused: int = 0


def run(errand: Errand) -> Done:
    with closing(sqlite3.connect(errand.database, isolation_level=None)) as database:
        database.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        if errand.kind == "checkpoint":
            return _checkpoints(database, errand)
        if errand.kind == "hog":
            database.execute("BEGIN IMMEDIATE")
        else:
            database.execute("BEGIN")
            database.execute("SELECT count(*) FROM schema_info").fetchall()
        since = time.monotonic_ns()
        time.sleep(errand.duration_ms / 1000)
        until = time.monotonic_ns()
        database.execute("ROLLBACK")
    return Done(since, until)


def _checkpoints(database: sqlite3.Connection, errand: Errand) -> Done:
    since = time.monotonic_ns()
    times = refused = 0
    # Who waits for readers with the write lock in hand would be a hog.
    database.execute("PRAGMA busy_timeout = 0")
    while time.monotonic_ns() - since < errand.duration_ms * 1_000_000:
        try:
            (busy, _, _), *_ = database.execute(
                f"PRAGMA wal_checkpoint({errand.detail})"
            ).fetchall()
        except sqlite3.OperationalError:
            busy = 1
        times += 1
        refused += int(busy)
        time.sleep(_BETWEEN_CHECKPOINTS_SECONDS)
    return Done(since, time.monotonic_ns(), times, refused)


def main() -> int:
    errand = msgspec.json.decode(sys.argv[1], type=Errand)
    die_with_parent(errand.lifeline, errand.parent)
    sys.stdout.buffer.write(msgspec.json.encode(run(errand)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
