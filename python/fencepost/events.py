"""Controller events: what happened to a resource, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from .engine.protocol import Value
from .facet import Facet
from .pages import DEFAULT_PAGE, Page, each
from .records import Event
from .validation import (
    MAX_EVENTS_PAGE,
    integer,
    key as checked_key,
    name,
    payload as checked_payload,
    time_ms,
)

_STATEMENTS = {
    (): "events.list",
    ("controller",): "events.list_by_controller",
    ("key",): "events.list_by_key",
    ("controller", "key"): "events.list_by_resource",
}


class Events(Facet):
    """`store.events`."""

    __slots__ = ()

    def record(
        self,
        *,
        controller: str,
        key: str,
        type: str,
        payload: dict[str, Any] | None = None,
        now: datetime | str | None = None,
    ) -> Event:
        """Append an event; the resource need not exist.

        Arguments:
            type: a name.
            payload: a JSON object of up to 64 KiB; default {}.

        Returns the event with its `seq`.
        """
        row = self._engine.record_event(
            name(controller, "controller"),
            checked_key(key, "key"),
            name(type, "type"),
            checked_payload(payload),
            time_ms(now),
        )
        return Event.from_row(row)

    def list(
        self,
        *,
        controller: str | None = None,
        key: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Event]:
        """Events newest first; all, or those of a controller, a key, or both.

        Arguments:
            limit: 1 to 10,000 rows.
        """
        where: dict[str, Value] = {}
        if controller is not None:
            where["controller"] = name(controller, "controller")
        if key is not None:
            where["key"] = checked_key(key, "key")
        return self._page(
            _STATEMENTS[tuple(where)],
            where,
            integer(limit, "limit", least=1, most=MAX_EVENTS_PAGE),
            cursor,
            {"before": 2**63 - 1},
            Event.from_row,
            lambda row: (row[0],),
        )

    def iterate(
        self,
        *,
        controller: str | None = None,
        key: str | None = None,
        page_size: int = DEFAULT_PAGE,
    ) -> Iterator[Event]:
        """`list` as an iterator, read page by page without holding a transaction open."""
        return each(
            lambda cursor: self.list(controller=controller, key=key, limit=page_size, cursor=cursor)
        )
