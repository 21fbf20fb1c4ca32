"""The online backup of the Python engine.

Mirrors `rust/fencepost-core/src/backup.rs`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from urllib.parse import quote

from ...errors import refusal
from ...failures import sqlite_failure
from ...statements import statement
from .connection import Connection
from .session import code_of


class Backup(Connection):
    """Copying a database while others write to it."""

    def backup(
        self, target: str, pages: int, pause_ms: int, progress: Callable[[int, int], None] | None
    ) -> None:
        """Copy one snapshot, by a connection of its own: the store goes on meanwhile."""
        if os.getpid() != self._pid:
            raise refusal("forked")
        self._connection()

        def step(_: int, remaining: int, total: int) -> None:
            if progress is not None:
                progress(remaining, total)
            # sqlite3's own `sleep` is for a source that is locked.
            if remaining:
                time.sleep(pause_ms / 1000)

        try:
            with (
                closing(_connect(self._path, "ro")) as source,
                closing(_connect(target, "rw")) as copy,
            ):
                # Held open, or a commit of another process would start the copy anew.
                source.execute(statement("connection.read_snapshot"))
                source.execute(statement("layout.schema_id")).fetchall()
                source.backup(copy, pages=pages, progress=step)
        except sqlite3.Error as error:
            raise sqlite_failure(code_of(error), self._path, str(error)) from error


def _connect(path: str, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(path))}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None)
