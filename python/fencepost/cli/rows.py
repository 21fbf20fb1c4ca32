"""Rows of the shared tables as plain values, and the rules that a sound row keeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .. import validation
from ..canonical import parse_json
from ..clock import iso_from_ms, ms_from_time
from ..engine.protocol import Engine
from ..errors import InvalidArgumentError
from ..layout import expected_columns
from ..records import ResourceStatus
from ..shown import shown

TABLES = tuple(table for table in expected_columns() if table != "schema_info")
_PAGE = 500
_STATES = {
    ("workflow_run_queue", "status"): ("claimed", "parked", "done"),
    ("effects", "state"): ("pending", "applied", "rejected", "indeterminate"),
    ("workflow_requests", "state"): (
        "pending",
        "running",
        "waiting",
        "succeeded",
        "failed",
        "interrupted",
    ),
}
_POSITIVE = {"resource_version", "generation", "version", "claim_version", "seq"}
_COUNTS = {"consecutive_errors", "attempt", "last_event_seq"}
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)

Row = Mapping[str, Any]


def pages(engine: Engine, table: str) -> Iterator[dict[str, Any]]:
    """The rows of a table in insertion order, read page by page."""
    columns = tuple(expected_columns()[table])
    after = -(2**63)
    while rows := engine.read(f"dump.page_{table}", {"after": after, "limit": _PAGE}):
        for row in rows:
            yield dict(zip(columns, row[1:], strict=True))
        after = rows[-1][0]


def problem(table: str, row: Row) -> str | None:
    """Which rule of the shared format the row breaks, or None."""
    for column, (kind, not_null, place) in expected_columns()[table].items():
        value = row[column]
        if value is None:
            if not_null or place:
                return f"{_name(table, row)}: {column} is null"
            continue
        if type(value) is not (int if kind == "INTEGER" else str):
            return f"{_name(table, row)}: {column} holds {shown(value)}"
        try:
            _check(table, column, value)
        except InvalidArgumentError as error:
            return f"{_name(table, row)}: {error}"
        except (ValueError, RecursionError) as error:
            return f"{_name(table, row)}: {column}: {error}"
    return None


def _name(table: str, row: Row) -> str:
    keys = [column for column, (_, _, place) in expected_columns()[table].items() if place]
    return "/".join(str(row[key])[:60] for key in keys)


def _check(table: str, column: str, value: Any) -> None:
    states = _STATES.get((table, column))
    if states is not None:
        validation.choice(value, column, states)
    elif column.endswith("_json"):
        _check_json(column, value)
    elif column in _POSITIVE:
        validation.integer(value, column, least=1, most=2**63 - 1)
    elif column in _COUNTS:
        validation.integer(value, column, most=2**63 - 1)
    elif column in ("available_at", "claim_expires_at"):
        iso_from_ms(value)
    elif column.endswith("_at") or column == "deletion_timestamp":
        _check_stamp(column, value)
    else:
        _RULES.get((table, column), validation.text)(value, column)


def _check_json(column: str, text: str) -> None:
    value = parse_json(text)
    if column == "status_json":
        ResourceStatus.from_stored(value)
    elif column == "finalizers_json":
        validation.finalizers(value)
    elif column == "payload_json":
        validation.payload(value)


def _check_stamp(column: str, text: str) -> None:
    # Years past 9999 have a sign, which the other store can write.
    if _STAMP.fullmatch(text) is None and text[:1] not in "+-":
        raise InvalidArgumentError(f"{column}: {text[:60]!r} is no time as the store writes it")
    if _STAMP.fullmatch(text) is not None:
        ms_from_time(text, column)


_Rule = Callable[[object, str], object]
_RULES: dict[tuple[str, str], _Rule] = {
    ("resources", "controller"): validation.name,
    ("resources", "resource_key"): validation.key,
    ("queue", "controller"): validation.name,
    ("queue", "resource_key"): validation.key,
    ("queue", "claim_token"): validation.key,
    ("workflow_run_queue", "run_id"): validation.run_id,
    ("workflow_run_queue", "workflow_ref"): validation.key,
    ("workflow_run_queue", "workflow_path"): validation.key,
    ("workflow_run_queue", "runner_id"): validation.key,
    ("workflow_run_queue", "claim_token"): validation.key,
    ("workflow_run_queue", "affinity_runner_id"): validation.key,
    ("workflow_run_queue", "parent_run_id"): validation.run_id,
    ("run_events", "run_id"): validation.run_id,
    ("run_events", "workflow_ref"): validation.key,
    ("run_events", "type"): validation.key,
    ("run_events", "runner_id"): validation.key,
    ("session_watermarks", "session_id"): validation.key,
    ("effects", "effect_key"): validation.key,
    ("effects", "kind"): validation.name,
    ("workflow_requests", "request_key"): validation.key,
    ("workflow_requests", "workflow"): validation.key,
    ("events", "controller"): validation.name,
    ("events", "resource_key"): validation.key,
    ("events", "type"): validation.name,
}
