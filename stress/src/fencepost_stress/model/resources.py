"""The reference model of resources, from the specification."""

from __future__ import annotations

from typing import Any

import msgspec

from ..rows import EFFECTS, QUEUE, REQUESTS, RESOURCES, ResourceRow
from ..times import text_of
from .effects import Effects
from .outcome import ANYTHING, REFUSED, Outcome, Prediction, canonical, refused
from .queue import Queue
from .requests import Requests


class Resources:
    """The rows of the resources table, and those that hang on them."""

    def __init__(self, queue: Queue, effects: Effects, requests: Requests) -> None:
        self.rows: dict[tuple[str, str], ResourceRow] = queue.resources
        self._uids = effects.resources
        requests.resources = self._uids
        self._queue = queue
        self._effects = effects
        self._requests = requests

    def write(self, before: ResourceRow | None, after: ResourceRow | None) -> None:
        if after is not None:
            self.rows[after.controller, after.resource_key] = after
            self._uids[after.uid] = after
        elif before is not None:
            self.rows.pop((before.controller, before.resource_key), None)
            self._uids.pop(before.uid, None)

    def put(self, args: dict[str, Any], now: int) -> Outcome:
        place = (args["controller"], args["key"])
        spec = canonical(args["spec"])
        before = self.rows.get(place)
        if before is None:
            after = ResourceRow(
                controller=place[0],
                resource_key=place[1],
                uid=ANYTHING,
                resource_version=1,
                generation=1,
                spec_json=spec,
                status_json=canonical(
                    {
                        "observedGeneration": 0,
                        "conditions": [],
                        "controllerStatus": args["initial_status"],
                    }
                ),
                deletion_timestamp=None,
                finalizers_json="[]",
                updated_at=text_of(now),
            )
        elif before.spec_json == spec:
            return Outcome(record(before))
        else:
            after = before._replace(
                spec_json=spec,
                resource_version=before.resource_version + 1,
                generation=before.generation + 1,
                updated_at=text_of(now),
            )
        changes = (Prediction(RESOURCES, before, after), self._queue.enqueued(place, now))
        return Outcome(record(after), changes)

    def get(self, args: dict[str, Any], _now: int) -> Outcome:
        row = self.rows.get((args["controller"], args["key"]))
        return Outcome(None if row is None else record(row))

    def get_by_uid(self, args: dict[str, Any], _now: int) -> Outcome:
        row = self._uids.get(args["uid"])
        return Outcome(None if row is None else record(row))

    def list(self, args: dict[str, Any], _now: int) -> Outcome:
        names = sorted(name for name in self.rows if name[0] == args["controller"])
        return Outcome([record(self.rows[name]) for name in names[: args["limit"]]])

    def update_status(self, args: dict[str, Any], now: int) -> Outcome:
        before = self._expected(args)
        if isinstance(before, Outcome):
            return before
        given = args["status"]
        status = canonical(
            {
                "observedGeneration": given["observed_generation"],
                "conditions": given.get("conditions", []),
                "controllerStatus": given["controller_status"],
            }
        )
        names = args.get("finalizers")
        finalizers = before.finalizers_json if names is None else canonical(names)
        if (status, finalizers) == (before.status_json, before.finalizers_json):
            return Outcome(record(before))
        return self._next(before, now, status_json=status, finalizers_json=finalizers)

    def update_finalizers(self, args: dict[str, Any], now: int) -> Outcome:
        before = self._expected(args)
        if isinstance(before, Outcome):
            return before
        return self._next(before, now, finalizers_json=canonical(args["finalizers"]))

    def request_deletion(self, args: dict[str, Any], now: int) -> Outcome:
        place = (args["controller"], args["key"])
        before = self.rows.get(place)
        if before is None:
            return refused("resource_not_found")
        enqueued = self._queue.enqueued(place, now)
        if before.deletion_timestamp is not None:
            return Outcome(record(before), (enqueued,))
        marked = self._next(before, now, deletion_timestamp=text_of(now))
        return Outcome(marked.result, (*marked.changes, enqueued))

    def delete(self, args: dict[str, Any], _now: int) -> Outcome:
        row = self.rows.get((args["controller"], args["key"]))
        if row is None:
            return REFUSED
        refusals = set()
        if row.deletion_timestamp is None or row.finalizers_json != "[]":
            refusals.add("not_ready_for_deletion")
        if row.resource_version != args["expected_resource_version"]:
            refusals.add("resource_conflict")
        if refusals:
            return refused(*refusals)
        changes = [Prediction(RESOURCES, row, None)]
        waiting = self._queue.rows.get((row.controller, row.resource_key))
        if waiting is not None:
            changes.append(Prediction(QUEUE, waiting, None))
        changes += [Prediction(EFFECTS, one, None) for one in self._effects.of(row.uid)]
        changes += [Prediction(REQUESTS, one, None) for one in self._requests.of(row.uid)]
        return Outcome(True, tuple(changes), ordered=1)

    def _expected(self, args: dict[str, Any]) -> ResourceRow | Outcome:
        row = self.rows.get((args["controller"], args["key"]))
        if row is None:
            return refused("resource_not_found")
        if row.resource_version != args["expected_resource_version"]:
            return refused("resource_conflict")
        return row

    def _next(self, before: ResourceRow, now: int, **values: Any) -> Outcome:
        after = before._replace(
            resource_version=before.resource_version + 1, updated_at=text_of(now), **values
        )
        return Outcome(record(after), (Prediction(RESOURCES, before, after),))


def record(row: ResourceRow) -> dict[str, Any]:
    """The record that a caller gets for a row."""
    status = msgspec.json.decode(row.status_json)
    metadata: dict[str, Any] = {
        "uid": row.uid,
        "controller": row.controller,
        "key": row.resource_key,
        "resource_version": row.resource_version,
        "generation": row.generation,
        "finalizers": msgspec.json.decode(row.finalizers_json),
    }
    if row.deletion_timestamp is not None:
        metadata["deletion_timestamp"] = row.deletion_timestamp
    return {
        "metadata": metadata,
        "spec": msgspec.json.decode(row.spec_json),
        "status": {
            "observed_generation": status["observedGeneration"],
            "conditions": status["conditions"],
            "controller_status": status["controllerStatus"],
        },
    }
