"""The Python engine: the reference, on the SQLite that the interpreter links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .backup import Backup
from .effects import Effects
from .events import Events
from .feed import Feed
from .requests import Requests
from .resources import Resources
from .runs import Runs

if TYPE_CHECKING:
    from ..protocol import Engine


class PythonEngine(Resources, Effects, Requests, Events, Runs, Feed, Backup):
    """One module a table; the operations are documented in `engine/protocol.py`."""


if TYPE_CHECKING:
    _: type[Engine] = PythonEngine
