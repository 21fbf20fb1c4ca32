"""Which processes have a store's files open, as far as Linux tells (proc(5)).

Locks are those of SQLite's WAL index: bytes of the `-shm` file ("WAL-mode File Format",
section 2.3.1).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PROC = Path("/proc")
_WRITE, _CHECKPOINT, _RECOVER, _READ_0, _READ_LAST = 120, 121, 122, 123, 127


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
    wanted = set(_identities(path))
    if not (_PROC / "self" / "fd").is_dir():
        return None
    locks = _locks(f"{path}-shm")
    found = []
    for folder in _PROC.iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        if _has_open(folder, wanted):
            pid = int(folder.name)
            found.append(Opener(pid, _command(folder), _engines(folder), locks.get(pid, [])))
    return sorted(found, key=lambda opener: opener.pid)


def _identities(path: str) -> Iterator[tuple[int, int]]:
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            status = os.stat(path + suffix)
            yield status.st_dev, status.st_ino


def _has_open(folder: Path, wanted: set[tuple[int, int]]) -> bool:
    # A process may end, or close a file, between any two looks.
    with suppress(OSError), os.scandir(folder / "fd") as descriptors:
        for descriptor in descriptors:
            with suppress(OSError):
                status = descriptor.stat()
                if (status.st_dev, status.st_ino) in wanted:
                    return True
    return False


def _command(folder: Path) -> str:
    with suppress(OSError):
        words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        name = " ".join(word for word in words if word)
        if name:
            return name if len(name) <= 80 else f"{name[:79]}…"
    return "unknown"


def _engines(folder: Path) -> list[str]:
    """The libraries that the process has loaded; a loaded one need not be in use."""
    engines = []
    with suppress(OSError):
        loaded = (folder / "maps").read_text("utf-8", "replace")
        if "/fencepost/_native." in loaded:
            engines.append("native")
        if "/_sqlite3." in loaded:
            engines.append("python")
    return engines


def _locks(index: str) -> dict[int, list[str]]:
    """Per process, which locks it holds on the WAL index."""
    held: dict[int, list[str]] = {}
    try:
        status = os.stat(index)
        listed = (_PROC / "locks").read_text("utf-8", "replace")
    except OSError:
        return held
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in listed.splitlines():
        fields = line.split()
        # "1: POSIX ADVISORY READ 6373 fe:00:1234 124 124"; "->" marks one who waits.
        if len(fields) == 8 and fields[5] == place and fields[6].isdigit():
            names = held.setdefault(int(fields[4]), [])
            name = _lock(int(fields[6]), fields[3])
            if name is not None and name not in names:
                names.append(name)
    return held


def _lock(byte: int, kind: str) -> str | None:
    if byte == _WRITE:
        return "write"
    if byte == _CHECKPOINT:
        return "checkpoint"
    if byte == _RECOVER:
        return "recover"
    if _READ_0 <= byte <= _READ_LAST and kind == "READ":
        return "read"
    return None
