"""Who listens to a store, and how they are told."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from types import BuiltinMethodType, MethodType
from typing import Any, TypeVar

from .. import logs
from ..engine.protocol import Engine
from ..errors import FencepostError, InvalidArgumentError, StoreBusyError
from ..facet import Facet, use_engine
from .engine import ObservedEngine
from .events import Listener, StoreEvent
from .told import Facts

_Listener = TypeVar("_Listener", bound=Listener)


class Call:
    """A call of the store that is under way; `facts` may find out what it needs to say."""

    def __init__(self) -> None:
        self.facts: Facts = iter(())


class _Inside(threading.local):
    """What a thread is doing: telling a listener, and which call it makes."""

    listener: bool = False
    call: tuple[str, str] = ("store", "open")


class Telling:
    """Tells the listeners of one store."""

    def __init__(self, path: str, engine: str) -> None:
        self._path = path
        self._engine = engine
        self._inside = _Inside()
        self._failed: set[int] = set()
        self.listeners: tuple[Listener, ...] = ()

    @property
    def is_on(self) -> bool:
        """Whether anybody is to be told of what this thread does."""
        return bool(self.listeners) and not self._inside.listener

    def tell(self, kind: str, facet: str, operation: str, **fields: Any) -> None:
        """Make an event, and tell all listeners of it, the first added first."""
        event = StoreEvent(
            kind=kind,
            facet=facet,
            operation=operation,
            path=self._path,
            engine=self._engine,
            **fields,
        )
        self._inside.listener = True
        try:
            for listener in self.listeners:
                self._tell_one(listener, event)
        finally:
            self._inside.listener = False

    @contextmanager
    def call(self, facet: str, operation: str) -> Iterator[Call]:
        """Tell of a call: the facts that it leaves behind, then that it ended, and how."""
        call = Call()
        self._inside.call = (facet, operation)
        began = perf_counter()
        try:
            yield call
        except Exception as error:
            if self.is_on:
                seconds = perf_counter() - began
                if isinstance(error, StoreBusyError) and error.sqlite_code is not None:
                    holders = error.holders
                    self.tell("busy", facet, operation, seconds=seconds, holders=holders)
                code = error.code if isinstance(error, FencepostError) else type(error).__name__
                self.tell("call", facet, operation, seconds=seconds, error=code)
            raise
        if self.is_on:
            seconds = perf_counter() - began
            for kind, fields in call.facts:
                self.tell(kind, facet, operation, **fields)
            self.tell("call", facet, operation, seconds=seconds)

    def waited(self, seconds: float) -> None:
        """A write of this thread stood in the line for the write lock, and has it done now."""
        logs.waited(self._path, seconds)
        if self.is_on:
            self.tell("busy_wait", *self._inside.call, seconds=seconds)

    def log_held(self) -> None:
        """The log is overlong, and could not be emptied after this thread's commit."""
        logs.log_held(self._path)

    def _tell_one(self, listener: Listener, event: StoreEvent) -> None:
        try:
            listener(event)
        except Exception:  # noqa: BLE001 - the commit stands, whatever a listener makes of it
            again = id(listener) in self._failed
            self._failed.add(id(listener))
            logs.listener_raised(self._path, listener, event.kind, again=again)

    def forget(self, listener: Listener) -> None:
        """Another listener may come to the same address, and its first error counts."""
        self._failed.discard(id(listener))


class Hooks:
    """`store.hooks`: who is told of the events of this store, in this process.

    Without listeners nothing is made and nothing is asked: the facets use the engine itself.
    """

    def __init__(self, telling: Telling, engine: Engine, facets: Sequence[Facet]) -> None:
        self._telling = telling
        self._engine = engine
        self._facets = facets
        self._lock = threading.Lock()

    def add(self, listener: _Listener) -> _Listener:
        """Have `listener` told of each event from now on; again changes nothing.

        Returns the listener, so that it can be used as a decorator. Raises
        InvalidArgumentError for what can't be called.
        """
        checked_listener(listener)
        with self._lock:
            if not any(_same(listener, other) for other in self._telling.listeners):
                self._use((*self._telling.listeners, listener))
        return listener

    def remove(self, listener: Listener) -> None:
        """Do not tell `listener` any more; one that is not there changes nothing."""
        with self._lock:
            kept = []
            for other in self._telling.listeners:
                if _same(listener, other):
                    self._telling.forget(other)
                else:
                    kept.append(other)
            self._use(tuple(kept))

    def _use(self, listeners: tuple[Listener, ...]) -> None:
        self._telling.listeners = listeners
        observed: Any = ObservedEngine(self._engine, self._telling)
        for facet in self._facets:
            use_engine(facet, observed if listeners else self._engine)


def checked_listener(listener: _Listener) -> _Listener:
    """The listener; raises InvalidArgumentError for what can't be called."""
    if not callable(listener):
        raise InvalidArgumentError(
            f"hooks: expected something that can be called, not {type(listener).__name__}"
        )
    return listener


def _same(one: Listener, other: Listener) -> bool:
    """Whether it is one listener; a bound method is made anew whenever it is looked up."""
    return one is other or (isinstance(one, (MethodType, BuiltinMethodType)) and one == other)
