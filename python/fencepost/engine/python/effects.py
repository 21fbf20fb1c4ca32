"""Effects in the Python engine; see `sql/effects.sql`."""

from __future__ import annotations

from ...errors import refusal
from ..protocol import Row
from .connection import Connection, writes

_FINAL = ("applied", "rejected")


class Effects(Connection):
    """Operations on the table `effects`."""

    @writes
    def reserve_effect(
        self,
        key: str,
        resource_uid: str,
        generation: int,
        kind: str,
        request_fingerprint: str,
        now: int | None,
    ) -> tuple[Row, bool]:
        name = {"resource_uid": resource_uid, "key": key}
        _, stamp = self._stamp(now)
        if self._row("resources.get_by_uid", {"uid": resource_uid}) is None:
            raise refusal("unknown_resource", resource_uid)
        row = self._row("effects.get", name)
        if row is not None:
            if (row[2], row[3], row[5]) != (generation, kind, request_fingerprint):
                raise refusal("effect_conflict", resource_uid, key)
            return row, False
        self._execute(
            "effects.insert",
            {
                **name,
                "generation": generation,
                "kind": kind,
                "request_fingerprint": request_fingerprint,
                "started_at": stamp,
            },
        )
        return self._rows("effects.get", name)[0], True

    @writes
    def update_effect(
        self,
        resource_uid: str,
        key: str,
        state: str,
        external_ref: str | None,
        error: str | None,
        now: int | None,
    ) -> Row:
        name = {"resource_uid": resource_uid, "key": key}
        _, stamp = self._stamp(now)
        row = self._row("effects.get", name)
        if row is None:
            raise refusal("effect_not_found", resource_uid, key)
        if row[4] in _FINAL and row[4] != state:
            raise refusal("effect_terminal", resource_uid, key, row[4])
        self._execute(
            "effects.update",
            {
                **name,
                "state": state,
                "external_ref": external_ref,
                "error": error,
                "completed_at": stamp if state in _FINAL else None,
            },
        )
        return self._rows("effects.get", name)[0]
