"""Opening the store that a command is about."""

from __future__ import annotations

import argparse
import os

from .. import paths
from ..guard import identity
from ..opening import open
from ..store import Store
from .arguments import Declined

STORE_VARIABLE = "FENCEPOST_STORE"


def path_of(arguments: argparse.Namespace) -> str:
    """The file: `--store`, `$FENCEPOST_STORE`, or the user's own store."""
    chosen = arguments.store or os.environ.get(STORE_VARIABLE) or paths.default_store()
    return os.path.abspath(chosen)


def _there(arguments: argparse.Namespace) -> str:
    path = path_of(arguments)
    named = arguments.store or os.environ.get(STORE_VARIABLE)
    if not named and not os.path.exists(path):
        raise Declined(
            f"no store was named, and the user's own, {path}, is not there; "
            f"give --store PATH or set {STORE_VARIABLE}"
        )
    return path


def reading(arguments: argparse.Namespace) -> Store:
    """The store, open for reading only: others are not disturbed, nothing is made."""
    return open(_there(arguments), engine=arguments.engine, read_only=True)


def writing(arguments: argparse.Namespace) -> Store:
    """The store, open for writing; a file that is not there is not made."""
    path = _there(arguments)
    identity(path)
    return open(path, engine=arguments.engine)
