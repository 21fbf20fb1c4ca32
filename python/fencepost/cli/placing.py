"""A new store's file gets its name once it is whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..errors import StoreIOError
from ..opening import create_folders
from ..shown import why_not
from .arguments import UsageError


@contextmanager
def in_place(path: str) -> Iterator[str]:
    """Where to import to: the store itself, or a file that gets the name once it is whole.

    A refused import into a new path leaves nothing behind, no folders either. The name is
    given by a link, which overwrites nothing; where the file system has none, the import
    goes into the store itself, and a refused one leaves an empty store.
    """
    if os.path.lexists(path):
        yield path
        return
    unfinished = f"{path}.unfinished"
    folders = list(_missing_folders(path))
    try:
        create_folders(os.path.dirname(path))
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError as error:
        raise _is_there(unfinished) from error
    except OSError as error:
        _remove_folders(folders)
        raise _not_made(path, error) from error
    try:
        linkable = _can_be_linked(unfinished)
        if linkable:
            yield unfinished
            _give_name(unfinished, path)
        os.unlink(unfinished)
    except BaseException:
        _remove(unfinished, folders)
        raise
    if not linkable:
        yield path


def _can_be_linked(file: str) -> bool:
    """Whether the file system gives a file a second name; FAT and some network ones do not."""
    second = f"{file}.link"
    try:
        os.link(file, second)
    except FileExistsError as error:
        raise _is_there(second) from error
    except OSError:
        return False
    finally:
        # Also where an interrupt comes right after the link; never another import's.
        with suppress(FileNotFoundError):
            if os.path.samefile(file, second):
                os.unlink(second)
    return True


def _give_name(unfinished: str, path: str) -> None:
    try:
        os.link(unfinished, path)
    except OSError as error:
        raise _not_made(path, error) from error


def _is_there(name: str) -> UsageError:
    return UsageError(f"{name}: exists already; remove it, if no import is at it")


def _not_made(path: str, error: OSError) -> StoreIOError:
    return StoreIOError(f"{path}: can't be made: {why_not(path, error)}; nothing was done")


def _missing_folders(path: str) -> Iterator[str]:
    """The folders above the path that do not exist, the deepest first."""
    folder = os.path.dirname(path)
    while not os.path.lexists(folder):
        yield folder
        folder = os.path.dirname(folder)


def _remove(unfinished: str, folders: list[str]) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            os.unlink(unfinished + suffix)
    _remove_folders(folders)


def _remove_folders(folders: list[str]) -> None:
    for folder in folders:
        # Another process may have put something into it.
        with suppress(OSError):
            os.rmdir(folder)
