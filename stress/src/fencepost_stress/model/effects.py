"""The reference model of effects, from the specification."""

from __future__ import annotations

import builtins
from heapq import nsmallest
from typing import Any

from ..rows import EFFECTS, EffectRow, ResourceRow
from ..times import text_of
from .outcome import Outcome, Prediction, refused

FINAL = frozenset({"applied", "rejected"})


class Effects:
    """The rows of the effects table by resource; `resources` holds those by uid."""

    def __init__(self) -> None:
        self.resources: dict[str, ResourceRow] = {}
        self._rows: dict[str, dict[str, EffectRow]] = {}

    def write(self, before: EffectRow | None, after: EffectRow | None) -> None:
        if after is not None:
            self._rows.setdefault(after.resource_uid, {})[after.effect_key] = after
        elif before is not None:
            rows = self._rows.get(before.resource_uid, {})
            rows.pop(before.effect_key, None)
            if not rows:
                self._rows.pop(before.resource_uid, None)

    def of(self, uid: str) -> builtins.list[EffectRow]:
        """The effects of a resource."""
        return list(self._rows.get(uid, {}).values())

    def reserve(self, args: dict[str, Any], now: int) -> Outcome:
        uid, key = args["resource_uid"], args["key"]
        if uid not in self.resources:
            return refused("unknown_resource")
        row = self._rows.get(uid, {}).get(key)
        asked = (args["generation"], args["kind"], args["request_fingerprint"])
        if row is not None:
            if (row.generation, row.kind, row.request_fingerprint) != asked:
                return refused("effect_conflict")
            return Outcome({"record": record(row), "created": False})
        generation, kind, fingerprint = asked
        stamp = text_of(now)
        after = EffectRow(
            key, uid, generation, kind, "pending", fingerprint, stamp, None, None, None
        )
        return Outcome(
            {"record": record(after), "created": True}, (Prediction(EFFECTS, None, after),)
        )

    def update(self, args: dict[str, Any], now: int) -> Outcome:
        row = self._rows.get(args["resource_uid"], {}).get(args["key"])
        if row is None:
            return refused("effect_not_found")
        state, reference = args["state"], args.get("external_ref")
        if row.state in FINAL and row.state != state:
            return refused("effect_terminal")
        after = row._replace(
            state=state,
            external_ref=row.external_ref if reference is None else reference,
            error=args.get("error"),
            completed_at=text_of(now) if state in FINAL else None,
        )
        return Outcome(record(after), (Prediction(EFFECTS, row, after),))

    def get(self, args: dict[str, Any], _now: int) -> Outcome:
        row = self._rows.get(args["resource_uid"], {}).get(args["key"])
        return Outcome(None if row is None else record(row))

    def list(self, args: dict[str, Any], _now: int) -> Outcome:
        rows = self._rows.get(args["resource_uid"], {}).values()
        first = nsmallest(args["limit"], rows, key=lambda row: (row.started_at, row.effect_key))
        return Outcome([record(row) for row in first])


def record(row: EffectRow) -> dict[str, Any]:
    """The record that a caller gets for a row; absent members are absent."""
    shown: dict[str, Any] = row._asdict()
    shown = {"key": shown.pop("effect_key"), **shown}
    optional = {"completed_at", "external_ref", "error"}
    return {
        name: value for name, value in shown.items() if value is not None or name not in optional
    }
