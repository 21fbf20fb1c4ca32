"""A store whose calls are recorded."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import fencepost
from fencepost.errors import FencepostError

from .history import Clock, Fail, Info, Invoke, Ok, Writer
from .live import CALLING, IDLE, INSIDE, Cell
from .operations import WAIT

BETWEEN = "between"

INDEFINITE = frozenset({"io", "corrupt", "corrupt_row", "internal"})
"""Codes after which nobody can say whether the call took effect."""


class Answer(NamedTuple):
    """What a call returned, or the code with which it was refused."""

    value: Any
    code: str = ""
    error: FencepostError | None = None


class Session:
    """Makes calls on a store, each with a record before and after."""

    def __init__(self, writer: Writer, cell: Cell, at: Callable[[str], None] | None = None) -> None:
        """`at` is told before each call, and when a claim is in the history (`claimed`)."""
        self._writer = writer
        self._cell = cell
        self._at = at
        self._n = 0
        self._calling = False
        self._locks = True
        self.store: fencepost.Store | None = None

    def clock_read(self, mono: int, wall: int) -> None:
        if self._calling:
            if self._locks:
                self._cell.stage(INSIDE)
            self._writer.write(Clock(mono, self._n, wall))

    def note(self, kind: str, **facts: Any) -> None:
        """Record something that is not a call."""
        self._writer.note(kind, **facts)

    def call(self, name: str, **args: Any) -> Answer:
        """Call `facet.method`, or `store.method`, named as `name` says, and record it."""
        facet, method = name.split(".")
        owner = self.store if facet == "store" else getattr(self.store, facet)
        function = getattr(owner, method)
        if self._at is not None:
            self._at(BETWEEN)
        self._n += 1
        shown = {key: _plain(value) for key, value in args.items()}
        self._writer.write(Invoke(time.monotonic_ns(), self._n, name, shown))
        self._calling = True
        self._locks = name != WAIT
        self._cell.stage(CALLING)
        try:
            value = function(**args)
        except FencepostError as error:
            record = Info if error.code in INDEFINITE else Fail
            self._writer.write(record(time.monotonic_ns(), self._n, error.code, str(error)))
            self._cell.add(refusals=1)
            return Answer(None, error.code, error)
        finally:
            self._calling = False
            self._cell.stage(IDLE)
        self._writer.write(Ok(time.monotonic_ns(), self._n, _plain(value)))
        claims = _claims(name, value)
        self._cell.add(claims=claims, refusals=int(value is False))
        if claims and self._at is not None:
            self._at("claimed")
        return Answer(value)


def _claims(name: str, value: Any) -> int:
    if name.endswith("claim_many"):
        return len(value)
    return int(name.endswith("claim_next") and value is not None)


def _plain(value: Any) -> Any:
    """The value as a history holds it; an error in a batch's results shows its code."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, FencepostError):
        return {"error": value.code}
    to_dict = getattr(value, "to_dict", None)
    return value if to_dict is None else to_dict()
