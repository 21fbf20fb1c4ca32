"""Calls as the checkers see them: a call with its times, its outcome and its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, final

from .rows import Change

Status: TypeAlias = Literal["open", "ok", "fail", "unknown"]

WAIT = "store.wait"
"""The call that sleeps: it takes as long as it takes, and holds nothing meanwhile."""

NEVER = 1 << 62
"""A position after every commit, and a time after every time."""


@dataclass(slots=True, eq=False)
class Op:
    """One call of one process.

    `low` and `high` bound where in commit order the call can have taken effect: after
    the first `low` changes for certain, and with no more than `high` of them before it.
    `known` are the identities that the call had when it was invoked.
    """

    process: str
    n: int
    name: str
    args: dict[str, Any]
    invoked: int
    status: Status = "open"
    returned: int = NEVER
    result: Any = None
    code: str = ""
    clock: list[tuple[int, int]] = field(default_factory=list)
    rows: list[Change] = field(default_factory=list)
    low: int = 0
    high: int = NEVER
    known: tuple[Any, ...] = ()

    @property
    def now(self) -> int | None:
        """The wall time that the store used: what its clock gave it last."""
        return self.clock[-1][1] if self.clock else None

    @property
    def token(self) -> str | None:
        """The claim token that the call carries, of a run or of a queue claim."""
        claim = self.args.get("claim")
        return claim["token"] if isinstance(claim, dict) else self.args.get("claim_token")

    def describe(self) -> dict[str, Any]:
        """The call as a report shows it."""
        shown: dict[str, Any] = {
            "process": self.process,
            "call": self.n,
            "name": self.name,
            "args": self.args,
            "status": self.status,
            "invoked_ns": self.invoked,
            "returned_ns": None if self.returned == NEVER else self.returned,
        }
        if self.status == "ok":
            shown["result"] = self.result
        if self.code:
            shown["code"] = self.code
        if self.now is not None:
            shown["now_ms"] = self.now
        if self.rows:
            shown["commits"] = [row.seq for row in self.rows]
        return shown


@final
@dataclass(slots=True)
class Commit:
    """A row change, with the call that made it; None when no call can have made it."""

    change: Change
    op: Op | None


@final
@dataclass(slots=True)
class Seen:
    """A call that changed no row, at the first place where it can have happened."""

    op: Op


Event: TypeAlias = Commit | Seen
