"""Who holds a store's locks at this moment, as far as the system tells.

Linux lists the locks of all processes in `/proc/locks` (proc(5)); elsewhere nothing is
known. SQLite's locks are bytes of its files: in WAL mode of the `-shm` file ("WAL-mode
File Format", section 2.3.1), else of the database ("File Locking And Concurrency",
section 3). No file of the store is opened: closing it would drop this process's locks.

The list names a file by the device of its file system. On btrfs and on some overlays a file
has another device than its file system; there each process is asked for its descriptors,
which it takes the same user, or root, to see.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .records.base import Record

PROC = Path("/proc")
_WRITE, _CHECKPOINT, _RECOVER, _READ_0, _READ_LAST = 120, 121, 122, 123, 127
_PENDING, _SHARED_LAST = 0x40000000, 0x40000000 + 511
_MOST_CHARACTERS = 80
_HIDING = {"hidepid=2", "hidepid=invisible", "hidepid=4", "hidepid=ptraceable"}


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
    database, index = status_of(path), status_of(f"{path}-shm")
    places = {_place(database): False, _place(index): True}
    held: dict[int, list[str]] = {}
    for line in listed.splitlines():
        lock = _lock(line)
        if lock is not None and lock.place in places:
            _note(held, lock.pid, lock, in_index=places[lock.place])
    if held or database is None or _is_listed(database.st_dev):
        return held
    return _asked_one_by_one(database, index)


class Descriptors:
    """The open descriptors of processes on some files, as far as this user may look.

    Attributes:
        unseen: whether a process would not show its own, or may not even be listed, known at
            the end of the iteration.
    """

    def __init__(self, files: Iterable[os.stat_result | None]) -> None:
        self._files = {(file.st_dev, file.st_ino) for file in files if file is not None}
        self.unseen = False

    def __iter__(self) -> Iterator[tuple[int, str, os.stat_result]]:
        for folder in PROC.iterdir():
            if not folder.name.isdigit():
                continue
            # A process may end, or close a file, between any two looks.
            try:
                names = os.listdir(folder / "fd")
            except PermissionError:
                self.unseen = True
                continue
            except OSError:
                continue
            for name in names:
                with suppress(OSError):
                    status = os.stat(folder / "fd" / name)
                    if (status.st_dev, status.st_ino) in self._files:
                        yield int(folder.name), name, status
        self.unseen = self.unseen or _hides_processes()


def _hides_processes() -> bool:
    """Whether other users' processes are not even listed: `/proc` with `hidepid` (proc(5))."""
    hidden = False
    with suppress(OSError):
        for line in (PROC / "self" / "mountinfo").read_text("utf-8", "replace").splitlines():
            where, _, what = line.partition(" - ")
            if where.split()[4] == str(PROC) and what.startswith("proc "):
                # What is mounted last is what is seen.
                hidden = not _HIDING.isdisjoint(what.split()[-1].split(","))
    return hidden and os.geteuid() != 0


def _asked_one_by_one(
    database: os.stat_result, index: os.stat_result | None
) -> dict[int, list[str]] | None:
    """The locks as the processes' descriptors show them (proc_pid_fdinfo(5))."""
    held: dict[int, list[str]] = {}
    descriptors = Descriptors([database, index])
    for pid, name, file in descriptors:
        with suppress(OSError):
            for line in (PROC / str(pid) / "fdinfo" / name).read_text("ascii").splitlines():
                lock = _lock(line.removeprefix("lock:")) if line.startswith("lock:") else None
                if lock is not None:
                    _note(held, pid, lock, in_index=file.st_ino != database.st_ino)
    return held if held or not descriptors.unseen else None


class _Lock(NamedTuple):
    pid: int
    place: str
    kind: str
    first: int
    last: int


def _lock(line: str) -> _Lock | None:
    """A line of the system's; None for one who waits, which has "->" in it."""
    fields = line.split()
    # "1: POSIX ADVISORY READ 6373 fe:00:1234 124 124"
    if len(fields) != 8 or not fields[4].isdigit():
        return None
    last = int(fields[7]) if fields[7].isdigit() else _SHARED_LAST
    return _Lock(int(fields[4]), fields[5], fields[3], int(fields[6]), last)


def _note(held: dict[int, list[str]], pid: int, lock: _Lock, *, in_index: bool) -> None:
    found = (_in_index if in_index else _in_file)(lock.first, lock.last, lock.kind)
    names = held.setdefault(pid, [])
    names += [name for name in found if name not in names]


def _is_listed(device: int) -> bool:
    """Whether the list knows files by this device: it is that of a mounted file system."""
    with suppress(OSError):
        mounts = (PROC / "self" / "mountinfo").read_text("utf-8", "replace").splitlines()
        return f"{os.major(device)}:{os.minor(device)}" in {
            fields[2] for line in mounts if len(fields := line.split()) > 2
        }
    return True


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


def status_of(path: str) -> os.stat_result | None:
    """The file's status, or None where there is none to see."""
    try:
        return os.stat(path)
    except OSError:
        return None


def _place(status: os.stat_result | None) -> str | None:
    """A file as `/proc/locks` names it."""
    if status is None:
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
