"""The reference model of child requests, from the specification."""

from __future__ import annotations

import builtins
from itertools import islice
from typing import Any

from ..rows import REQUESTS, RequestRow, ResourceRow
from .outcome import ANYTHING, Outcome, Prediction, refused


class Requests:
    """The rows of the requests table; `resources` holds the resources by uid."""

    def __init__(self) -> None:
        self.resources: dict[str, ResourceRow] = {}
        self._rows: dict[str, RequestRow] = {}
        self._ids: dict[str, dict[str, str]] = {}

    def write(self, before: RequestRow | None, after: RequestRow | None) -> None:
        if after is not None:
            self._rows[after.request_id] = after
            self._ids.setdefault(after.resource_uid, {})[after.request_key] = after.request_id
        elif before is not None:
            self._rows.pop(before.request_id, None)
            ids = self._ids.get(before.resource_uid, {})
            ids.pop(before.request_key, None)
            if not ids:
                self._ids.pop(before.resource_uid, None)

    def of(self, uid: str) -> builtins.list[RequestRow]:
        """The requests of a resource."""
        return [self._rows[request_id] for request_id in self._ids.get(uid, {}).values()]

    def reserve(self, args: dict[str, Any], _now: int) -> Outcome:
        uid, key = args["resource_uid"], args["request_key"]
        workflow, fingerprint = args["workflow"], args["input_fingerprint"]
        if uid not in self.resources:
            return refused("unknown_resource")
        present = self._ids.get(uid, {}).get(key)
        if present is not None:
            row = self._rows[present]
            if (row.input_fingerprint, row.workflow) != (fingerprint, workflow):
                return refused("workflow_conflict")
            return Outcome({"record": record(row), "created": False})
        after = RequestRow(ANYTHING, uid, key, fingerprint, workflow, None, "pending", 0, None)
        return Outcome(
            {"record": record(after), "created": True}, (Prediction(REQUESTS, None, after),)
        )

    def update(self, args: dict[str, Any], _now: int) -> Outcome:
        row = self._rows.get(args["request_id"])
        if row is None:
            return refused("workflow_request_not_found")
        given = {
            name: args[name] for name in ("state", "run_id", "attempt", "error") if name in args
        }
        after = row._replace(**given)
        return Outcome(record(after), (Prediction(REQUESTS, row, after),))

    def get(self, args: dict[str, Any], _now: int) -> Outcome:
        present = self._ids.get(args["resource_uid"], {}).get(args["request_key"])
        return Outcome(None if present is None else record(self._rows[present]))

    def get_by_id(self, args: dict[str, Any], _now: int) -> Outcome:
        row = self._rows.get(args["request_id"])
        return Outcome(None if row is None else record(row))

    def list(self, args: dict[str, Any], _now: int) -> Outcome:
        ids = self._ids.get(args["resource_uid"], {}).values()
        return Outcome([record(self._rows[one]) for one in islice(ids, args["limit"])])


def record(row: RequestRow) -> dict[str, Any]:
    """The record that a caller gets for a row; absent members are absent."""
    optional = {"run_id", "error"}
    return {
        name: value
        for name, value in row._asdict().items()
        if value is not None or name not in optional
    }
