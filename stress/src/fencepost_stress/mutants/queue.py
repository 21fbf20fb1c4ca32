"""Mutants of the reconcile queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.engine.protocol import Value
from fencepost.engine.python.connection import writes

from .base import Mutant

_SETTLE_ANY = """
DELETE FROM queue
WHERE controller = :controller AND resource_key = :key AND claim_token = :claim_token
"""
_REQUEUE_AT = """
UPDATE queue
SET claim_token = NULL, claim_version = NULL, claim_expires_at = NULL,
  available_at = :available_at,
  consecutive_errors = CASE WHEN :error IS NULL THEN 0 ELSE consecutive_errors + 1 END,
  last_error = :error
WHERE controller = :controller AND resource_key = :key AND claim_token = :claim_token
"""


class SettleSwallows(Mutant):
    name = "settle-swallows-event"
    bug = "the settle deletes the row although an event came during the claim"
    killers = ("Q1", "Q2")

    @writes
    def settle_claims(self, claims: Sequence[tuple[str, str, str]], now: int | None) -> list[bool]:
        self._now(now)
        self.reached()
        return [
            self.run_sql(_SETTLE_ANY, {"controller": controller, "key": key, "claim_token": token})
            == 1
            for controller, key, token in claims
        ]


class RequeueOverwrites(Mutant):
    name = "requeue-overwrites-event"
    bug = "the requeue puts the key off although an event came and made it due earlier"
    killers = ("Q2",)

    @writes
    def requeue_claim(
        self, controller: str, key: str, claim_token: str, available_at: int, error: str | None
    ) -> bool:
        self.reached()
        values = {"controller": controller, "key": key, "claim_token": claim_token}
        return (
            self.run_sql(_REQUEUE_AT, {**values, "available_at": available_at, "error": error}) == 1
        )


class TokenReused(Mutant):
    name = "token-reused"
    bug = "a key's claims all bear the token of the first, so a requeue takes nobody's claim away"
    killers = ("F2",)

    def statement(self, name: str, params: Mapping[str, Value]) -> Mapping[str, Value]:
        if name != "queue.claim":
            return params
        self.reached()
        return {**params, "claim_token": f"token-of-{params['key']}"}
