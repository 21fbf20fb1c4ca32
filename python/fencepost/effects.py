"""Effects: records that are written before a call to an outside system."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from .facet import Facet
from .pages import DEFAULT_PAGE, Page, each
from .records import Effect, Reservation
from .validation import (
    choice,
    error_text,
    integer,
    key as checked_key,
    name,
    optional_text,
    text,
    time_ms,
)

STATES = ("pending", "applied", "rejected", "indeterminate")


class Effects(Facet):
    """`store.effects`. A key is reserved once; a final state never changes."""

    __slots__ = ()

    def reserve(
        self,
        *,
        key: str,
        resource_uid: str,
        generation: int,
        kind: str,
        request_fingerprint: str,
        now: datetime | str | None = None,
    ) -> Reservation[Effect]:
        """Record the intent to make a call, before making it.

        Arguments:
            key: names the effect within the resource.
            generation: the resource's generation that the call serves.
            kind: the sort of call, a name.
            request_fingerprint: `fencepost.fingerprint` of what will be sent.

        Returns the record and whether this call created it; the same key with the same
        fingerprint, generation and kind gives the present record. Raises
        EffectConflictError for other ones, UnknownResourceError.
        """
        row, created = self._engine.reserve_effect(
            checked_key(key, "key"),
            text(resource_uid, "resource_uid"),
            integer(generation, "generation", least=1),
            name(kind, "kind"),
            text(request_fingerprint, "request_fingerprint"),
            time_ms(now),
        )
        return Reservation(Effect.from_row(row), created)

    def get(self, *, resource_uid: str, key: str) -> Effect | None:
        """The effect, or None."""
        params = {
            "resource_uid": text(resource_uid, "resource_uid"),
            "key": checked_key(key, "key"),
        }
        return self._first("effects.get", {**params}, Effect.from_row)

    def update(
        self,
        *,
        resource_uid: str,
        key: str,
        state: str,
        external_ref: str | None = None,
        error: str | None = None,
        now: datetime | str | None = None,
    ) -> Effect:
        """Record how the call went.

        Arguments:
            state: `"applied"` and `"rejected"` are final (the same again is allowed);
                `"pending"` or `"indeterminate"` else.
            external_ref: what the outside system calls it; when left out the old one stays.
            error: kept up to 8,192 characters; when left out the old one goes.

        Raises EffectNotFoundError, EffectSettledError.
        """
        row = self._engine.update_effect(
            text(resource_uid, "resource_uid"),
            checked_key(key, "key"),
            choice(state, "state", STATES),
            optional_text(external_ref, "external_ref"),
            error_text(error),
            time_ms(now),
        )
        return Effect.from_row(row)

    def list(
        self, *, resource_uid: str, limit: int | None = None, cursor: str | None = None
    ) -> Page[Effect]:
        """The effects of a resource by (started_at, key)."""
        return self._page(
            "effects.list",
            {"resource_uid": text(resource_uid, "resource_uid")},
            limit,
            cursor,
            {"after_started_at": "", "after_key": ""},
            Effect.from_row,
            lambda row: (row[6], row[0]),
        )

    def iterate(self, *, resource_uid: str, page_size: int = DEFAULT_PAGE) -> Iterator[Effect]:
        """`list` as an iterator, read page by page without holding a transaction open."""
        return each(
            lambda cursor: self.list(resource_uid=resource_uid, limit=page_size, cursor=cursor)
        )
