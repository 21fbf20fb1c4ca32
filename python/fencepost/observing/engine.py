"""An engine that tells listeners what its operations did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..engine.protocol import Engine, Row, Value
from .told import OPERATIONS

if TYPE_CHECKING:
    from .hooks import Telling


class ObservedEngine:
    """In the place of an engine for as long as somebody listens.

    Whatever is told is told after the engine has returned: the transaction is over then,
    and no lock is held.
    """

    def __init__(self, engine: Engine, telling: Telling) -> None:
        self._engine = engine
        self._telling = telling

    def read(self, statement: str, params: Mapping[str, Value]) -> list[Row]:
        """All rows of one named read statement."""
        if not self._telling.is_on:
            return self._engine.read(statement, params)
        facet, _, operation = statement.partition(".")
        with self._telling.call(facet, operation):
            return self._engine.read(statement, params)

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._engine, name)
        if name not in OPERATIONS or not self._telling.is_on:
            return operation
        return self._observed(name, operation)

    def _observed(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        facet, called, facts = OPERATIONS[name]

        def observed(*arguments: Any) -> Any:
            with self._telling.call(facet, called) as call:
                result = operation(*arguments)
                call.facts = facts(self._engine, result, *arguments)
            return result

        return observed
