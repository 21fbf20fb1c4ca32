"""The search for an order: Wing and Gong's, with Lowe's memory of what was tried.

A call is placed when every call that returned before it began has been placed. A call
whose outcome is unknown may be placed or left out. Two ways to place the same calls that
lead to the same state have the same futures, so the second is not followed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from ..operations import NEVER
from .calls import Call

State = TypeVar("State", bound=Hashable)

BUDGET = 200_000
"""So many placements are tried on one item before the search gives up."""


class Model(Protocol[State]):
    """What one item does when calls come one after the other."""

    def start(self) -> State:
        """The item before the first call."""
        ...

    def step(self, state: State, call: Call, low: int, high: int) -> Iterable[State]:
        """The states after a call that took effect between `low` and `high`; none when it
        can't have returned what it returned."""
        ...


class OutOfBudgetError(Exception):
    """Too many orders: nobody knows."""


def explainable(calls: Sequence[Call], model: Model[State], budget: int = BUDGET) -> bool:
    """Whether there is an order of the calls (sorted by `low`) that the model allows."""
    required = sum(1 << at for at, call in enumerate(calls) if not call.unknown)
    seen: set[tuple[int, State]] = set()
    stack: list[tuple[int, int, int, State]] = [(0, 0, 0, model.start())]
    while stack:
        placed, first, low, state = stack.pop()
        if placed & required == required:
            return True
        if (placed, state) in seen:
            continue
        seen.add((placed, state))
        budget -= 1
        if budget < 0:
            raise OutOfBudgetError
        while placed >> first & 1:
            first += 1
        candidates, deadline = _candidates(calls, placed, first)
        # The earliest goes on the stack last: histories are nearly in order already.
        for at in reversed(candidates):
            call = calls[at]
            begun = max(low, call.low)
            ended = min(call.high, deadline)
            if begun <= ended:
                for after in model.step(state, call, begun, ended):
                    stack.append((placed | 1 << at, first, begun, after))
    return False


def _candidates(calls: Sequence[Call], placed: int, first: int) -> tuple[list[int], int]:
    """Those that can be next, and the moment by which the next one has taken effect."""
    found: list[int] = []
    deadline = NEVER
    for at in range(first, len(calls)):
        call = calls[at]
        if call.low > deadline:
            break
        if not placed >> at & 1:
            found.append(at)
            if not call.unknown:
                deadline = min(deadline, call.high)
    return found, deadline


def shortest(calls: Sequence[Call], model: Model[State]) -> list[Call]:
    """Of calls that can't be explained: those that began before the first return after
    which they can't be."""
    returns = sorted(call.high for call in calls if not call.unknown)
    begin, end = 0, len(returns) - 1
    while begin < end:
        middle = (begin + end) // 2
        try:
            explained = explainable(known_at(calls, returns[middle]), model)
        except OutOfBudgetError:
            explained = False
        if explained:
            begin = middle + 1
        else:
            end = middle
    return [call for call in calls if call.low <= returns[begin]]


def known_at(calls: Sequence[Call], moment: int) -> list[Call]:
    """The calls as they were known at a moment: those under way had no outcome yet."""
    return [
        call if call.unknown or call.high <= moment else _under_way(call)
        for call in calls
        if call.low <= moment
    ]


def _under_way(call: Call) -> Call:
    return replace(call, op=replace(call.op, status="unknown"))
