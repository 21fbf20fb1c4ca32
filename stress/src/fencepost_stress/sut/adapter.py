"""What an adapter is: the few methods through which the harness uses a queue.

Write a class that inherits from `Adapter` and pass it as `--sut module:Class`. One object
serves one process; with `workers="threads"`, all threads of it at once.

An exception out of a method means: the outcome is unknown. That is always safe to say.
Raise `Refused` only when the queue has changed nothing for certain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

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


class Adapter(ABC):
    """A queue under test.

    The first object, in a place with the role `prepare`, creates what has to be there; the
    others, with `work`, open it. Each is made in a process of its own.

    The abstract methods are what any queue has. What else it has, its class declares in
    `capabilities.operations` and adds as methods: see `Renews` and its neighbours.
    """

    capabilities: Capabilities
    """Of the class, or set by `__init__`."""

    @abstractmethod
    def __init__(self, place: Place) -> None:
        """Open the queue, or create it where `place.role` says so."""

    @abstractmethod
    def enqueue(self, run: str, parent: str | None) -> None:
        """Add an item, to be claimed by anybody. May raise `Refused`."""

    @abstractmethod
    def claim(self, wait_ms: int) -> Claim | None:
        """The next item, or None when there is none after `wait_ms` (mostly 0)."""

    @abstractmethod
    def dump(self) -> list[Item]:
        """All items that the queue still holds. Finished ones may be left out."""

    @abstractmethod
    def close(self) -> None:
        """Nothing follows."""

    def problems(self) -> list[str]:
        """What is wrong with the adapter itself: a declaration that means nothing, or is empty."""
        found = self.capabilities.problems()
        for name, has in OPTIONAL.items():
            if name in self.capabilities.operations and not isinstance(self, has):
                found.append(f"the operation {name!r} is declared, and there is no such method")
        return found


@runtime_checkable
class Renews(Protocol):
    """Declares `renew`."""

    def renew(self, claim: Claim) -> bool | None:
        """Let the claim last for `lease_ms` from now. None: the queue does not tell."""


@runtime_checkable
class Verifies(Protocol):
    """Declares `verify`."""

    def verify(self, claim: Claim) -> bool | None:
        """Whether the claim is live. None: the queue does not tell."""


@runtime_checkable
class Completes(Protocol):
    """Declares `complete`: every queue whose items are not gone once they are taken."""

    def complete(self, claim: Claim) -> bool | None:
        """The work is done. None: the queue does not tell whether the claim was live."""


@runtime_checkable
class Releases(Protocol):
    """Declares `release`."""

    def release(self, claim: Claim) -> bool | None:
        """Give the item back, to be claimed at once by anybody."""


@runtime_checkable
class Deletes(Protocol):
    """Declares `delete`."""

    def delete(self, claim: Claim) -> bool | None:
        """Remove the claimed item; its parent may have another child then."""


OPTIONAL: dict[str, type] = {
    "renew": Renews,
    "verify": Verifies,
    "complete": Completes,
    "release": Releases,
    "delete": Deletes,
}
"""By declared operation: what has to be there then."""
