"""The reference model of runs, written from the specification."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from ..rows import RUNS, RunRow
from ..times import text_of
from .order import ClaimOrder, claimable, lives
from .outcome import ANYTHING, REFUSED, Outcome, Prediction, canonical, refused


class Runs:
    """The rows of the runs table, and the rule of each operation on them."""

    def __init__(self) -> None:
        self.rows: dict[str, RunRow] = {}
        self._inserted: dict[str, int] = {}
        self._insertions = 0
        self._continuations: dict[str, str] = {}
        self._open: dict[str, RunRow] = {}
        self._order = ClaimOrder(self.rows, self._inserted)

    # The state follows the witness.

    def write(self, before: RunRow | None, after: RunRow | None) -> None:
        if after is None:
            if before is not None:
                self._remove(before)
            return
        if after.run_id not in self.rows:
            self._insertions += 1
            self._inserted[after.run_id] = self._insertions
            if after.parent_run_id:
                self._continuations[after.parent_run_id] = after.run_id
        self.rows[after.run_id] = after
        if after.status == "done":
            self._open.pop(after.run_id, None)
        else:
            self._open[after.run_id] = after
        self._order.note(after)

    def _remove(self, row: RunRow) -> None:
        self.rows.pop(row.run_id, None)
        self._open.pop(row.run_id, None)
        self._inserted.pop(row.run_id, None)
        if row.parent_run_id and self._continuations.get(row.parent_run_id) == row.run_id:
            del self._continuations[row.parent_run_id]

    def any_claimable(self, now: int, excluded: Collection[str]) -> bool:
        """Whether somebody who claims now, for no runner in particular, would get a run."""
        return self._order.first("", now, excluded) is not None

    # The operations.

    def enqueue(self, args: dict[str, Any], now: int) -> Outcome:
        refusals = set()
        if args["run_id"] in self.rows:
            refusals.add("run_exists")
        parent = args.get("parent_run_id")
        if parent is not None and parent in self._continuations:
            refusals.add("continuation_exists")
        if refusals:
            return refused(*refusals)
        affinity = args.get("affinity_runner_id")
        row = RunRow(
            run_id=args["run_id"],
            workflow_ref=args["workflow_name"],
            workflow_path=args["workflow_source_ref"],
            input_json=canonical(args.get("input")),
            status="claimed",
            runner_id=args["runner_id"],
            claim_token=args["claim_token"],
            claim_expires_at=now + args["lease_ms"],
            affinity_runner_id=args["runner_id"] if affinity is None else affinity,
            parent_run_id=parent,
            created_at=text_of(now),
            updated_at=text_of(now),
        )
        return Outcome(record(row), (Prediction(RUNS, None, row),))

    def claim_next(self, args: dict[str, Any], now: int) -> Outcome:
        row = self._order.first(args["runner_id"], now, frozenset(args.get("exclude_run_ids", ())))
        if row is None:
            return Outcome(result=None)
        after = row._replace(
            status="claimed",
            runner_id=args["runner_id"],
            claim_token=args.get("claim_token", ANYTHING),
            claim_expires_at=now + args["lease_ms"],
            updated_at=text_of(now),
        )
        return Outcome(record(after), (Prediction(RUNS, row, after),))

    def renew(self, args: dict[str, Any], now: int) -> Outcome:
        row = self._live(args, now)
        if row is None:
            return REFUSED
        after = row._replace(claim_expires_at=now + args["lease_ms"])
        return Outcome(True, (Prediction(RUNS, row, after),))

    def verify(self, args: dict[str, Any], now: int) -> Outcome:
        return Outcome(self._live(args, now) is not None)

    def park(self, args: dict[str, Any], now: int) -> Outcome:
        return self._end(args, now, "parked")

    def complete(self, args: dict[str, Any], now: int) -> Outcome:
        return self._end(args, now, "done")

    def delete(self, args: dict[str, Any], _now: int) -> Outcome:
        row = self.rows.get(args["run_id"])
        if row is None or row.claim_token != args["claim_token"]:
            return REFUSED
        return Outcome(True, (Prediction(RUNS, row, None),))

    def get(self, args: dict[str, Any], _now: int) -> Outcome:
        row = self.rows.get(args["run_id"])
        return Outcome(None if row is None else record(row))

    def list(self, args: dict[str, Any], _now: int) -> Outcome:
        """Of those that are not done."""
        found = [row for row in self._open.values() if row.status == args["status"]]
        found.sort(key=lambda row: (row.created_at, self._inserted[row.run_id]))
        return Outcome([record(row) for row in found[: args["limit"]]])

    def repair_source(self, args: dict[str, Any], now: int) -> Outcome:
        row = self.rows.get(args["run_id"])
        if row is None:
            return REFUSED
        if row.status == "parked" and row.workflow_path == args["workflow_source_ref"]:
            return Outcome("unchanged")
        return self._claim_source(row, args, now, "claimed")

    def claim_legacy_source(self, args: dict[str, Any], now: int) -> Outcome:
        row = self.rows.get(args["run_id"])
        sources = (args["old_workflow_path"], args["workflow_source_ref"])
        if row is None or row.workflow_path not in sources:
            return REFUSED
        return self._claim_source(row, args, now, True)

    # Their parts.

    def _claim_source(self, row: RunRow, args: dict[str, Any], now: int, result: Any) -> Outcome:
        mine = row.status == "claimed" and row.claim_token == args["claim_token"]
        if not mine and not claimable(row, now):
            return REFUSED
        after = row._replace(
            workflow_ref=args["workflow_name"],
            workflow_path=args["workflow_source_ref"],
            status="claimed",
            runner_id=args["runner_id"],
            claim_token=args["claim_token"],
            claim_expires_at=now + args["lease_ms"],
            updated_at=text_of(now),
        )
        return Outcome(result, (Prediction(RUNS, row, after),))

    def _held(self, args: dict[str, Any]) -> RunRow | None:
        row = self.rows.get(args["run_id"])
        if row is None or row.status != "claimed" or row.claim_token != args["claim_token"]:
            return None
        return row

    def _live(self, args: dict[str, Any], now: int) -> RunRow | None:
        row = self._held(args)
        return row if row is not None and lives(row, now) else None

    def _end(self, args: dict[str, Any], now: int, status: str) -> Outcome:
        row = self._held(args)
        if row is None:
            return REFUSED
        after = row._replace(
            status=status,
            runner_id=None,
            claim_token=None,
            claim_expires_at=None,
            updated_at=text_of(now),
        )
        return Outcome(True, (Prediction(RUNS, row, after),))


def record(row: RunRow) -> dict[str, Any]:
    """The record that a caller gets for a row; absent members are absent."""
    shown: dict[str, Any] = {
        "run_id": row.run_id,
        "workflow_name": row.workflow_ref,
        "workflow_source_ref": row.workflow_path,
        "input": msgspec.json.decode(row.input_json),
        "status": row.status,
        "runner_id": row.runner_id,
        "claim_token": row.claim_token,
        "claim_expires_at": None if row.claim_expires_at is None else text_of(row.claim_expires_at),
        "affinity_runner_id": row.affinity_runner_id,
        "parent_run_id": row.parent_run_id,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }
    return {name: value for name, value in shown.items() if value is not None or name == "input"}
