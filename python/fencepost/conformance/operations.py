"""The operations under the names that the vectors use."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ..layout import expected_columns
from ..records.base import Record
from ..store import Store, engine_of

METHODS: dict[str, tuple[str, str]] = {
    "put_resource": ("resources", "put"),
    "get_resource": ("resources", "get"),
    "get_resource_by_uid": ("resources", "get_by_uid"),
    "list_resources": ("resources", "list"),
    "update_status": ("resources", "update_status"),
    "request_deletion": ("resources", "request_deletion"),
    "update_finalizers": ("resources", "update_finalizers"),
    "delete_resource": ("resources", "delete"),
    "enqueue": ("queue", "enqueue"),
    "claim_next": ("queue", "claim_next"),
    "renew_claim": ("queue", "renew"),
    "settle_claim": ("queue", "settle"),
    "requeue_claim": ("queue", "requeue"),
    "list_queue": ("queue", "list"),
    "reserve_effect": ("effects", "reserve"),
    "get_effect": ("effects", "get"),
    "update_effect": ("effects", "update"),
    "list_effects": ("effects", "list"),
    "reserve_workflow": ("requests", "reserve"),
    "get_workflow": ("requests", "get"),
    "get_workflow_by_request_id": ("requests", "get_by_id"),
    "update_workflow": ("requests", "update"),
    "list_workflows": ("requests", "list"),
    "record_event": ("events", "record"),
    "list_events": ("events", "list"),
    "enqueue_workflow_run": ("runs", "enqueue"),
    "get_workflow_run": ("runs", "get"),
    "list_workflow_runs": ("runs", "list"),
    "claim_next_workflow_run": ("runs", "claim_next"),
    "renew_workflow_run_claim": ("runs", "renew"),
    "verify_workflow_run_claim": ("runs", "verify"),
    "park_workflow_run": ("runs", "park"),
    "complete_workflow_run": ("runs", "complete"),
    "delete_workflow_run": ("runs", "delete"),
    "repair_canonical_workflow_source_run": ("runs", "repair_source"),
    "claim_legacy_workflow_source_run": ("runs", "claim_legacy_source"),
    "record_run_event": ("feed", "record"),
    "list_run_events_after": ("feed", "after"),
    "latest_run_event_seq": ("feed", "latest_seq"),
    "get_session_watermark": ("feed", "watermark"),
    "set_session_watermark": ("feed", "set_watermark"),
}


def call(store: Store, op: str, args: Mapping[str, Any]) -> Any:
    """Do one operation of the vectors; the result as plain JSON values.

    Raises what the facet's method raises, ValueError for an unknown operation or argument.
    """
    if op not in METHODS:
        raise ValueError(f"there is no operation {op!r}")
    facet, name = METHODS[op]
    method = getattr(getattr(store, facet), name)
    try:
        inspect.signature(method).bind(**args)
    except TypeError as error:
        raise ValueError(f"{op}: {error}") from None
    return plain(method(**args))


def plain(result: Any) -> Any:
    """A result as plain JSON values, without the members beyond the shared format."""
    if isinstance(result, Record):
        members = result.to_dict()
        members.pop("fence", None)
        return members
    if isinstance(result, list):
        return [plain(item) for item in result]
    return result


def dump(store: Store) -> dict[str, list[dict[str, Any]]]:
    """Every shared table, rows in insertion order, values as SQLite holds them."""
    return {
        table: [
            dict(zip(columns, row, strict=True))
            for row in engine_of(store).read(f"dump.{table}", {})
        ]
        for table, columns in expected_columns().items()
    }
