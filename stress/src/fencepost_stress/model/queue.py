"""The reference model of the reconcile queue, from the specification."""

from __future__ import annotations

from typing import Any

from ..rows import QUEUE, QueueRow, ResourceRow
from ..times import ms_of, text_of
from .outcome import ANYTHING, REFUSED, Outcome, Prediction, refused


class Queue:
    """The rows of the queue; `resources` holds the resources by controller and key."""

    def __init__(self) -> None:
        self.resources: dict[tuple[str, str], ResourceRow] = {}
        self.rows: dict[tuple[str, str], QueueRow] = {}

    # The state follows the witness.

    def write(self, before: QueueRow | None, after: QueueRow | None) -> None:
        if after is not None:
            self.rows[after.controller, after.resource_key] = after
        elif before is not None:
            self.rows.pop((before.controller, before.resource_key), None)

    def due_controllers(self, now: int) -> set[str]:
        """The controllers that have a key to claim now."""
        return {
            row.controller
            for row in self.rows.values()
            if row.available_at <= now and not _lives(row, now)
        }

    # The operations.

    def enqueue(self, args: dict[str, Any], now: int) -> Outcome:
        place = (args["controller"], args["key"])
        if place not in self.resources:
            return refused("resource_not_found")
        given = args.get("available_at")
        return Outcome(None, (self.enqueued(place, now if given is None else ms_of(given)),))

    def enqueued(self, place: tuple[str, str], available_at: int) -> Prediction:
        """The change that an enqueue makes."""
        before = self.rows.get(place)
        if before is None:
            return Prediction(
                QUEUE, None, QueueRow(*place, available_at, 1, 0, None, None, None, None)
            )
        after = before._replace(
            available_at=min(before.available_at, available_at), version=before.version + 1
        )
        return Prediction(QUEUE, before, after)

    def claim_next(self, args: dict[str, Any], now: int) -> Outcome:
        controllers = set(args["controllers"])
        ready = [
            row
            for row in self.rows.values()
            if row.controller in controllers and row.available_at <= now and not _lives(row, now)
        ]
        if not ready:
            return Outcome(result=None)
        before = min(ready, key=lambda row: (row.available_at, row.controller, row.resource_key))
        after = before._replace(
            claim_token=ANYTHING,
            claim_version=before.version,
            claim_expires_at=now + args["lease_ms"],
        )
        claim = {
            "controller": before.controller,
            "key": before.resource_key,
            "token": ANYTHING,
            "queue_version": before.version,
            "consecutive_errors": before.consecutive_errors,
            "expires_at": text_of(now + args["lease_ms"]),
        }
        return Outcome(claim, (Prediction(QUEUE, before, after),))

    def renew(self, args: dict[str, Any], now: int) -> Outcome:
        before = self._held(args)
        if before is None or not _lives(before, now):
            return REFUSED
        after = before._replace(claim_expires_at=now + args["lease_ms"])
        return Outcome(True, (Prediction(QUEUE, before, after),))

    def settle(self, args: dict[str, Any], now: int) -> Outcome:
        before = self._held(args)
        if before is None:
            return REFUSED
        if before.version == before.claim_version:
            return Outcome(True, (Prediction(QUEUE, before, None),))
        after = before._replace(
            claim_token=None,
            claim_version=None,
            claim_expires_at=None,
            available_at=min(before.available_at, now),
            consecutive_errors=0,
            last_error=None,
        )
        return Outcome(True, (Prediction(QUEUE, before, after),))

    def requeue(self, args: dict[str, Any], _now: int) -> Outcome:
        before = self._held(args)
        if before is None:
            return REFUSED
        given = ms_of(args["available_at"])
        error = args.get("error")
        came = before.version != before.claim_version
        after = before._replace(
            claim_token=None,
            claim_version=None,
            claim_expires_at=None,
            available_at=min(before.available_at, given) if came else given,
            consecutive_errors=0 if error is None else before.consecutive_errors + 1,
            last_error=error,
        )
        return Outcome(True, (Prediction(QUEUE, before, after),))

    def list(self, args: dict[str, Any], _now: int) -> Outcome:
        rows = sorted(
            self.rows.values(), key=lambda row: (row.available_at, row.controller, row.resource_key)
        )
        return Outcome([_item(row) for row in rows[: args["limit"]]])

    def _held(self, args: dict[str, Any]) -> QueueRow | None:
        claim = args["claim"]
        row = self.rows.get((claim["controller"], claim["key"]))
        return row if row is not None and row.claim_token == claim["token"] else None


def _lives(row: QueueRow, now: int) -> bool:
    return row.claim_expires_at is not None and row.claim_expires_at > now


def _item(row: QueueRow) -> dict[str, Any]:
    expires = row.claim_expires_at
    return {
        "controller": row.controller,
        "key": row.resource_key,
        "available_at": text_of(row.available_at),
        "consecutive_errors": row.consecutive_errors,
        "claim_expires_at": None if expires is None else text_of(expires),
    }
