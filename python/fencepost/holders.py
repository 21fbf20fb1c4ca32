"""Who holds a store's locks at this moment, as far as the system tells.

Linux lists the locks of all processes in `/proc/locks` (proc(5)); elsewhere nothing is
known. SQLite's locks are bytes of its files: in WAL mode of the `-shm` file ("WAL-mode
File Format", section 2.3.1), else of the database ("File Locking And Concurrency",
section 3). No file of the store is opened: closing it would drop this process's locks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .records.base import Record

PROC = Path("/proc")
_WRITE, _CHECKPOINT, _RECOVER, _READ_0, _READ_LAST = 120, 121, 122, 123, 127
_PENDING, _SHARED_LAST = 0x40000000, 0x40000000 + 511
_MOST_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Holder(Record):
    """A process that holds a store's write lock.

    Attributes:
        pid: its process id.
        command: its command line, up to 80 characters; `"unknown"` where it can't be read.
    """

    pid: int
    command: str

    def __str__(self) -> str:
        who = "this process" if self.pid == os.getpid() else "process"
        return f"{who} {self.pid} ({self.command})"


def write_lock_holders(path: str) -> tuple[Holder, ...] | None:
    """Who holds the write lock of the database at `path` now.

    Empty where nobody does any more, None where the system does not tell. It is one look:
    the lock may change hands at any time.
    """
    held = locks(path)
    if held is None:
        return None
    return tuple(Holder(pid, command(pid)) for pid in sorted(held) if "write" in held[pid])


def locks(path: str) -> dict[int, list[str]] | None:
    """By process, what it holds on the database: `"write"`, `"checkpoint"`, `"recover"`, `"read"`.

    None where the system does not tell.
    """
    try:
        listed = (PROC / "locks").read_text("utf-8", "replace")
    except OSError:
        return None
    database, index = _place(path), _place(f"{path}-shm")
    held: dict[int, list[str]] = {}
    for line in listed.splitlines():
        fields = line.split()
        # "1: POSIX ADVISORY READ 6373 fe:00:1234 124 124"; "->" marks one who waits.
        if len(fields) != 8 or fields[5] not in (database, index) or not fields[4].isdigit():
            continue
        first = int(fields[6])
        last = int(fields[7]) if fields[7].isdigit() else _SHARED_LAST
        pid, kind = int(fields[4]), fields[3]
        found = _in_index(first, last, kind) if fields[5] == index else _in_file(first, last, kind)
        names = held.setdefault(pid, [])
        names += [name for name in found if name not in names]
    return held


def command(pid: int) -> str:
    """The command line of a process, shortened; `"unknown"` where it can't be read."""
    with suppress(OSError):
        words = (PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        # Programs given on the command line have lines, and anything else that is in text.
        plain = "".join(letter if letter.isprintable() else " " for letter in " ".join(words))
        name = " ".join(plain.split())
        if name:
            cut = f"{name[: _MOST_CHARACTERS - 1]}…"
            return name if len(name) <= _MOST_CHARACTERS else cut
    return "unknown"


def _place(path: str) -> str | None:
    """A file as `/proc/locks` names it."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"


def _in_index(first: int, last: int, kind: str) -> Iterator[str]:
    """What a range of bytes of the WAL index stands for; the system joins neighbours."""
    for byte, name in ((_WRITE, "write"), (_CHECKPOINT, "checkpoint"), (_RECOVER, "recover")):
        if first <= byte <= last:
            yield name
    if kind == "READ" and first <= _READ_LAST and last >= _READ_0:
        yield "read"


def _in_file(first: int, last: int, kind: str) -> Iterator[str]:
    """The same of the database itself, which is locked to write where it has no WAL yet."""
    if kind == "WRITE" and first <= _SHARED_LAST and last >= _PENDING:
        yield "write"
