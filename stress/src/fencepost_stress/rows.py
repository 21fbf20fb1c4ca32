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


TableRow: TypeAlias = RunRow | QueueRow | ResourceRow

RUNS = "workflow_run_queue"
QUEUE = "queue"
RESOURCES = "resources"

TABLES: dict[str, type[RunRow] | type[QueueRow] | type[ResourceRow]] = {
    RUNS: RunRow,
    QUEUE: QueueRow,
    RESOURCES: ResourceRow,
}

_KEY_COLUMNS = {RUNS: 1, QUEUE: 2, RESOURCES: 2}


def key_of(table: str, row: TableRow) -> tuple[str, ...]:
    """The primary key of a row."""
    return tuple(str(part) for part in row[: _KEY_COLUMNS[table]])


class Change(NamedTuple):
    """One row change in commit order: before is None for an insert, after for a delete."""

    seq: int
    table: str
    before: TableRow | None
    after: TableRow | None

    @property
    def key(self) -> tuple[str, ...]:
        row = self.after if self.after is not None else self.before
        if row is None:
            raise ValueError(f"witness row {self.seq} has neither before nor after")
        return key_of(self.table, row)
