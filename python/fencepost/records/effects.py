"""Records of effects, child requests and controller events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from ..engine.protocol import Row
from .base import Columns, Read, Record

_EFFECTS = Columns(
    "effects",
    "effect_key resource_uid generation kind state request_fingerprint started_at completed_at "
    "external_ref error",
    key="resource_uid effect_key",
    integers="generation",
)
_REQUESTS = Columns(
    "workflow_requests",
    "request_id resource_uid request_key input_fingerprint workflow run_id state attempt error "
    "rowid",
    key="request_id",
    integers="attempt rowid",
)
_EVENTS = Columns(
    "events",
    "seq recorded_at controller resource_key type payload_json",
    key="seq",
    integers="seq",
)


@dataclass(frozen=True, slots=True)
class Effect(Record):
    """A call to an outside system, recorded before it is made.

    `state` is `"pending"`, `"applied"`, `"rejected"` or `"indeterminate"`; applied and
    rejected are final.
    """

    _absent_when_none: ClassVar[frozenset[str]] = frozenset(
        {"completed_at", "external_ref", "error"}
    )

    key: str
    resource_uid: str
    generation: int
    kind: str
    state: str
    request_fingerprint: str
    started_at: str
    completed_at: str | None = None
    external_ref: str | None = None
    error: str | None = None

    @classmethod
    def from_row(cls, row: Row) -> Effect:
        """The record of a row of `effects.get`."""
        return cls(*_EFFECTS.check(row))


@dataclass(frozen=True, slots=True)
class Request(Record):
    """A child workflow that a resource asked for.

    `state` is `"pending"`, `"running"`, `"waiting"`, `"succeeded"`, `"failed"` or
    `"interrupted"`.
    """

    _absent_when_none: ClassVar[frozenset[str]] = frozenset({"run_id", "error"})

    request_id: str
    resource_uid: str
    request_key: str
    input_fingerprint: str
    workflow: str
    state: str
    attempt: int
    run_id: str | None = None
    error: str | None = None

    @classmethod
    def from_row(cls, row: Row) -> Request:
        """The record of a row of `requests.get` or `requests.list`."""
        _REQUESTS.check(row)
        request_id, uid, request_key, fingerprint, workflow, run_id, state, attempt, error = row[:9]
        return cls(
            request_id, uid, request_key, fingerprint, workflow, state, attempt, run_id, error
        )


Reserved = TypeVar("Reserved", Effect, Request)


@dataclass(frozen=True, slots=True)
class Reservation(Record, Generic[Reserved]):
    """The record under a key, and whether this call created it."""

    record: Reserved
    created: bool

    @classmethod
    def _with_nested(cls, members: dict[str, Any], read: Read) -> dict[str, Any]:
        record = members["record"]
        plain = isinstance(record, Mapping)
        kind = (
            Request if isinstance(record, Request) or (plain and "request_id" in record) else Effect
        )
        return {**members, "record": read(kind, record)}


@dataclass(frozen=True, slots=True)
class Event(Record):
    """What happened to a resource; `seq` grows and never comes again."""

    seq: int
    recorded_at: str
    controller: str
    key: str
    type: str
    payload: dict[str, Any]

    @classmethod
    def from_row(cls, row: Row) -> Event:
        """The record of a row of `events.get`."""
        _EVENTS.check(row)
        seq, recorded_at, controller, key, type, _ = row
        payload = _EVENTS.json_object(row, "payload_json")
        return cls(seq, recorded_at, controller, key, type, payload)
