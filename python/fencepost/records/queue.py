"""Records of the reconcile queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..engine.protocol import Row
from .base import Columns, Record, unsealed

_CLAIMS = Columns(
    "queue",
    "controller resource_key claim_token version consecutive_errors claim_expires_at fence",
    key="controller resource_key",
    integers="version consecutive_errors claim_expires_at fence",
)
_ITEMS = Columns(
    "queue",
    "controller resource_key available_at consecutive_errors claim_expires_at",
    key="controller resource_key",
    integers="available_at consecutive_errors claim_expires_at",
)


@dataclass(frozen=True, slots=True)
class QueueClaim(Record):
    """Temporary ownership of one key of the reconcile queue.

    Attributes:
        queue_version: the number of enqueues that this claim has seen.
        expires_at: when the lease ends, ISO 8601 in UTC.
        fence: grows with every claim of this key and never comes again.
    """

    _absent_when_none: ClassVar[frozenset[str]] = frozenset({"fence"})

    controller: str
    key: str
    token: str
    queue_version: int
    consecutive_errors: int
    expires_at: str
    fence: int | None = None

    @classmethod
    def from_row(cls, row: Row) -> QueueClaim:
        """The record of a row of `queue.claimed`."""
        _CLAIMS.check(row)
        claim = object.__new__(_UnsealedClaim)
        claim.controller, claim.key, claim.token = row[:3]
        claim.queue_version, claim.consecutive_errors = row[3:5]
        claim.expires_at = _CLAIMS.time(row, "claim_expires_at")
        claim.fence = row[6]
        claim.__class__ = QueueClaim
        sealed: QueueClaim = claim
        return sealed


_UnsealedClaim = unsealed(QueueClaim)


@dataclass(frozen=True, slots=True)
class QueueItem(Record):
    """One waiting or claimed key; times are ISO 8601 in UTC."""

    _absent_when_none: ClassVar[frozenset[str]] = frozenset({"claim_expires_at"})

    controller: str
    key: str
    available_at: str
    consecutive_errors: int
    claim_expires_at: str | None = None

    @classmethod
    def from_row(cls, row: Row) -> QueueItem:
        """The record of a row of `queue.list`."""
        _ITEMS.check(row)
        available_at = _ITEMS.time(row, "available_at")
        return cls(row[0], row[1], available_at, row[3], _ITEMS.time(row, "claim_expires_at"))
