"""The reconcile queue: level-triggered, one row a key, each claimed by one worker at a time."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from .clock import ms_from_time
from .engine.protocol import Row
from .errors import CorruptRowError, FencepostError, InvalidArgumentError
from .facet import Facet, new_tokens
from .pages import DEFAULT_PAGE, Page, each
from .records import QueueClaim, QueueItem
from .validation import (
    error_text,
    integer,
    items as checked_items,
    key as checked_key,
    lease_ms as checked_lease,
    name,
    time_ms,
)


class Queue(Facet):
    """`store.queue`. An enqueue while a key is claimed is never swallowed by its settle."""

    __slots__ = ()

    def enqueue(
        self,
        *,
        controller: str,
        key: str,
        available_at: datetime | str | None = None,
        now: datetime | str | None = None,
    ) -> None:
        """Make a resource due for its controller.

        Arguments:
            available_at: when it becomes due; default now. Of two times the earlier counts.
            now: the present time instead of the clock's.

        Raises ResourceNotFoundError.
        """
        refused = self._engine.enqueue([_item((controller, key, available_at))], time_ms(now))[0]
        if refused is not None:
            raise refused

    def enqueue_many(
        self, *, items: Iterable[tuple[Any, ...]], now: datetime | str | None = None
    ) -> builtins.list[FencepostError | None]:
        """Enqueue many (controller, key) or (controller, key, available_at) in one transaction.

        Returns None, or the error that refused it, in each item's place.
        """
        checked = [_item(item) for item in checked_items(items, "items")]
        results = self._engine.enqueue(checked, time_ms(now))
        return [result if isinstance(result, FencepostError) else None for result in results]

    def claim_next(
        self,
        *,
        controllers: Iterable[str],
        lease_ms: int,
        now: datetime | str | None = None,
    ) -> QueueClaim | None:
        """Claim the first due key of these controllers, by (available_at, controller, key).

        Due is a key whose time has come and that is under no live claim. Returns the
        claim, or None when nothing is due (also for an empty list). Raises CorruptRowError
        for a row that can't be read; it stays claimed until the lease ends, so that it does
        not keep the others from being claimed.
        """
        claims = self.claim_many(controllers=controllers, lease_ms=lease_ms, limit=1, now=now)
        if not claims:
            return None
        if isinstance(claims[0], CorruptRowError):
            raise claims[0]
        return claims[0]

    def claim_many(
        self,
        *,
        controllers: Iterable[str],
        lease_ms: int,
        limit: int,
        now: datetime | str | None = None,
    ) -> builtins.list[QueueClaim | CorruptRowError]:
        """Claim up to `limit` due keys in one transaction, as if by so many `claim_next`.

        In the place of a claim whose row can't be read stands the error that says why.
        """
        given = checked_items(controllers, "controllers")
        names = sorted({name(item, "controllers") for item in given})
        tokens = new_tokens(integer(limit, "limit", least=1, most=10_000))
        lease = checked_lease(lease_ms)
        ms = time_ms(now)
        if not names:
            return []
        rows = self._engine.claim_next(names, tokens, lease, ms)
        return [_claimed(row) for row in rows]

    def renew(
        self,
        *,
        claim: QueueClaim | Mapping[str, Any],
        lease_ms: int,
        now: datetime | str | None = None,
    ) -> bool:
        """Let the lease end `lease_ms` from now. False where the claim is lost or expired."""
        return self.renew_many(claims=[claim], lease_ms=lease_ms, now=now)[0]

    def renew_many(
        self,
        *,
        claims: Iterable[QueueClaim | Mapping[str, Any]],
        lease_ms: int,
        now: datetime | str | None = None,
    ) -> builtins.list[bool]:
        """`renew` for many claims in one transaction, a result for each."""
        given = _claims(claims)
        results = self._engine.renew_claims(given, checked_lease(lease_ms), time_ms(now))
        return self._each_kept("queue.renew", given, results)

    def settle(
        self, *, claim: QueueClaim | Mapping[str, Any], now: datetime | str | None = None
    ) -> bool:
        """The key is reconciled. False where the claim is lost.

        The row goes, unless an enqueue came since the claim: then it stays, and is due.
        """
        return self.settle_many(claims=[claim], now=now)[0]

    def settle_many(
        self,
        *,
        claims: Iterable[QueueClaim | Mapping[str, Any]],
        now: datetime | str | None = None,
    ) -> builtins.list[bool]:
        """`settle` for many claims in one transaction, a result for each."""
        given = _claims(claims)
        return self._each_kept(
            "queue.settle", given, self._engine.settle_claims(given, time_ms(now))
        )

    def requeue(
        self,
        *,
        claim: QueueClaim | Mapping[str, Any],
        available_at: datetime | str,
        error: str | None = None,
        now: datetime | str | None = None,
    ) -> bool:
        """Give the key back, due again at `available_at`. False where the claim is lost.

        Arguments:
            available_at: if an enqueue came since the claim, the earlier of its time and
                this one counts.
            error: counts as one more consecutive error, and its text is kept; without one
                the count goes back to 0.
        """
        time_ms(now)
        controller, key, token = _claim(claim)
        at = ms_from_time(available_at, "available_at")
        requeued = self._engine.requeue_claim(controller, key, token, at, error_text(error))
        if not requeued:
            self._refused("queue.requeue", controller, key)
        return requeued

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[QueueItem]:
        """All rows by (available_at, controller, key), claimed ones included."""
        return self._page(
            "queue.list",
            {},
            limit,
            cursor,
            {"after_available_at": -(2**63), "after_controller": "", "after_key": ""},
            QueueItem.from_row,
            lambda row: (row[2], row[0], row[1]),
        )

    def iterate(self, *, page_size: int = DEFAULT_PAGE) -> Iterator[QueueItem]:
        """`list` as an iterator, read page by page without holding a transaction open."""
        return each(lambda cursor: self.list(limit=page_size, cursor=cursor))


def _claimed(row: Row) -> QueueClaim | CorruptRowError:
    try:
        return QueueClaim.from_row(row)
    except CorruptRowError as corrupt:
        return corrupt


def _item(item: Any) -> tuple[str, str, int | None]:
    if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
        raise InvalidArgumentError("items: expected (controller, key) or (controller, key, time)")
    at = item[2] if len(item) == 3 else None
    return (
        name(item[0], "controller"),
        checked_key(item[1], "key"),
        time_ms(at, "available_at"),
    )


def _claim(claim: QueueClaim | Mapping[str, Any]) -> tuple[str, str, str]:
    record = claim if isinstance(claim, QueueClaim) else QueueClaim.from_dict(claim)
    return (
        name(record.controller, "claim.controller"),
        checked_key(record.key, "claim.key"),
        checked_key(record.token, "claim.token"),
    )


def _claims(claims: Iterable[QueueClaim | Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    return [_claim(claim) for claim in checked_items(claims, "claims")]
