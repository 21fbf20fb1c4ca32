"""What an engine is: operations on validated primitives, each one transaction.

An engine runs transactions and nothing else. It takes and gives primitives (text,
integers, rows as SQLite holds them); validation, JSON, records and the wording of
errors live above it, once, in Python. Both engines execute the same named statements
of `fencepost/sql`, one file a table, so an operation is found under the same name in
SQL, in `engine/python` and in the Rust core.

Conventions of every operation:

- `now` is milliseconds since the epoch, or None: then the engine's clock is read,
  for a write inside the transaction and after the lock is held, so that waiting for
  the lock never eats a lease.
- A write begins IMMEDIATE, and a call that raises has changed nothing.
- A refusal is the exception that `fencepost.errors.refusal(code, *subject)` makes; a
  failure of SQLite the one that `fencepost.failures.sqlite_failure` makes. The batch forms
  put the refusal of an item in the item's place.
- A lease that would end after `MAX_TIME_MS` is the refusal `lease_out_of_range`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

Value: TypeAlias = "int | str | None"
Row: TypeAlias = "tuple[Any, ...]"
Clock: TypeAlias = "Callable[[], int]"

MAX_TIME_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, the end of the stored time format."""

EXPIRED_SOME = 64
"""Up to so many expired claims are compared one by one; more are walked in claim order."""

NewRun: TypeAlias = "tuple[str, str, str, str, str, str, int, str | None, str | None]"
"""run_id, workflow_name, workflow_source_ref, input_json, runner_id, claim_token, lease_ms,
affinity_runner_id (None: the runner), parent_run_id."""


