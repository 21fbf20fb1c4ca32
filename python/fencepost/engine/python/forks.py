"""Connections that a forked child inherits: never closed there, whatever happens."""

from __future__ import annotations

import os
import sqlite3
import weakref
from typing import Protocol


class _HasConnection(Protocol):
    _sqlite: sqlite3.Connection | None


_open: weakref.WeakSet[_HasConnection] = weakref.WeakSet()
_immortal: list[sqlite3.Connection] = []


def watch(owner: _HasConnection) -> None:
    """Keep the owner's connection from being closed by a child."""
    _open.add(owner)


def _forget_in_child() -> None:
    """Give each inherited connection a reference that is never given back.

    Closing one in the child could checkpoint and delete the write-ahead log under the
    parent, and the destructor closes too.
    """
    for owner in _open:
        if owner._sqlite is not None:
            _immortal.append(owner._sqlite)
            _keep_forever(owner._sqlite)


def _keep_forever(connection: sqlite3.Connection) -> None:
    try:
        from ctypes import py_object, pythonapi
    except ImportError:
        # Interpreters without reference counts do not destroy what a list still holds.
        return
    pythonapi.Py_IncRef(py_object(connection))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
