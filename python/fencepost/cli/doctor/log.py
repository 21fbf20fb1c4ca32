"""The write-ahead log: whether it is one, and belongs to its database.

SQLite takes a log that it can't read for an empty one, without a word: what was committed
to it is gone then.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .file import header_of
from .finding import Finding

_HEADER_BYTES = 32
_MAGICS = {0x377F0682: "<", 0x377F0683: ">"}
"""By which of them a log begins, the checksums' order of bytes ("WAL-mode File Format", 2.1)."""


def look_at_log(path: str) -> Iterator[Finding]:
    """What is wrong with the beginning of the log, before this process opens the store."""
    wrong = _problem(path)
    # A writer that begins the log anew may have been in the middle of its header.
    if wrong is not None and wrong == _problem(path):
        yield Finding(
            "damaged_log",
            "error",
            f"the write-ahead log (-wal) {wrong}; SQLite takes it for an empty one",
            "what was committed to it and not yet moved is lost: restore a backup that is newer "
            "than the database, or go on without; keep a copy of both files first",
            {"log": f"{path}-wal", "problem": wrong},
        )


def _problem(path: str) -> str | None:
    try:
        with open(f"{path}-wal", "rb") as file:
            head = file.read(_HEADER_BYTES)
    except OSError:
        return None
    return _wrong(head, header_of(path).page_bytes) if head else None


def _wrong(head: bytes, page_bytes: int) -> str | None:
    if len(head) < _HEADER_BYTES:
        return "is cut off inside its header"
    magic, _, pages_of = struct.unpack(">III", head[:12])
    if magic not in _MAGICS:
        return "is no log of SQLite"
    if struct.unpack(">II", head[24:]) != _checksum(head[:24], _MAGICS[magic]):
        return "has a damaged header"
    if pages_of != page_bytes:
        return f"has pages of {pages_of} bytes where the database has {page_bytes}"
    return None


def _checksum(data: bytes, order: str) -> tuple[int, int]:
    first = second = 0
    for one, other in struct.iter_unpack(f"{order}II", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
