"""Child requests in the Python engine; see `sql/requests.sql`."""

from __future__ import annotations

from ...errors import refusal
from ..protocol import Row
from .connection import Connection, writes


class Requests(Connection):
    """Operations on the table `workflow_requests`."""

    @writes
    def reserve_request(
        self,
        resource_uid: str,
        request_key: str,
        workflow: str,
        input_fingerprint: str,
        request_id: str,
    ) -> tuple[Row, bool]:
        name = {"resource_uid": resource_uid, "request_key": request_key}
        if self._row("resources.get_by_uid", {"uid": resource_uid}) is None:
            raise refusal("unknown_resource", resource_uid)
        row = self._row("requests.get", name)
        if row is not None:
            if (row[3], row[4]) != (input_fingerprint, workflow):
                raise refusal("workflow_conflict", resource_uid, request_key)
            return row, False
        self._execute(
            "requests.insert",
            {
                **name,
                "request_id": request_id,
                "workflow": workflow,
                "input_fingerprint": input_fingerprint,
            },
        )
        return self._rows("requests.get", name)[0], True

    @writes
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
        changed = self._changes(
            "requests.update",
            {
                "request_id": request_id,
                "state": state,
                "run_id": run_id,
                "set_run_id": set_run_id,
                "attempt": attempt,
                "error": error,
                "set_error": set_error,
            },
        )
        if changed == 0:
            raise refusal("workflow_request_not_found", request_id)
        return self._rows("requests.get_by_id", {"request_id": request_id})[0]
