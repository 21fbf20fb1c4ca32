"""Other queues on SQLite behind one small interface: put, take, done.

An adapter is a module with NAME, GUARANTEES and `open(path, settings)`, where settings is
`"default"` (as the library comes) or `"equal"` (WAL and synchronous=FULL, as ours). It
raises Unavailable with the reason where that can't be had.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PYTHON_PEERS = ("ours", "ours_normal", "huey", "litequeue", "persistqueue", "honker", "pgqrs")


class Unavailable(Exception):
    """This peer can't be measured here, and why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An open queue.

    Attributes:
        put: add a job with this text.
        take: the text of the next job and what `done` wants to have; None for none.
        done: the job is finished.
        busy: errors by which it says that the database is locked.
        close: closes it.
    """

    put: Callable[[str], object]
    take: Callable[[], tuple[str, Any] | None]
    done: Callable[[Any], object]
    busy: tuple[type[Exception], ...]
    close: Callable[[], object]


def adapter(name: str) -> Any:
    """The adapter's module."""
    return importlib.import_module(f".{name}_peer", __package__)


def library(name: str) -> Any:
    """The peer's own library; Unavailable where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Unavailable(str(error)) from error
