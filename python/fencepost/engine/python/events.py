"""Controller events in the Python engine; see `sql/events.sql`."""

from __future__ import annotations

from ..protocol import Row
from .connection import Connection, writes


class Events(Connection):
    """Operations on the table `events`."""

    @writes
    def record_event(
        self, controller: str, key: str, type: str, payload_json: str, now: int | None
    ) -> Row:
        _, stamp = self._stamp(now)
        inserted = self._execute(
            "events.insert",
            {
                "controller": controller,
                "key": key,
                "type": type,
                "payload_json": payload_json,
                "recorded_at": stamp,
            },
        )
        return self._rows("events.get", {"seq": inserted.lastrowid})[0]
