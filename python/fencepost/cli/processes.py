"""Which processes have a store's files open, as far as Linux tells (proc(5))."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..holders import PROC, Descriptors, command, locks, status_of


@dataclass(slots=True)
class Opener:
    """A process that has one of the files open.

    Attributes:
        engines: `"native"`, `"python"`, both where both libraries are loaded, or neither:
            another program.
        holds: `"write"`, `"checkpoint"`, `"recover"`, `"read"`: locks at this moment.
    """

    pid: int
    command: str
    engines: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "pid": self.pid,
            "command": self.command,
            "engines": self.engines,
            "holds": self.holds,
        }

    def __str__(self) -> str:
        engine = " and ".join(self.engines) or "another program"
        holding = f", holds the lock to {' and to '.join(self.holds)}" if self.holds else ""
        return f"process {self.pid} ({self.command}, {engine}{holding})"


def openers(path: str) -> list[Opener] | None:
    """Who else has the store in `path` open; None where the system does not tell.

    A process of another user shows only to root.
    """
    if not (PROC / "self" / "fd").is_dir():
        return None
    held = locks(path) or {}
    files = [status_of(path + suffix) for suffix in ("", "-wal", "-shm")]
    found = {pid for pid, _, _ in Descriptors(files)} - {os.getpid()}
    return [
        Opener(pid, command(pid), _engines(PROC / str(pid)), held.get(pid, []))
        for pid in sorted(found)
    ]


def _engines(folder: Path) -> list[str]:
    """The libraries that the process has loaded; a loaded one need not be in use."""
    engines = []
    with suppress(OSError):
        loaded = (folder / "maps").read_text("utf-8", "replace")
        if "/fencepost/_native." in loaded:
            engines.append("native")
        # The name on CPython, and the one on PyPy.
        if "/_sqlite3." in loaded or "/_sqlite3_cffi." in loaded:
            engines.append("python")
    return engines
