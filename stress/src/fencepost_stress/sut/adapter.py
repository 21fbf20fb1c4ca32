"""What an adapter is: the few methods through which the harness uses a queue.

Write a class that inherits from `Adapter` and pass it as `--sut module:Class`. One object
serves one process; with `workers="threads"`, all threads of it at once.

An exception out of a method means: the outcome is unknown. That is always safe to say.
Raise `Refused` only when the queue has changed nothing for certain.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from .capabilities import Capabilities

Role: TypeAlias = Literal["prepare", "work"]
State: TypeAlias = Literal["waiting", "claimed", "done", "failed"]


class Refused(Exception):
    """The queue refused, and changed nothing.

    `code` is `exists` (that item is there already), `parent_taken` (that parent has a
    child), or a word of the adapter's own, like `busy`.
    """

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code


class Claim(NamedTuple):
    """An item that was claimed, and whatever the queue wants back to work with the claim."""

    run: str
    handle: Any


class Place(msgspec.Struct, frozen=True):
    """Where an adapter works, and for whom."""

    directory: Path
    """Empty at first, and shared by all processes of a run."""
    role: Role
    worker: str
    """The client's name. A process that takes a dead one's place has the same."""
    lease_ms: int
    """How long a claim is to last, where claims end by themselves."""


class Item(msgspec.Struct, frozen=True):
    """An item that the queue holds at the end."""

    run: str
    state: State


class Adapter:
    """A queue under test.

    The first object, in a place with the role `prepare`, creates what has to be there; the
    others, with `work`, open it. Each is made in a process of its own.
    """

    capabilities: Capabilities
    """Of the class, or set by `__init__`."""

    def __init__(self, place: Place) -> None:
        raise NotImplementedError

    def enqueue(self, run: str, parent: str | None) -> None:
        """Add an item, to be claimed by anybody. May raise `Refused`."""
        raise NotImplementedError

    def claim(self, wait_ms: int) -> Claim | None:
        """The next item, or None when there is none after `wait_ms` (mostly 0)."""
        raise NotImplementedError

    def renew(self, claim: Claim) -> bool | None:
        """Let the claim last for `lease_ms` from now. None: the queue does not tell."""
        raise NotImplementedError

    def verify(self, claim: Claim) -> bool | None:
        """Whether the claim is live."""
        raise NotImplementedError

    def complete(self, claim: Claim) -> bool | None:
        """The work is done."""
        raise NotImplementedError

    def release(self, claim: Claim) -> bool | None:
        """Give the item back, to be claimed at once by anybody."""
        raise NotImplementedError

    def delete(self, claim: Claim) -> bool | None:
        """Remove the claimed item; its parent may have another child then."""
        raise NotImplementedError

    def dump(self) -> list[Item]:
        """All items that the queue still holds. Finished ones may be left out."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing follows."""
