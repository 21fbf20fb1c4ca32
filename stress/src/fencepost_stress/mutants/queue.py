"""Mutants of the reconcile queue."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.engine.python.connection import writes

from .base import Mutant

_SETTLE_ANY = """
DELETE FROM queue
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
