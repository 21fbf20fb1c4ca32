"""What one item, and what one parent, may do when calls come one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..operations import NEVER
from .calls import Call
from .terms import Terms

ABSENT, WAITING, CLAIMED, DONE = "absent", "waiting", "claimed", "done"


class Item(NamedTuple):
    """An item. Its claim ends of itself between `ends_from` and `ends_by`."""

    phase: str = ABSENT
    holder: str = ""
    ends_from: int = NEVER
    ends_by: int = NEVER
    died: int = NEVER


_GONE, _FREE, _FINISHED = Item(), Item(WAITING), Item(DONE)


class ItemModel:
    """An item with leases.

    `strict` holds calls with a claim to their answers: True only for the one who holds it,
    False only when it may be lost. Otherwise only claiming is judged, and what was done with a
    claim is believed whoever did it: that is how a queue without tokens behaves.
    """

    def __init__(self, terms: Terms, *, strict: bool) -> None:
        self._terms = terms
        self._strict = strict

    def start(self) -> Item:
        return _GONE

    def step(self, state: Item, call: Call, low: int, high: int) -> Iterable[Item]:
        if call.name == "enqueue":
            return self._enqueue(state, call)
        if call.refused:
            return (state,)
        if call.name == "claim":
            return self._claim(state, call, low, high)
        done = self._effect(state, call, low, high)
        if call.unknown or call.result is None:
            return (state, *done)
        if call.result is True:
            return done
        kept = self._strict and self._holds(state, call) and not self._may_be_over(state, high)
        return () if kept else (state,)

    def _enqueue(self, state: Item, call: Call) -> Iterable[Item]:
        if call.refused == "exists":
            return (state,) if state.phase != ABSENT else ()
        if call.refused:
            return (state,)
        return (_FREE,) if state.phase == ABSENT else ()

    def _claim(self, state: Item, call: Call, low: int, high: int) -> Iterable[Item]:
        if state.phase == WAITING or (state.phase == CLAIMED and self._may_be_over(state, high)):
            return (self._claimed(call, low, high),)
        return ()

    def _claimed(self, call: Call, low: int, high: int) -> Item:
        if self._terms.lease == "taken":
            return _FINISHED
        if self._terms.lease == "expires":
            ends_from, ends_by = low + self._terms.lease_ns, high + self._terms.lease_ns
            return Item(CLAIMED, call.claim, ends_from, ends_by)
        died = call.died if self._terms.lease == "session" else NEVER
        return Item(CLAIMED, call.claim, died=died)

    def _holds(self, state: Item, call: Call) -> bool:
        return state.phase == CLAIMED and state.holder == call.claim

    def _may_be_over(self, state: Item, high: int) -> bool:
        return high + self._terms.error_ns >= min(state.ends_from, state.died)

    def _effect(self, state: Item, call: Call, low: int, high: int) -> tuple[Item, ...]:
        """What the call does when it does something; nothing when it can't have."""
        holds = self._holds(state, call)
        if call.name in {"renew", "verify"}:
            over = low > state.ends_by + self._terms.error_ns
            if self._strict and (not holds or over):
                return ()
            renewed = holds and call.name == "renew" and self._terms.lease == "expires"
            return (self._claimed(call, low, high),) if renewed else (state,)
        if (self._strict and not holds) or state.phase == ABSENT:
            return ()
        if call.name == "complete":
            return (_FINISHED,)
        if call.name == "delete":
            return (_GONE,)
        # Released. What was done already may be done still, or wait again.
        return (_FREE, state) if state.phase == DONE else (_FREE,)


class ParentModel:
    """A parent, which has one child or none."""

    def start(self) -> str:
        return ""

    def step(self, state: str, call: Call, low: int, high: int) -> Iterable[str]:  # noqa: ARG002
        child = call.run or ""
        if call.name == "enqueue":
            if call.refused == "parent_taken":
                return (state,) if state else ()
            if call.refused:
                return (state,)
            return () if state else (child,)
        after = "" if state == child else state
        if call.refused or call.result is False:
            return (state,)
        if call.unknown or call.result is None:
            return (state, after)
        return (after,)
