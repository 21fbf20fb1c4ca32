"""Databases of a known shape and size, built once by SQL and kept in a temporary folder.

`python -m bench.databases SHAPE SIZE PATH` builds one, in a process of its own: fencepost
makes the file, then plain SQL fills it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
SQL = Path(__file__).parent / "sql" / "databases.sql"
FEW = 1000
LONG_AGO_MS = 1
FAR_OFF_MS = 253_402_300_000_000

Step: TypeAlias = "tuple[str, dict[str, Any]]"


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of database: what it shows, two sizes to compare, and how it is filled.

    Attributes:
        table: `"runs"` or `"queue"`, whose operations are measured on it.
        is_flat: whether the size shall make no difference; the docs say where it does.
    """

    shows: str
    table: str
    small: int
    large: int
    fill: Callable[[int], Iterator[Step]]
    is_flat: bool = True


def _runs(first: int, count: int, status: str, **more: Any) -> Step:
    values = {"first": first, "count": count, "status": status}
    return "runs", {**values, "expires_at": None, "affinity": "bench", "spread": 1, **more}


def _keys(first: int, count: int, controller: str, expires_at: int | None = None) -> Iterator[Step]:
    values = {"first": first, "count": count, "controller": controller}
    yield "resources", values
    yield "queue", {**values, "expires_at": expires_at}


def _parked(size: int) -> Iterator[Step]:
    yield _runs(0, size, "parked")


def _affinity_misses(size: int) -> Iterator[Step]:
    yield _runs(0, size, "parked", affinity="other", spread=100)


def _history(size: int) -> Iterator[Step]:
    yield _runs(0, size, "done")
    yield _runs(size, FEW, "parked")


def _live_ahead(size: int) -> Iterator[Step]:
    yield _runs(0, size, "claimed", expires_at=FAR_OFF_MS)
    yield _runs(size, FEW, "parked")


def _expired(size: int) -> Iterator[Step]:
    yield _runs(0, size, "claimed", expires_at=LONG_AGO_MS)


def _live_then_expired(size: int) -> Iterator[Step]:
    """The case that is not flat: a claim in claim order has to step over the live ones."""
    yield _runs(0, size, "claimed", expires_at=FAR_OFF_MS)
    yield _runs(size, FEW, "claimed", expires_at=LONG_AGO_MS)


def _due(size: int) -> Iterator[Step]:
    yield from _keys(0, size, "bench")


def _behind_another(size: int) -> Iterator[Step]:
    yield from _keys(0, size, "another")
    yield from _keys(size, FEW, "bench")


def _in_flight(size: int) -> Iterator[Step]:
    yield from _keys(0, size, "bench", FAR_OFF_MS)
    yield from _keys(size, FEW, "bench")


def _queue_expired(size: int) -> Iterator[Step]:
    yield from _keys(0, size, "bench", LONG_AGO_MS)


SHAPES = {
    "parked": Shape("parked runs", "runs", FEW, 1_000_000, _parked),
    "affinity_misses": Shape(
        "parked runs of other runners", "runs", FEW, 1_000_000, _affinity_misses
    ),
    "history": Shape("done runs, and 1,000 parked", "runs", FEW, 1_000_000, _history),
    "live_ahead": Shape("live claims ahead of 1,000 parked", "runs", 10, 10_000, _live_ahead),
    "expired": Shape("expired claims (mass crash)", "runs", FEW, 100_000, _expired),
    "live_then_expired": Shape(
        "live claims ahead of 1,000 expired", "runs", 10, 10_000, _live_then_expired, is_flat=False
    ),
    "due": Shape("due keys", "queue", FEW, 1_000_000, _due),
    "behind_another": Shape(
        "due keys of another controller, then 1,000 of ours",
        "queue",
        FEW,
        1_000_000,
        _behind_another,
    ),
    "in_flight": Shape("keys in flight ahead of 1,000 due", "queue", FEW, 1_000_000, _in_flight),
    "queue_expired": Shape("expired claims of keys", "queue", FEW, 100_000, _queue_expired),
}


def cached(shape: str, size: int) -> Path:
    """The path of a database of this shape and size; it is built where it is not there yet."""
    folder = Path(tempfile.gettempdir()) / f"fencepost-bench-databases-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{shape}-{size}-{_version()}.sqlite"
    if not path.exists():
        fresh = path.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [sys.executable, "-m", "bench.databases", shape, str(size), str(fresh)],
            check=True,
            cwd=ROOT,
        )
        fresh.rename(path)
    return path


def copy(shape: str, size: int, folder: Path, name: str) -> Path:
    """A copy of that database to work on, already on disk as far as the system can tell."""
    path = folder / f"{name}-{size}.sqlite"
    shutil.copyfile(cached(shape, size), path)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path


def build(shape: str, size: int, path: Path) -> None:
    """Make and fill the database."""
    import fencepost

    fencepost.open(path, synchronous="off").close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -200000")
    connection.execute("BEGIN IMMEDIATE")
    for statement, values in SHAPES[shape].fill(size):
        connection.execute(statements()[statement], values)
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def statements() -> dict[str, str]:
    """The named statements of the bench itself."""
    parts = SQL.read_text("utf-8").split("-- name: ")[1:]
    return {name.strip(): body for name, _, body in (part.partition("\n") for part in parts)}


def _version() -> str:
    """Changes with whatever a cached database depends on."""
    from fencepost.statements import script

    text = script("schema") + script("additions") + SQL.read_text("utf-8")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


if __name__ == "__main__":
    build(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
