"""litequeue."""

from __future__ import annotations

import sqlite3
from typing import Any

from . import Peer, library

NAME = "litequeue"
GUARANTEES = "jobs stay locked for ever when their worker dies, until somebody retries them by hand"


def open(path: str, settings: str) -> Peer:
    """Its default is WAL with synchronous=NORMAL."""
    queue = library("litequeue").LiteQueue(path)
    if settings == "equal":
        queue.conn.execute("PRAGMA synchronous = FULL")

    def take() -> tuple[str, Any] | None:
        message = queue.pop()
        return None if message is None else (message.data, message.message_id)

    return Peer(queue.put, take, queue.done, (sqlite3.OperationalError,), queue.conn.close)
