"""Opening the store that a command is about."""

from __future__ import annotations

import argparse
import os

from .. import paths
from ..guard import identity
from ..opening import open
from ..store import Store

STORE_VARIABLE = "FENCEPOST_STORE"


def path_of(arguments: argparse.Namespace) -> str:
    """The file: `--store`, `$FENCEPOST_STORE`, or the user's own store."""
    chosen = arguments.store or os.environ.get(STORE_VARIABLE) or paths.default_store()
    return os.path.abspath(chosen)


def reading(arguments: argparse.Namespace) -> Store:
    """The store, open for reading only: others are not disturbed, nothing is made."""
    return open(path_of(arguments), engine=arguments.engine, read_only=True)


def writing(arguments: argparse.Namespace) -> Store:
    """The store, open for writing; a file that is not there is not made."""
    path = path_of(arguments)
    identity(path)
    return open(path, engine=arguments.engine)
