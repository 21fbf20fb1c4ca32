"""Mutants of the run queue."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fencepost.engine.protocol import NewRun, Row, Value
from fencepost.engine.python.connection import writes
from fencepost.errors import refusal

from .base import Mutant

_CLAIM_UNGUARDED = """
UPDATE workflow_run_queue
SET status = 'claimed', runner_id = :runner_id, claim_token = :claim_token,
  claim_expires_at = :claim_expires_at, updated_at = :updated_at
WHERE run_id = :run_id
"""
_COMPLETE_ANY = """
UPDATE workflow_run_queue
SET status = 'done', runner_id = NULL, claim_token = NULL, claim_expires_at = NULL,
  updated_at = :updated_at
WHERE run_id = :run_id AND status = 'claimed'
"""
_RENEW_EXPIRED = """
UPDATE workflow_run_queue
SET claim_expires_at = :claim_expires_at
WHERE run_id = :run_id AND claim_token = :claim_token AND status = 'claimed'
"""
_FIRST_PARKED = """
SELECT run_id FROM workflow_run_queue WHERE status = 'parked' ORDER BY created_at, rowid
"""
_HAS_SCHEMA = "SELECT 1 FROM sqlite_schema WHERE name = 'schema_info'"


class ClaimWithoutGuard(Mutant):
    name = "claim-without-guard"
    bug = "the claim selects a run, then updates it by id alone, in two transactions"
    killers = ("F1",)

    def claim_runs(
        self,
        runner_id: str,
        claim_tokens: Sequence[str],
        lease_ms: int,
        exclude_run_ids: Sequence[str],
        now: int | None,
    ) -> list[Row]:
        run_id = self._look(runner_id, frozenset(exclude_run_ids), now)
        if run_id is None:
            return []
        self.reached()
        return self._claim_anyway(run_id, runner_id, claim_tokens[0], lease_ms, now)

    @writes
    def _look(self, runner_id: str, excluded: Collection[str], now: int | None) -> str | None:
        return self._first_claimable(runner_id, self._now(now), excluded)

    @writes
    def _claim_anyway(
        self, run_id: str, runner_id: str, claim_token: str, lease_ms: int, now: int | None
    ) -> list[Row]:
        ms, stamp = self._stamp(now)
        self.run_sql(
            _CLAIM_UNGUARDED,
            {
                "run_id": run_id,
                "runner_id": runner_id,
                "claim_token": claim_token,
                "claim_expires_at": self._lease_end(ms, lease_ms),
                "updated_at": stamp,
            },
        )
        return self._rows("runs.get", {"run_id": run_id})


class CompleteWithoutToken(Mutant):
    name = "complete-without-token"
    bug = "the completion looks at the run's id only, so a worker that lost its claim completes it"
    killers = ("F2",)

    @writes
    def complete_runs(self, claims: Sequence[tuple[str, str]], now: int | None) -> list[bool]:
        _, stamp = self._stamp(now)
        self.reached()
        return [
            self.run_sql(_COMPLETE_ANY, {"run_id": run_id, "updated_at": stamp}) == 1
            for run_id, _ in claims
        ]


class RenewExpired(Mutant):
    name = "renew-without-expiry-check"
    bug = "the renewal looks at the token only, so a lease that has ended comes back to life"
    killers = ("F3",)

    @writes
    def renew_runs(
        self, claims: Sequence[tuple[str, str]], lease_ms: int, now: int | None
    ) -> list[bool]:
        expires_at = self._lease_end(self._now(now), lease_ms)
        self.reached()
        return [
            self.run_sql(
                _RENEW_EXPIRED,
                {"run_id": run_id, "claim_token": token, "claim_expires_at": expires_at},
            )
            == 1
            for run_id, token in claims
        ]


class ExpiredNeverReclaimed(Mutant):
    name = "expired-never-reclaimable"
    bug = "the claim looks at parked runs only, so the runs of dead workers are stranded"
    killers = ("S1",)

    def _first_claimable(self, runner_id: str, now: int, excluded: Collection[str]) -> str | None:  # noqa: ARG002
        self.reached()
        cursor = self._connection().execute(_FIRST_PARKED)
        try:
            return next((str(row[0]) for row in cursor if row[0] not in excluded), None)
        finally:
            cursor.close()


class NoUniqueParent(Mutant):
    name = "no-unique-parent"
    bug = "the parent's index is not unique, and the check in code is made before the insertion"
    killers = ("C1",)

    def create_schema(self) -> list[str]:
        if self._read(lambda: self._connection().execute(_HAS_SCHEMA).fetchone()) is not None:
            # The store would make the index anew.
            return []
        foreign = super().create_schema()
        self._write(lambda: self.run_sql("DROP INDEX workflow_run_queue_parent", {}))
        return foreign

    def enqueue_runs(self, runs: Sequence[NewRun], now: int | None) -> list[Row | Exception]:
        parent = runs[0][-1]
        if parent is not None:
            found = self.read("runs.continuation", {"parent_run_id": parent})
            if found:
                return [refusal("continuation_exists", parent, found[0][0])]
        return super().enqueue_runs(runs, now)

    def _row(self, name: str, params: Mapping[str, Value]) -> Row | None:
        if name == "runs.continuation":
            # It was looked for before the transaction began.
            self.reached()
            return None
        return super()._row(name, params)
