"""The feed of run events, oldest first, with a watermark for each consumer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from .facet import Facet
from .pages import DEFAULT_PAGE
from .records import RunEvent
from .records.base import Columns
from .validation import (
    integer,
    key as checked_key,
    optional_key,
    payload as checked_payload,
    run_id as checked_run_id,
    time_ms,
)

_WATERMARKS = Columns(
    "session_watermarks", "session_id last_event_seq", key="session_id", integers="last_event_seq"
)


class Feed(Facet):
    """`store.feed`. Sequence numbers grow in commit order, so a consumer misses nothing."""

    __slots__ = ()

    def record(
        self,
        *,
        run_id: str,
        workflow_ref: str,
        type: str,
        runner_id: str | None = None,
        payload: dict[str, Any] | None = None,
        now: datetime | str | None = None,
    ) -> int:
        """Append an event; the run need not exist. Returns its `seq`.

        Arguments:
            payload: a JSON object of up to 64 KiB; default {}.
        """
        return self._engine.record_run_event(
            checked_run_id(run_id),
            checked_key(workflow_ref, "workflow_ref"),
            checked_key(type, "type"),
            optional_key(runner_id, "runner_id"),
            checked_payload(payload),
            time_ms(now),
        )

    def after(self, *, seq: int, limit: int = 50) -> list[RunEvent]:
        """The events after a sequence number, oldest first.

        Arguments:
            limit: rows at most.
        """
        rows = self._engine.read(
            "feed.after", {"seq": integer(seq, "seq"), "limit": integer(limit, "limit", least=1)}
        )
        return [RunEvent.from_row(row) for row in rows]

    def iterate(self, *, seq: int = 0, page_size: int = DEFAULT_PAGE) -> Iterator[RunEvent]:
        """`after` as an iterator, read page by page without holding a transaction open."""
        while page := self.after(seq=seq, limit=page_size):
            yield from page
            seq = page[-1].seq

    def latest_seq(self) -> int:
        """The highest sequence number in the feed; 0 when it is empty."""
        return int(self._engine.read("feed.latest", {})[0][0])

    def watermark(self, *, session_id: str) -> int:
        """The last sequence number that this consumer has set; 0 before any."""
        session = checked_key(session_id, "session_id")
        rows = self._engine.read("feed.watermark", {"session_id": session})
        return int(_WATERMARKS.check((session, *rows[0]))[1]) if rows else 0

    def set_watermark(
        self, *, session_id: str, seq: int, now: datetime | str | None = None
    ) -> None:
        """Remember how far this consumer has come; never moves back."""
        self._engine.set_watermark(
            checked_key(session_id, "session_id"), integer(seq, "seq"), time_ms(now)
        )
