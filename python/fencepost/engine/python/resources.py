"""Resources in the Python engine; see `sql/resources.sql`."""

from __future__ import annotations

from ...errors import refusal
from ..protocol import Row
from .connection import writes
from .queue import Queue


class Resources(Queue):
    """Operations on the table `resources`; a new spec or a deletion also enqueues."""

    @writes
    def put_resource(
        self, controller: str, key: str, uid: str, spec_json: str, status_json: str, now: int | None
    ) -> Row:
        name = {"controller": controller, "key": key}
        ms, stamp = self._stamp(now)
        row = self._row("resources.get", name)
        values = {**name, "uid": uid, "spec_json": spec_json, "status_json": status_json}
        if row is None:
            self._execute("resources.insert", {**values, "updated_at": stamp})
        elif row[5] != spec_json:
            self._execute("resources.set_spec", {**values, "updated_at": stamp})
        else:
            return row
        self._enqueue_row(controller, key, ms)
        return self._resource(controller, key)

    @writes
    def update_status(
        self,
        controller: str,
        key: str,
        expected_version: int,
        status_json: str,
        finalizers_json: str | None,
        now: int | None,
    ) -> Row:
        _, stamp = self._stamp(now)
        row = self._expected_resource(controller, key, expected_version)
        wanted = row[8] if finalizers_json is None else finalizers_json
        if row[6] == status_json and row[8] == wanted:
            return row
        self._execute(
            "resources.set_status",
            {
                "controller": controller,
                "key": key,
                "status_json": status_json,
                "finalizers_json": wanted,
                "updated_at": stamp,
            },
        )
        return self._resource(controller, key)

    @writes
    def request_deletion(self, controller: str, key: str, now: int | None) -> Row:
        ms, stamp = self._stamp(now)
        self._resource(controller, key)
        self._execute(
            "resources.set_deletion",
            {"controller": controller, "key": key, "updated_at": stamp},
        )
        self._enqueue_row(controller, key, ms)
        return self._resource(controller, key)

    @writes
    def update_finalizers(
        self,
        controller: str,
        key: str,
        expected_version: int,
        finalizers_json: str,
        now: int | None,
    ) -> Row:
        _, stamp = self._stamp(now)
        self._expected_resource(controller, key, expected_version)
        self._execute(
            "resources.set_finalizers",
            {
                "controller": controller,
                "key": key,
                "finalizers_json": finalizers_json,
                "updated_at": stamp,
            },
        )
        return self._resource(controller, key)

    @writes
    def delete_resource(self, controller: str, key: str, expected_version: int) -> bool:
        name = {"controller": controller, "key": key}
        row = self._row("resources.get", name)
        if row is None:
            return False
        if row[7] is None or row[8] != "[]":
            raise refusal("not_ready_for_deletion", controller, key)
        self._expected_resource(controller, key, expected_version)
        self._execute("resources.delete", name)
        return True

    def _resource(self, controller: str, key: str) -> Row:
        row = self._row("resources.get", {"controller": controller, "key": key})
        if row is None:
            raise refusal("resource_not_found", controller, key)
        return row

    def _expected_resource(self, controller: str, key: str, expected_version: int) -> Row:
        row = self._resource(controller, key)
        if row[3] != expected_version:
            raise refusal("resource_conflict", controller, key, expected_version, row[3])
        return row
