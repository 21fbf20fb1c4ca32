"""persist-queue's SQLiteAckQueue."""

from __future__ import annotations

import sqlite3
from typing import Any

from . import Peer, library

NAME = "persist-queue"
GUARANTEES = (
    "unacknowledged jobs come back when a process opens the queue anew, also those at work "
    "elsewhere; the choice and the mark are two steps, so two processes can take one job"
)


def open(path: str, settings: str) -> Peer:
    """Its default is WAL with SQLite's own synchronous=FULL."""
    persistqueue = library("persistqueue")
    queue = persistqueue.SQLiteAckQueue(f"{path}.folder", multithreading=True)
    if settings == "equal":
        for connection in (queue._putter, queue._getter):
            connection.execute("PRAGMA synchronous = FULL")

    def take() -> tuple[str, Any] | None:
        try:
            item = queue.get(block=False, raw=True)
        except persistqueue.Empty:
            return None
        return item["data"], item["pqid"]

    def done(identity: Any) -> None:
        queue.ack(id=identity)

    return Peer(queue.put, take, done, (sqlite3.OperationalError,), lambda: None)
