"""One SQLite library a file a process, and a watch on whoever else opens the file.

Two copies of SQLite in one process that have the same file open drop each other's POSIX
locks, and so does any plain `open()` and `close()` of the file ("How To Corrupt An
SQLite Database File", section 2.2): afterwards another process gets the write lock
while it is held here, and committed data is lost. Python's audit events (PEP 578) show
such an opening before it happens.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .errors import EngineConflictError, ForkedStoreError, StoreIOError

CHOICES = ("error", "warn", "off")

_ADVICE = (
    "closing a file that a store has open drops the store's locks and can lose commits: "
    "use the store alone, or another process"
)
_DESCRIPTORS = "/proc/self/fd"

_Identity: TypeAlias = "tuple[int, int]"


class GuardWarning(RuntimeWarning):
    """Something in this process opened a live database past the store."""


@dataclass(slots=True)
class _OpenFile:
    """One file that stores of this process have open, its log and index included."""

    engine: str
    names: set[str]
    guards: list[str | None] = field(default_factory=list)


# Re-entrant: a signal handler may open a store in the middle of an opening.
_lock = threading.RLock()
creating = threading.RLock()
"""Held from the creation of a file to its close, so that no store opens it in between."""

_files: dict[_Identity, _OpenFile] = {}
_inherited: dict[_Identity, str] = {}
_hooked = False


def identity(path: str) -> _Identity:
    """What tells one file from all others, whatever it is called."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise StoreIOError(f"{path}: {error.strerror}; check the path") from error
    return status.st_dev, status.st_ino


def register(path: str, engine: str, guard: str | None) -> _Identity:
    """Note that a store is about to open a file; `release` takes it back.

    Raises EngineConflictError where the other engine has the file open here, and
    ForkedStoreError where this process inherited the file open from its parent: the
    library's own account of the file's locks came along, the locks did not.
    """
    global _hooked
    this = identity(path)
    with _lock:
        if _inherited.get(this) == engine:
            raise ForkedStoreError(
                f"{path}: the parent had this file open when it forked; close the store before "
                "forking, or start children by exec (multiprocessing's 'spawn')"
            )
        entry = _files.get(this)
        if entry is not None and entry.engine != engine:
            raise EngineConflictError(
                f"{path}: is open in this process with the {entry.engine} engine; a second SQLite "
                "library would break its locks, use one engine or another process"
            )
        name = os.path.realpath(path)
        if entry is not None and name not in entry.names:
            raise StoreIOError(
                f"{path}: is open in this process as {min(entry.names)}; two names of one file get "
                "a log each, which corrupts it: use one name"
            )
        if entry is None:
            if engine == "native":
                _look_for_openings(path, this, guard)
            entry = _files[this] = _OpenFile(engine, {name})
        entry.guards.append(guard)
        if not _hooked:
            _hooked = True
            sys.addaudithook(_audit)
    return this


def _look_for_openings(path: str, this: _Identity, guard: str | None) -> None:
    """Notice what opened the file before the first store did, where the system tells."""
    try:
        descriptors = os.listdir(_DESCRIPTORS)
    except OSError:
        return
    for descriptor in descriptors:
        try:
            status = os.stat(f"{_DESCRIPTORS}/{descriptor}")
        except OSError:
            continue
        if (status.st_dev, status.st_ino) == this:
            _act({guard or "error"}, f"{path!r} is open in this process already; {_ADVICE}")
            return


def release(this: _Identity, guard: str | None) -> None:
    """A store has closed a file."""
    with _lock:
        entry = _files.get(this)
        if entry is not None:
            entry.guards.remove(guard)
            if not entry.guards:
                del _files[this]


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in ("open", "sqlite3.connect") or not _files:
        return
    entry = _open_file(arguments[0])
    if entry is None or (event == "sqlite3.connect" and entry.engine == "python"):
        # The Python engine shares the library that sqlite3.connect uses.
        return
    default = "error" if event == "sqlite3.connect" else "warn"
    actions = {default if guard is None else guard for guard in entry.guards}
    _act(actions, f"{arguments[0]!r} is open in this process as a fencepost store; {_ADVICE}")


def _act(actions: set[str], message: str) -> None:
    if "error" in actions:
        raise EngineConflictError(message)
    if "warn" in actions:
        warnings.warn(message, GuardWarning, stacklevel=4)


def _open_file(target: object) -> _OpenFile | None:
    if not isinstance(target, (str, bytes, os.PathLike)):
        return None
    path = os.fsdecode(target)
    if path.startswith("file:"):
        path = _uri_path(path)
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    found = _files.get((status.st_dev, status.st_ino))
    if found is not None:
        return found
    name = os.path.realpath(path)
    # A name that says nothing may be another link to a log or an index.
    linked = status.st_nlink > 1
    for suffix in ("-shm", "-wal"):
        if linked or name.endswith(suffix):
            for entry in list(_files.values()):
                if name.removesuffix(suffix) in entry.names:
                    return entry
                if linked and any(_is_file(main + suffix, status) for main in list(entry.names)):
                    return entry
    return None


def _is_file(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), status)
    except OSError:
        return False


def _uri_path(uri: str) -> str:
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(uri).path)


def _after_fork() -> None:
    """A child has its parent's account of the locks but none of the locks themselves."""
    global _lock, creating
    _lock, creating = threading.RLock(), threading.RLock()
    _inherited.update({this: entry.engine for this, entry in _files.items()})
    _files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
