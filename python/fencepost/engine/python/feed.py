"""The feed of run events in the Python engine; see `sql/feed.sql`."""

from __future__ import annotations

from ..protocol import Value
from .connection import Connection, writes


class Feed(Connection):
    """Operations on the tables `run_events` and `session_watermarks`."""

    @writes
    def record_run_event(
        self,
        run_id: str,
        workflow_ref: str,
        type: str,
        runner_id: str | None,
        payload_json: str,
        now: int | None,
    ) -> int:
        _, stamp = self._stamp(now)
        inserted = self._execute(
            "feed.insert",
            {
                "run_id": run_id,
                "workflow_ref": workflow_ref,
                "type": type,
                "runner_id": runner_id,
                "payload_json": payload_json,
                "recorded_at": stamp,
            },
        )
        return int(inserted.lastrowid or 0)

    @writes
    def set_watermark(self, session_id: str, seq: int, now: int | None) -> None:
        _, stamp = self._stamp(now)
        values: dict[str, Value] = {"session_id": session_id, "seq": seq, "updated_at": stamp}
        self._execute("feed.set_watermark", values)
