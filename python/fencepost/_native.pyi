"""The native engine of fencepost; import `fencepost` instead."""

from collections.abc import Callable, Mapping, Sequence
from typing import final

from .engine.protocol import NewRun, Row, Value

__all__ = [
    "Engine",
    "__version__",
    "are_keys",
    "canonical_json",
    "holds",
    "is_run_claim",
    "sources",
    "sqlite_version",
]

__version__: str

def sqlite_version() -> str:
    """The version of the SQLite library that is built in."""

def sources() -> dict[str, str]:
    """What the extension has to agree with, as it was when it was built, by name.

    The `.sql` files without their suffix, and this stub as `_native`.
    """

def canonical_json(value: object, most: int | None = None) -> str | None:
    """The canonical JSON of an ordinary value of at most `most` bytes.

    None where `fencepost.canonical` has to say, whose rules these are.
    """

def is_run_claim(run_id: object, claim_token: object) -> bool:
    """Whether these are, for sure, a run id and a claim token.

    A no leaves it to `fencepost.validation`, whose rules these are.
    """

def are_keys(*values: object) -> bool:
    """Whether all of these are, for sure, keys, as `fencepost.validation` has to say."""

def holds(row: Row, kinds: str) -> bool:
    """Whether a row is, for sure, of these kinds, as `fencepost.records.base` has to say.

    A letter a column: `t`ext or `i`nteger, or null.
    """

@final
class Engine:
    """One open database; see `fencepost.engine.protocol.Engine`."""

    def __new__(
        cls,
        path: str,
        *,
        read_only: bool,
        synchronous: str,
        busy_timeout_ms: int,
        clock: Callable[[], int] | None,
        immutable: bool = False,
        probe: Callable[[str], None] | None = None,
        on_wait: Callable[[float], None] | None = None,
        on_log_held: Callable[[], None] | None = None,
    ) -> Engine: ...
    def close(self) -> None: ...
    def use_wal(self) -> None: ...
    def create_schema(self, schema_version: int, schema_id: str | None) -> bool: ...
    def read(self, statement: str, params: Mapping[str, Value]) -> list[Row]: ...
    def change(self, statement: str, params: Mapping[str, Value]) -> int: ...
    def change_and_record(
        self, change: str, record: str, params: Mapping[str, Value], now: int | None
    ) -> int | None: ...
    def backup(
        self, target: str, pages: int, pause_ms: int, progress: Callable[[int, int], None] | None
    ) -> None: ...
    def put_resource(
        self, controller: str, key: str, uid: str, spec_json: str, status_json: str, now: int | None
    ) -> Row: ...
    def update_status(
        self,
        controller: str,
        key: str,
        expected_version: int,
        status_json: str,
        finalizers_json: str | None,
        now: int | None,
    ) -> Row: ...
    def request_deletion(self, controller: str, key: str, now: int | None) -> Row: ...
    def update_finalizers(
        self,
        controller: str,
        key: str,
        expected_version: int,
        finalizers_json: str,
        now: int | None,
    ) -> Row: ...
    def delete_resource(self, controller: str, key: str, expected_version: int) -> bool: ...
    def enqueue(
        self, items: Sequence[tuple[str, str, int | None]], now: int | None
    ) -> list[Exception | None]: ...
    def claim_next(
        self,
        controllers: Sequence[str],
        claim_tokens: Sequence[str],
        lease_ms: int,
        now: int | None,
    ) -> list[Row]: ...
    def renew_claims(
        self, claims: Sequence[tuple[str, str, str]], lease_ms: int, now: int | None
    ) -> list[bool]: ...
    def settle_claims(
        self, claims: Sequence[tuple[str, str, str]], now: int | None
    ) -> list[bool]: ...
    def requeue_claim(
        self, controller: str, key: str, claim_token: str, available_at: int, error: str | None
    ) -> bool: ...
    def reserve_effect(
        self,
        key: str,
        resource_uid: str,
        generation: int,
        kind: str,
        request_fingerprint: str,
        now: int | None,
    ) -> tuple[Row, bool]: ...
    def update_effect(
        self,
        resource_uid: str,
        key: str,
        state: str,
        external_ref: str | None,
        error: str | None,
        now: int | None,
    ) -> Row: ...
    def reserve_request(
        self,
        resource_uid: str,
        request_key: str,
        workflow: str,
        input_fingerprint: str,
        request_id: str,
    ) -> tuple[Row, bool]: ...
    def update_request(
        self,
        request_id: str,
        state: str,
        run_id: str | None,
        set_run_id: bool,
        attempt: int | None,
        error: str | None,
        set_error: bool,
    ) -> Row: ...
    def record_event(
        self, controller: str, key: str, type: str, payload_json: str, now: int | None
    ) -> Row: ...
    # claim_expires_at, created_at, fence: see the protocol.
    def enqueue_runs(self, runs: Sequence[NewRun], now: int | None) -> list[Row | Exception]: ...
    def claim_runs(
        self,
        runner_id: str,
        claim_tokens: Sequence[str],
        lease_ms: int,
        exclude_run_ids: Sequence[str],
        now: int | None,
    ) -> list[Row]: ...
    def renew_runs(
        self, claims: Sequence[tuple[str, str]], lease_ms: int, now: int | None
    ) -> list[bool]: ...
    def verify_run(self, run_id: str, claim_token: str, now: int | None) -> bool: ...
    def park_run(self, run_id: str, claim_token: str, now: int | None) -> bool: ...
    def complete_runs(self, claims: Sequence[tuple[str, str]], now: int | None) -> list[bool]: ...
    def delete_run(self, run_id: str, claim_token: str) -> bool: ...
    def repair_source(
        self,
        run_id: str,
        workflow_name: str,
        workflow_source_ref: str,
        runner_id: str,
        claim_token: str,
        lease_ms: int,
        now: int | None,
    ) -> str | None: ...
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
    ) -> bool: ...
    def record_run_event(
        self,
        run_id: str,
        workflow_ref: str,
        type: str,
        runner_id: str | None,
        payload_json: str,
        now: int | None,
    ) -> int: ...
    def set_watermark(self, session_id: str, seq: int, now: int | None) -> None: ...