class Engine(Protocol):
    """One open database. Safe to call from many threads; a forked child is refused."""

    # The connection.

    def close(self) -> None:
        """Close the connection; again does nothing. A forked child forgets it instead."""

    def use_wal(self) -> None:
        """Switch the file to WAL, trying again within the busy timeout.

        The switch ignores SQLite's own busy timeout, so of many processes that open
        a new file at once some would fail at once.
        """

    def create_schema(self, schema_version: int, schema_id: str | None) -> bool:
        """Create what is missing of `schema.sql` and `additions.sql`, in one transaction.

        Both arguments are what the caller saw before it looked at the layout: of
        `layout.version`, and of `layout.schema_id` (None for no row or no table). False,
        and nothing is created, where either is another one inside the transaction.
        """

    def read(self, statement: str, params: Mapping[str, Value]) -> list[Row]:
        """All rows of one named read statement (`"runs.list"`), values as stored."""

    def change(self, statement: str, params: Mapping[str, Value]) -> int:
        """Run one named write statement in a transaction; how many rows it changed."""

    def change_and_record(
        self, change: str, record: str, params: Mapping[str, Value], now: int | None
    ) -> int | None:
        """Run one named write statement and, where it changed a row, one that adds an event.

        In one transaction: neither is there without the other. Both statements get `params`,
        and the time as `updated_at` and `recorded_at`. The event's seq comes back; None where
        the first statement changed nothing.
        """

    def backup(
        self, target: str, pages: int, pause_ms: int, progress: Callable[[int, int], None] | None
    ) -> None:
        """Copy one snapshot of the database into the new file `target`.

        `pages` pages at a time, with a pause of `pause_ms` between; after each step
        `progress` gets how many pages remain, and of how many.
        """

    # Resources. Rows are those of `resources.get`.

    def put_resource(
        self, controller: str, key: str, uid: str, spec_json: str, status_json: str, now: int | None
    ) -> Row:
        """Insert (with `uid` and `status_json`), or replace another spec; then enqueue."""

    def update_status(
        self,
        controller: str,
        key: str,
        expected_version: int,
        status_json: str,
        finalizers_json: str | None,
        now: int | None,
    ) -> Row:
        """Refusals: resource_not_found, resource_conflict. The same status writes nothing."""

    def request_deletion(self, controller: str, key: str, now: int | None) -> Row:
        """Refusal: resource_not_found. Enqueues every time."""

    def update_finalizers(
        self,
        controller: str,
        key: str,
        expected_version: int,
        finalizers_json: str,
        now: int | None,
    ) -> Row:
        """Refusals: resource_not_found, resource_conflict."""

    def delete_resource(self, controller: str, key: str, expected_version: int) -> bool:
        """Refusals, in this order: not_ready_for_deletion, resource_conflict."""

    # The reconcile queue. A claim is a row of `queue.claimed`.

    def enqueue(
        self, items: Sequence[tuple[str, str, int | None]], now: int | None
    ) -> list[Exception | None]:
        """(controller, key, available_at or None for now) each; resource_not_found in its place."""

    def claim_next(
        self,
        controllers: Sequence[str],
        claim_tokens: Sequence[str],
        lease_ms: int,
        now: int | None,
    ) -> list[Row]:
        """Claim up to as many rows as there are tokens, in claim order.

        `controllers` is sorted and without repeats.
        """

    def renew_claims(
        self, claims: Sequence[tuple[str, str, str]], lease_ms: int, now: int | None
    ) -> list[bool]:
        """(controller, key, claim_token) each."""

    def settle_claims(self, claims: Sequence[tuple[str, str, str]], now: int | None) -> list[bool]:
        """(controller, key, claim_token) each."""

    def requeue_claim(
        self,
        controller: str,
        key: str,
        claim_token: str,
        available_at: int,
        error: str | None,
    ) -> bool:
        """Lift the claim and make the row due at `available_at`."""

    # Effects. Rows are those of `effects.get`.

    def reserve_effect(
        self,
        key: str,
        resource_uid: str,
        generation: int,
        kind: str,
        request_fingerprint: str,
        now: int | None,
    ) -> tuple[Row, bool]:
        """The record and whether it is new. Refusals: unknown_resource, effect_conflict."""

    def update_effect(
        self,
        resource_uid: str,
        key: str,
        state: str,
        external_ref: str | None,
        error: str | None,
        now: int | None,
    ) -> Row:
        """Refusals: effect_not_found, effect_terminal."""

    # Child requests. Rows are those of `requests.get`.

    def reserve_request(
        self,
        resource_uid: str,
        request_key: str,
        workflow: str,
        input_fingerprint: str,
        request_id: str,
    ) -> tuple[Row, bool]:
        """The record and whether it is new. Refusals: unknown_resource, workflow_conflict."""

    def update_request(
        self,
        request_id: str,
        state: str,
        run_id: str | None,
        set_run_id: bool,
        attempt: int | None,
        error: str | None,
        set_error: bool,
    ) -> Row:
        """Refusal: workflow_request_not_found."""

    # Events. The row is that of `events.get`.

    def record_event(
        self, controller: str, key: str, type: str, payload_json: str, now: int | None
    ) -> Row:
        """Append an event; the resource need not exist."""

    # Runs. Rows are those of `runs.get`.

    def enqueue_runs(self, runs: Sequence[NewRun], now: int | None) -> list[Row | Exception]:
        """What the store made of each: claim_expires_at, created_at, fence.

        All else of the run is as it was given. Refusals in an item's place: run_exists,
        continuation_exists, lease_out_of_range.
        """

    def claim_runs(
        self,
        runner_id: str,
        claim_tokens: Sequence[str],
        lease_ms: int,
        exclude_run_ids: Sequence[str],
        now: int | None,
    ) -> list[Row]:
        """Claim up to as many runs as there are tokens, in claim order."""

    def renew_runs(
        self, claims: Sequence[tuple[str, str]], lease_ms: int, now: int | None
    ) -> list[bool]:
        """(run_id, claim_token) each."""

    def verify_run(self, run_id: str, claim_token: str, now: int | None) -> bool:
        """Whether the claim is live. Changes nothing."""

    def park_run(self, run_id: str, claim_token: str, now: int | None) -> bool:
        """Lift the claim, also one that has expired; False where the token is not the row's."""

    def complete_runs(self, claims: Sequence[tuple[str, str]], now: int | None) -> list[bool]:
        """(run_id, claim_token) each."""

    def delete_run(self, run_id: str, claim_token: str) -> bool:
        """Delete the row, and with it its parent's continuation; False for another token."""

    def repair_source(
        self,
        run_id: str,
        workflow_name: str,
        workflow_source_ref: str,
        runner_id: str,
        claim_token: str,
        lease_ms: int,
        now: int | None,
    ) -> str | None:
        """`"unchanged"`, `"claimed"`, or None where the run can't be repaired."""

    def claim_legacy_source(
        self,
        run_id: str,
        workflow_name: str,
        old_workflow_path: str,
        workflow_source_ref: str,
        runner_id: str,
        claim_token: str,
        lease_ms: int,
        now: int | None,
    ) -> bool:
        """Claim a run that has the old or the new source, and give it the new one.

        False where it has neither, or is done, missing, or under another live claim.
        """

    # The feed.

    def record_run_event(
        self,
        run_id: str,
        workflow_ref: str,
        type: str,
        runner_id: str | None,
        payload_json: str,
        now: int | None,
    ) -> int:
        """The new event's seq."""

    def set_watermark(self, session_id: str, seq: int, now: int | None) -> None:
        """Say that a session has read up to `seq`; never moves back."""
