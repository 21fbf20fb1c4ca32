"""The file itself: what it is, before any SQLite looks into it.

These looks open and close the file, which in a process that has it open would drop its
locks; a command has nothing open yet.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ..filesystem import file_system, is_network
from .finding import Finding

_MAGIC = b"SQLite format 3\0"
_RESTORE = "restore a backup, or recover what is left with the sqlite3 tool (.recover)"
_CHECK_PATH = "check the path"


@dataclass(frozen=True, slots=True)
class Header:
    """What the first 100 bytes of a database say ("Database File Format", section 1.3)."""

    journal: str
    page_bytes: int
    pages: int
    trusted: bool


def header_of(path: str) -> Header:
    """The header of a file that is a database."""
    with open(path, "rb") as file:
        return _parsed(file.read(100))


def _parsed(head: bytes) -> Header:
    page_bytes, write_version, _ = struct.unpack(">HBB", head[16:20])
    changes, pages = struct.unpack(">II", head[24:32])
    (valid_for,) = struct.unpack(">I", head[92:96])
    journal = "wal" if write_version == 2 else "delete"
    page = 65536 if page_bytes == 1 else page_bytes
    return Header(journal, page, pages, pages > 0 and changes == valid_for)


def look_at_file(path: str) -> Finding | None:
    """The one finding that says why the file is no database at all, or None."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return Finding("missing", "error", "there is no such file", _CHECK_PATH)
    except OSError as error:
        return Finding("unreadable", "error", f"can't be looked at: {error.strerror}", _CHECK_PATH)
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no ordinary file"
        return Finding("not_a_file", "error", f"is {kind}", _CHECK_PATH)
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError as error:
        return Finding(
            "unreadable",
            "error",
            f"can't be read: {error.strerror}",
            "run as the owner of the file, or have its permissions changed",
            {"owner": status.st_uid, "mode": f"{status.st_mode & 0o7777:04o}"},
        )
    return _look_at_head(head)


def _look_at_head(head: bytes) -> Finding | None:
    if not head:
        return Finding(
            "empty", "error", "is empty", "if a store was here, restore a backup; else open it once"
        )
    if head.startswith(_MAGIC) and len(head) >= 100:
        return None
    if head.startswith(_MAGIC):
        return Finding("truncated", "error", "is cut off inside its header", _RESTORE)
    if not head.strip(b"\0"):
        return Finding("damaged", "error", "begins with zeros, where a header belongs", _RESTORE)
    try:
        text = head.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        # A character that the 4096 bytes cut in two is still text.
        text = head[: error.start].decode("utf-8") if error.start > len(head) - 4 else ""
    if text and all(character.isprintable() or character in "\t\r\n\f" for character in text):
        return Finding("text", "error", "is a text file, no database", _CHECK_PATH)
    return Finding(
        "not_a_database",
        "error",
        "is no SQLite database (another format, encrypted, or its beginning is destroyed)",
        f"{_CHECK_PATH}; if a store was here, restore a backup",
    )


def look_at_surroundings(path: str) -> Iterator[Finding]:
    """What the header, the permissions, the log and the file system say."""
    header, length = header_of(path), os.path.getsize(path)
    log = _size(f"{path}-wal")
    if log == 0 and header.trusted and length < header.pages * header.page_bytes:
        yield Finding(
            "truncated",
            "error",
            f"is cut off: has {length} of {header.pages * header.page_bytes} bytes",
            _RESTORE,
            {"bytes": length, "expected_bytes": header.pages * header.page_bytes},
        )
    if header.journal != "wal":
        yield Finding(
            "journal",
            "warning",
            "has a rollback journal, so that readers and writers block each other",
            "open the store once for writing; that switches it to WAL",
        )
    if not os.access(path, os.W_OK):
        yield Finding(
            "read_only",
            "note",
            "may not be written by this user",
            "run workers as the owner of the file",
        )
    kind = file_system(path)
    if is_network(kind):
        yield Finding(
            "network_file_system",
            "error",
            f"is on {kind}, a file system that machines share: WAL needs the memory of one machine",
            "move the store to a local disk; processes of one machine can share it",
            {"file_system": kind},
        )


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
