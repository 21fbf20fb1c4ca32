"""Mutants of waiting: who sleeps is not woken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fencepost import waiting

from .base import Mutant

_waiting: Any = waiting
"""Its parts can be replaced: nobody else has stores in this process."""


class NotifyDropped(Mutant):
    name = "notify-dropped"
    bug = "whoever commits work wakes nobody: who waits for it sleeps on beside it"
    killers = ("Q3",)
    workload = "wait"

    @classmethod
    def prepare(cls) -> None:
        def then_nothing(operation: Callable[..., Any], _bell: str) -> Callable[..., Any]:
            def silent(*arguments: Any) -> Any:
                cls.reached()
                return operation(*arguments)

            return silent

        _waiting._then_ring = then_nothing
