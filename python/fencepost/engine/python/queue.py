"""The reconcile queue in the Python engine; see `sql/queue.sql`."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import refusal
from ..protocol import EXPIRED_SOME, Row, Value
from .connection import Connection, writes


class Queue(Connection):
    """Operations on the table `queue`."""

    @writes
    def enqueue(
        self, items: Sequence[tuple[str, str, int | None]], now: int | None
    ) -> list[Exception | None]:
        ms = self._now(now)
        return [
            self._enqueue_existing(controller, key, ms if available_at is None else available_at)
            for controller, key, available_at in items
        ]

    @writes
    def claim_next(
        self,
        controllers: Sequence[str],
        claim_tokens: Sequence[str],
        lease_ms: int,
        now: int | None,
    ) -> list[Row]:
        claims: list[Row] = []
        ms = self._now(now)
        expires_at = self._lease_end(ms, lease_ms)
        found = self._due_keys(controllers, ms, len(claim_tokens))
        for (_, controller, key), claim_token in zip(found, claim_tokens, strict=False):
            name: dict[str, Value] = {"controller": controller, "key": key}
            claim: dict[str, Value] = {
                "claim_token": claim_token,
                "claim_expires_at": expires_at,
                "now": ms,
            }
            self._execute("queue.claim", {**name, **claim})
            claims.extend(self._rows("queue.claimed", name))
        return claims

    @writes
    def renew_claims(
        self, claims: Sequence[tuple[str, str, str]], lease_ms: int, now: int | None
    ) -> list[bool]:
        ms = self._now(now)
        expires_at = self._lease_end(ms, lease_ms)
        return [
            self._changes(
                "queue.renew", {**_claim(claim), "claim_expires_at": expires_at, "now": ms}
            )
            == 1
            for claim in claims
        ]

    @writes
    def settle_claims(self, claims: Sequence[tuple[str, str, str]], now: int | None) -> list[bool]:
        ms = self._now(now)
        return [self._settle(claim, ms) for claim in claims]

    @writes
    def requeue_claim(
        self, controller: str, key: str, claim_token: str, available_at: int, error: str | None
    ) -> bool:
        claim = _claim((controller, key, claim_token))
        values = {**claim, "available_at": available_at, "error": error}
        return self._changes("queue.requeue", values) == 1

    def _settle(self, claim: tuple[str, str, str], now: int) -> bool:
        name = _claim(claim)
        if self._changes("queue.settle", name) == 1:
            return True
        return self._changes("queue.release", {**name, "now": now}) == 1

    def _enqueue_existing(self, controller: str, key: str, available_at: int) -> Exception | None:
        if self._row("resources.get", {"controller": controller, "key": key}) is None:
            return refusal("resource_not_found", controller, key)
        self._enqueue_row(controller, key, available_at)
        return None

    def _enqueue_row(self, controller: str, key: str, available_at: int) -> None:
        self._execute(
            "queue.enqueue", {"controller": controller, "key": key, "available_at": available_at}
        )

    def _due_keys(
        self, controllers: Sequence[str], now: int, most: int
    ) -> list[tuple[int, str, str]]:
        """(available_at, controller, key) of the rows to claim next, in this order.

        A claim makes no other row claimable, so many are found at once as well as one by one.
        """
        found = []
        for controller in controllers:
            where: dict[str, Value] = {"controller": controller, "now": now}
            rows = self._some("queue.ready", where, most, _has_name)
            expired = self._rows("queue.expired_some", {**where, "limit": EXPIRED_SOME + 1})
            if len(expired) > EXPIRED_SOME:
                rows += self._some("queue.expired", where, most, _has_name)
            else:
                rows += [row for row in expired if _is_due(row, now) and _has_name(row)]
            found += [(row[0], controller, row[1]) for row in rows]
        return sorted(found)[:most]


def _is_due(row: Row, now: int) -> bool:
    """Whether the time has come; SQLite orders text and blobs after all numbers."""
    return isinstance(row[0], (int, float)) and row[0] <= now


def _has_name(row: Row) -> bool:
    """Whether the key is text; one that is not can't be named, nor claimed."""
    return type(row[1]) is str


def _claim(claim: tuple[str, str, str]) -> dict[str, Value]:
    controller, key, claim_token = claim
    return {"controller": controller, "key": key, "claim_token": claim_token}
