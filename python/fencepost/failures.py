"""The errors for what SQLite itself reports, by its result codes.

Classes, and the wording of what the store refuses, are in `errors`.
"""

from __future__ import annotations

from .errors import (
    CorruptStoreError,
    FencepostError,
    InternalError,
    ReadOnlyStoreError,
    StoreBusyError,
    StoreFullError,
    StoreIOError,
    ValueTooLargeError,
)
from .holders import write_lock_holders

_BUSY = 5

# Primary result code: class, SQLite's name, what it means here and what to do.
_FAILURES: dict[int, tuple[type[FencepostError], str, str]] = {
    3: (StoreIOError, "SQLITE_PERM", "the file may not be opened; check its permissions"),
    5: (
        StoreBusyError,
        "SQLITE_BUSY",
        "another process held the lock past the busy timeout; nothing was changed, try again",
    ),
    6: (StoreBusyError, "SQLITE_LOCKED", "a table is locked; nothing was changed, try again"),
    7: (StoreIOError, "SQLITE_NOMEM", "SQLite ran out of memory; nothing was changed"),
    8: (ReadOnlyStoreError, "SQLITE_READONLY", "the store or its file is read-only"),
    9: (StoreBusyError, "SQLITE_INTERRUPT", "the call was interrupted; nothing was changed"),
    10: (
        StoreIOError,
        "SQLITE_IOERR",
        "reading or writing the file failed; nothing was changed, check the disk",
    ),
    11: (
        CorruptStoreError,
        "SQLITE_CORRUPT",
        "the database is damaged; restore a backup or recover it with the sqlite3 tool",
    ),
    13: (
        StoreFullError,
        "SQLITE_FULL",
        "the disk or the database is full; nothing was changed, free some space",
    ),
    14: (
        StoreIOError,
        "SQLITE_CANTOPEN",
        "the file can't be opened; check that the path exists and its permissions",
    ),
    15: (StoreIOError, "SQLITE_PROTOCOL", "the locking protocol failed; nothing was changed"),
    18: (ValueTooLargeError, "SQLITE_TOOBIG", "a value is too large for SQLite"),
    22: (StoreIOError, "SQLITE_NOLFS", "the file system has no large files"),
    23: (StoreIOError, "SQLITE_AUTH", "SQLite refused the statement"),
    26: (
        CorruptStoreError,
        "SQLITE_NOTADB",
        "the file is no SQLite database; check the path",
    ),
}


def sqlite_failure(extended_code: int, path: str, detail: str = "") -> FencepostError:
    """The error for a failure that SQLite reported; who has the lock is looked up here.

    Arguments:
        extended_code: SQLite's extended result code; the low byte is the primary one.
        path: the database's path, for the message.
        detail: SQLite's own words, used where the code alone says nothing.
    """
    entry = _FAILURES.get(extended_code & 0xFF)
    if entry is None:
        return InternalError(
            f"{path}: SQLite reported code {extended_code}: {detail}; please report it",
            sqlite_code=extended_code,
        )
    cls, name, advice = entry
    message = f"{path}: {advice} ({name}, {extended_code})"
    if extended_code & 0xFF == _BUSY:
        holders = write_lock_holders(path)
        if holders:
            message += f"; the write lock is held by {' and by '.join(map(str, holders))}"
        return StoreBusyError(message, sqlite_code=extended_code, holders=holders)
    return cls(message, sqlite_code=extended_code)
