"""The reference model of the two feeds, from the specification."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import msgspec

from ..rows import EVENTS, FEED, WATERMARKS, EventRow, RunEventRow, WatermarkRow
from ..times import text_of
from .outcome import Outcome, Prediction, canonical

_PAGE = 50


class Feed:
    """Run events, and how far each consumer has come."""

    def __init__(self) -> None:
        self._seqs: list[int] = []
        self._rows: list[RunEventRow] = []
        self._last = 0
        self._watermarks: dict[str, WatermarkRow] = {}

    def write(self, before: RunEventRow | None, after: RunEventRow | None) -> None:
        if after is not None and before is None:
            place = bisect_right(self._seqs, after.seq)
            self._seqs.insert(place, after.seq)
            self._rows.insert(place, after)
            self._last = max(self._last, after.seq)
        elif before is not None and after is None:
            place = bisect_right(self._seqs, before.seq) - 1
            if place >= 0 and self._seqs[place] == before.seq:
                del self._seqs[place], self._rows[place]

    def has_more(self, seq: int) -> bool:
        """Whether there is an event after this one."""
        return bool(self._seqs) and self._seqs[-1] > seq

    def write_watermark(self, before: WatermarkRow | None, after: WatermarkRow | None) -> None:
        if after is not None:
            self._watermarks[after.session_id] = after
        elif before is not None:
            self._watermarks.pop(before.session_id, None)

    def record(self, args: dict[str, Any], now: int) -> Outcome:
        seq = self._last + 1
        row = RunEventRow(
            seq,
            text_of(now),
            args["run_id"],
            args["workflow_ref"],
            args["type"],
            args.get("runner_id"),
            canonical(args.get("payload", {})),
        )
        return Outcome(seq, (Prediction(FEED, None, row),))

    def after(self, args: dict[str, Any], _now: int) -> Outcome:
        first = bisect_right(self._seqs, args["seq"])
        rows = self._rows[first : first + args.get("limit", _PAGE)]
        return Outcome([run_event(row) for row in rows])

    def latest_seq(self, _args: dict[str, Any], _now: int) -> Outcome:
        return Outcome(self._seqs[-1] if self._seqs else 0)

    def watermark(self, args: dict[str, Any], _now: int) -> Outcome:
        row = self._watermarks.get(args["session_id"])
        return Outcome(0 if row is None else row.last_event_seq)

    def set_watermark(self, args: dict[str, Any], now: int) -> Outcome:
        before = self._watermarks.get(args["session_id"])
        seq = args["seq"] if before is None else max(before.last_event_seq, args["seq"])
        after = WatermarkRow(args["session_id"], seq, text_of(now))
        return Outcome(None, (Prediction(WATERMARKS, before, after),))


class Events:
    """The events of resources."""

    def __init__(self) -> None:
        self._rows: list[EventRow] = []

    def write(self, before: EventRow | None, after: EventRow | None) -> None:
        if after is not None and before is None:
            self._rows.append(after)

    def record(self, args: dict[str, Any], now: int) -> Outcome:
        row = EventRow(
            self._rows[-1].seq + 1 if self._rows else 1,
            text_of(now),
            args["controller"],
            args["key"],
            args["type"],
            canonical(args.get("payload", {})),
        )
        return Outcome(event(row), (Prediction(EVENTS, None, row),))

    def has_more(self, seq: int) -> bool:
        """Whether there is an event after this one."""
        return bool(self._rows) and self._rows[-1].seq > seq

    def list(self, args: dict[str, Any], _now: int) -> Outcome:
        found: list[dict[str, Any]] = []
        controller, key = args.get("controller"), args.get("key")
        for row in reversed(self._rows):
            if len(found) == args["limit"]:
                break
            if controller in (None, row.controller) and key in (None, row.resource_key):
                found.append(event(row))
        return Outcome(found)


def run_event(row: RunEventRow) -> dict[str, Any]:
    """The record that a consumer gets."""
    return {
        "seq": row.seq,
        "recorded_at": row.recorded_at,
        "run_id": row.run_id,
        "workflow_ref": row.workflow_ref,
        "type": row.type,
        "runner_id": row.runner_id,
        "payload": msgspec.json.decode(row.payload_json),
    }


def event(row: EventRow) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "recorded_at": row.recorded_at,
        "controller": row.controller,
        "key": row.resource_key,
        "type": row.type,
        "payload": msgspec.json.decode(row.payload_json),
    }
