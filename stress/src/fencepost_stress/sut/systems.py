"""Finding the adapter that the user named."""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Callable
from functools import partial
from inspect import isabstract
from typing import Any

import msgspec

from .adapter import Adapter, Place
from .command import CommandAdapter

_HERE = "fencepost_stress.sut.adapters"
SHIPPED = {
    "litequeue": f"{_HERE}.lite_queue:Litequeue",
    "litequeue-retry": f"{_HERE}.lite_queue:LitequeueWithRetry",
    "huey": f"{_HERE}.huey_storage:HueySqliteStorage",
    "persist-queue": f"{_HERE}.persist_queue:PersistAckQueue",
    "persist-queue-processes": f"{_HERE}.persist_queue:PersistAckQueueInProcesses",
}
CONTROL = "fencepost-"
"""`fencepost-native`, `fencepost-python`, `fencepost-mutant:NAME`: our own, from outside.

With `-threads` after it the clients are the threads of one process, which share a store.
"""


class System(msgspec.Struct, frozen=True):
    """What is tested: an adapter by name or `module:Class`, or a command."""

    adapter: str = ""
    command: str = ""

    @property
    def label(self) -> str:
        return self.adapter or self.command


class UnknownSystemError(Exception):
    """There is no such adapter, or what it needs is not installed."""


def find(system: System) -> Callable[[Place], Adapter]:
    """What makes the adapter: called with a `Place`."""
    if system.command:
        return partial(CommandAdapter, shlex.split(system.command))
    if system.adapter.startswith(CONTROL):
        from .adapters.fencepost_runs import on

        return on(system.adapter.removeprefix(CONTROL))
    module, colon, name = SHIPPED.get(system.adapter, system.adapter).partition(":")
    if not colon:
        known = ", ".join((*SHIPPED, f"{CONTROL}native", f"{CONTROL}python"))
        raise UnknownSystemError(f"no adapter {system.adapter!r}: name {known}, or module:Class")
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        extra = " (the extra 'systems' has it)" if system.adapter in SHIPPED else ""
        raise UnknownSystemError(f"{system.adapter}: {error}{extra}") from error
    except AttributeError as error:
        raise UnknownSystemError(f"{system.adapter}: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Adapter)):
        raise UnknownSystemError(f"{system.adapter} is no Adapter")
    if isabstract(found):
        lacking = ", ".join(sorted(found.__abstractmethods__))
        raise UnknownSystemError(f"{system.adapter} lacks {lacking}")
    return found


def make(system: System, place: Place) -> Adapter:
    """An adapter that is open, and whose declaration makes sense."""
    adapter = find(system)(place)
    problems = adapter.problems()
    if problems:
        adapter.close()
        raise UnknownSystemError(f"{system.label}: {'; '.join(problems)}")
    return adapter
