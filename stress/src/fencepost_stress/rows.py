"""The rows of the tables under test, as the witness logs them.

The columns and their order are those of the specification's table of the shared file
format; the harness does not ask the store for them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class RunRow(NamedTuple):
    run_id: str
    workflow_ref: str
    workflow_path: str
    input_json: str
    status: str
    runner_id: str | None
    claim_token: str | None
    claim_expires_at: int | None
    affinity_runner_id: str | None
    parent_run_id: str | None
    created_at: str
    updated_at: str


class QueueRow(NamedTuple):
    controller: str
    resource_key: str
    available_at: int
    version: int
    consecutive_errors: int
    last_error: str | None
    claim_token: str | None
    claim_version: int | None
    claim_expires_at: int | None


class ResourceRow(NamedTuple):
    controller: str
    resource_key: str
    uid: str
    resource_version: int
    generation: int
    spec_json: str
    status_json: str
    deletion_timestamp: str | None
    finalizers_json: str
    updated_at: str


class EffectRow(NamedTuple):
    effect_key: str
    resource_uid: str
    generation: int
    kind: str
    state: str
    request_fingerprint: str
    started_at: str
    completed_at: str | None
    external_ref: str | None
    error: str | None


class RequestRow(NamedTuple):
    request_id: str
    resource_uid: str
    request_key: str
    input_fingerprint: str
    workflow: str
    run_id: str | None
    state: str
    attempt: int
    error: str | None


class RunEventRow(NamedTuple):
    seq: int
    recorded_at: str
    run_id: str
    workflow_ref: str
    type: str
    runner_id: str | None
    payload_json: str


class WatermarkRow(NamedTuple):
    session_id: str
    last_event_seq: int
    updated_at: str


class EventRow(NamedTuple):
    seq: int
    recorded_at: str
    controller: str
    resource_key: str
    type: str
    payload_json: str


TableRow: TypeAlias = (
    RunRow | QueueRow | ResourceRow | EffectRow | RequestRow | RunEventRow | WatermarkRow | EventRow
)

RUNS = "workflow_run_queue"
QUEUE = "queue"
RESOURCES = "resources"
EFFECTS = "effects"
REQUESTS = "workflow_requests"
FEED = "run_events"
WATERMARKS = "session_watermarks"
EVENTS = "events"

TABLES: dict[str, type[TableRow]] = {
    RUNS: RunRow,
    QUEUE: QueueRow,
    RESOURCES: ResourceRow,
    EFFECTS: EffectRow,
    REQUESTS: RequestRow,
    FEED: RunEventRow,
    WATERMARKS: WatermarkRow,
    EVENTS: EventRow,
}

_PAIRS = frozenset({QUEUE, RESOURCES, EFFECTS})
"""Tables whose key is their first two columns; of the others it is the first."""


def key_of(table: str, row: TableRow) -> tuple[str, ...]:
    """The primary key of a row."""
    return row[:2] if table in _PAIRS else row[:1]  # type: ignore[return-value]


class Change(NamedTuple):
    """One row change in commit order: before is None for an insert, after for a delete."""

    seq: int
    table: str
    before: TableRow | None
    after: TableRow | None

    @property
    def key(self) -> tuple[str, ...]:
        row = self[3] or self[2]
        if row is None:
            raise ValueError(f"witness row {self.seq} has neither before nor after")
        return row[:2] if self[1] in _PAIRS else row[:1]  # type: ignore[return-value]

    @property
    def place(self) -> str:
        """The key as text."""
        return "/".join(map(str, self.key))
