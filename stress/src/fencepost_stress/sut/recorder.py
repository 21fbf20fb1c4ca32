"""An adapter whose calls are recorded."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ..history import Fail, Info, Invoke, Ok, Writer
from ..live import CALLING, IDLE, Cell
from .adapter import Adapter, Claim, Refused


class Held(NamedTuple):
    """A claim, and the name that the history gives it: the process and the call that made it."""

    claim: Claim
    label: str


class Recorder:
    """Makes calls for one actor, each with a record before and after."""

    def __init__(self, adapter: Adapter, writer: Writer, cell: Cell, actor: str) -> None:
        self._adapter = adapter
        self._writer = writer
        self._cell = cell
        self._actor = actor
        self._n = 0
        self.operations = frozenset(adapter.capabilities.operations)

    def enqueue(self, run: str, parent: str | None = None) -> None:
        args = {"run_id": run} if parent is None else {"run_id": run, "parent_run_id": parent}
        self._call("enqueue", args, lambda: self._adapter.enqueue(run, parent), _nothing)

    def claim(self, wait_ms: int = 0) -> Held | None:
        claim: Claim | None = self._call(
            "claim", {"wait_ms": wait_ms}, lambda: self._adapter.claim(wait_ms), _claim
        )
        return None if claim is None else Held(claim, f"{self._actor}/{self._n}")

    def use(self, name: str, held: Held) -> bool | None:
        """Call `renew`, `verify`, `complete`, `release` or `delete`."""
        method = getattr(self._adapter, name)
        args = {"run_id": held.claim.run, "claim": held.label}
        told: bool | None = self._call(name, args, lambda: method(held.claim), _as_it_is)
        return told

    def _call(
        self,
        name: str,
        args: dict[str, Any],
        call: Callable[[], Any],
        shown: Callable[[Any], Any],
    ) -> Any:
        self._n += 1
        self._writer.write(Invoke(time.monotonic_ns(), self._n, name, args))
        self._cell.stage(CALLING)
        try:
            value = call()
        except Refused as error:
            self._writer.write(Fail(time.monotonic_ns(), self._n, error.code, str(error)))
            self._cell.add(refusals=1)
            return None
        except Exception as error:  # noqa: BLE001 - whatever it is, the outcome is unknown
            code = type(error).__name__
            self._writer.write(Info(time.monotonic_ns(), self._n, code, str(error)))
            self._cell.add(refusals=1)
            return None
        finally:
            self._cell.stage(IDLE)
        self._writer.write(Ok(time.monotonic_ns(), self._n, shown(value)))
        self._cell.add(claims=int(isinstance(value, Claim)), refusals=int(value is False))
        return value


def _nothing(_value: None) -> None:
    return None


def _as_it_is(value: bool | None) -> bool | None:
    return value


def _claim(value: Claim | None) -> dict[str, Any] | None:
    return None if value is None else {"run_id": value.run, "handle": value.handle}
