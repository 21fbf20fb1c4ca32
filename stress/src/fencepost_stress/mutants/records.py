"""Mutants of effects and of the feed."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from fencepost.engine.protocol import Row, Value
from fencepost.engine.python.connection import writes
from fencepost.errors import refusal

from .base import Mutant

_INSERT_EFFECT = """
INSERT INTO effects (
  effect_key, resource_uid, generation, kind, state, request_fingerprint, started_at
)
VALUES (:key, :resource_uid, :generation, :kind, 'pending', :request_fingerprint, :started_at)
ON CONFLICT (resource_uid, effect_key) DO UPDATE SET started_at = excluded.started_at
"""
_SET_WATERMARK = """
INSERT INTO session_watermarks (session_id, last_event_seq, updated_at)
VALUES (:session_id, :seq, :updated_at)
ON CONFLICT (session_id) DO UPDATE SET
  last_event_seq = excluded.last_event_seq, updated_at = excluded.updated_at
"""
_TAKE_NUMBER = """
UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'run_events' RETURNING seq
"""
_INSERT_NUMBERED = """
INSERT INTO run_events (seq, recorded_at, run_id, workflow_ref, type, runner_id, payload_json)
VALUES (:seq, :recorded_at, :run_id, :workflow_ref, :type, :runner_id, :payload_json)
"""

_PRUNE_RUNS = """
DELETE FROM workflow_run_queue WHERE rowid IN (
  SELECT rowid FROM workflow_run_queue
  WHERE status = 'done' AND updated_at < :before ORDER BY created_at, rowid LIMIT :limit)
"""


class EffectReservedTwice(Mutant):
    name = "effect-check-then-insert"
    bug = "the effect is looked for before the transaction that inserts it: two are told to act"
    killers = ("E1",)
    workload = "effects"

    def reserve_effect(
        self,
        key: str,
        resource_uid: str,
        generation: int,
        kind: str,
        request_fingerprint: str,
        now: int | None,
    ) -> tuple[Row, bool]:
        if self.read("effects.get", {"resource_uid": resource_uid, "key": key}):
            return super().reserve_effect(
                key, resource_uid, generation, kind, request_fingerprint, now
            )
        self.reached()
        self.let_others_in()
        return self._insert(key, resource_uid, generation, kind, request_fingerprint, now)

    @writes
    def _insert(
        self,
        key: str,
        resource_uid: str,
        generation: int,
        kind: str,
        request_fingerprint: str,
        now: int | None,
    ) -> tuple[Row, bool]:
        _, stamp = self._stamp(now)
        if self._row("resources.get_by_uid", {"uid": resource_uid}) is None:
            raise refusal("unknown_resource", resource_uid)
        self.run_sql(
            _INSERT_EFFECT,
            {
                "key": key,
                "resource_uid": resource_uid,
                "generation": generation,
                "kind": kind,
                "request_fingerprint": request_fingerprint,
                "started_at": stamp,
            },
        )
        return self._rows("effects.get", {"resource_uid": resource_uid, "key": key})[0], True


class FinalStateOverwritten(Mutant):
    name = "effect-final-overwritten"
    bug = "a slower writer overwrites the final state of an effect"
    killers = ("E1",)
    workload = "effects"

    def _row(self, name: str, params: Mapping[str, Value]) -> Row | None:
        row = super()._row(name, params)
        if name != "effects.get" or row is None or row[4] not in {"applied", "rejected"}:
            return row
        self.reached()
        return (*row[:4], "pending", *row[5:])


class WatermarkMovesBack(Mutant):
    name = "watermark-moves-back"
    bug = "the watermark is set to what the consumer says, also when it has been further"
    killers = ("W1",)
    workload = "feed"

    @writes
    def set_watermark(self, session_id: str, seq: int, now: int | None) -> None:
        _, stamp = self._stamp(now)
        self.reached()
        self.run_sql(_SET_WATERMARK, {"session_id": session_id, "seq": seq, "updated_at": stamp})


class FeedWithGaps(Mutant):
    name = "feed-with-gaps"
    bug = "an event's number is taken before its transaction: a consumer passes what comes late"
    killers = ("W1",)
    workload = "feed"

    def record_run_event(
        self,
        run_id: str,
        workflow_ref: str,
        type: str,
        runner_id: str | None,
        payload_json: str,
        now: int | None,
    ) -> int:
        seq = self._take_number()
        if seq is None:
            return super().record_run_event(
                run_id, workflow_ref, type, runner_id, payload_json, now
            )
        self.reached()
        self.let_others_in()
        values: dict[str, Value] = {
            "seq": seq,
            "run_id": run_id,
            "workflow_ref": workflow_ref,
            "type": type,
            "runner_id": runner_id,
            "payload_json": payload_json,
        }
        self._insert_numbered(values, now)
        return seq

    @writes
    def _take_number(self) -> int | None:
        row = self._connection().execute(_TAKE_NUMBER).fetchall()
        return int(row[0][0]) if row else None

    @writes
    def _insert_numbered(self, values: dict[str, Value], now: int | None) -> None:
        _, stamp = self._stamp(now)
        self.run_sql(_INSERT_NUMBERED, {**values, "recorded_at": stamp})


class PrunesUnread(Mutant):
    name = "prunes-unread"
    bug = "pruning goes by age alone, and takes events that a consumer has yet to read"
    killers = ("W1",)
    workload = "prune"

    def statement(self, name: str, params: Mapping[str, Value]) -> Mapping[str, Value]:
        if name != "prune.feed":
            return params
        self.reached()
        return {**params, "unread": 1}


class PrunesContinuations(Mutant):
    name = "prunes-continuations"
    bug = "pruning takes a continuation whose parent is there still, and so frees the parent's slot"
    killers = ("P1",)
    workload = "prune"

    def change(self, name: str, params: Mapping[str, Value]) -> int:
        if name != "prune.runs":
            return super().change(name, params)
        self.reached()
        return self._prune(params)

    @writes
    def _prune(self, params: Mapping[str, Value]) -> int:
        return self.run_sql(_PRUNE_RUNS, params)


class OrphansLeft(Mutant):
    name = "foreign-keys-off"
    bug = "the connection does not enforce foreign keys: a deleted resource leaves its rows behind"
    killers = ("I1", "R1")

    def _execute(self, name: str, params: Mapping[str, Value] | None = None) -> sqlite3.Cursor:
        if name == "connection.foreign_keys_on":
            return self._connection().execute("PRAGMA foreign_keys = OFF")
        return super()._execute(name, params)

    def delete_resource(self, controller: str, key: str, expected_resource_version: int) -> bool:
        self.reached()
        return super().delete_resource(controller, key, expected_resource_version)
