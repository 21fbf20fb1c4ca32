"""huey's SqliteStorage."""

from __future__ import annotations

import sqlite3
from typing import Any

from . import Peer, library

NAME = "huey"
GUARANTEES = "at most once: a dequeue deletes the job, so a worker that dies has lost it; no leases"


def open(path: str, settings: str) -> Peer:
    """Its default is WAL with SQLite's own synchronous=FULL."""
    more: dict[str, Any] = {"fsync": True} if settings == "equal" else {}
    storage = library("huey.storage").SqliteStorage("bench", filename=path, **more)

    def put(text: str) -> None:
        storage.enqueue(text.encode())

    def take() -> tuple[str, Any] | None:
        data = storage.dequeue()
        return None if data is None else (bytes(data).decode(), None)

    return Peer(put, take, lambda _: None, (sqlite3.OperationalError,), storage.close)
