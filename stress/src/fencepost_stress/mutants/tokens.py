"""Mutants of what a claim's token allows."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.engine.protocol import NewRun, Row, Value
from fencepost.engine.python.connection import writes

from .base import Mutant

_COMPLETE_ANY = """
UPDATE workflow_run_queue
SET status = 'done', runner_id = NULL, claim_token = NULL, claim_expires_at = NULL,
  updated_at = :updated_at
WHERE run_id = :run_id AND status = 'claimed'
"""
_COMPLETE_OF_RUNNER = f"{_COMPLETE_ANY} AND runner_id = :runner_id"
_RENEW_EXPIRED = """
UPDATE workflow_run_queue
SET claim_expires_at = :claim_expires_at
WHERE run_id = :run_id AND claim_token = :claim_token AND status = 'claimed'
"""
_VERIFY_EXPIRED = """
SELECT 1 FROM workflow_run_queue
WHERE run_id = :run_id AND claim_token = :claim_token AND status = 'claimed'
"""
_REVIVE = """
UPDATE workflow_run_queue
SET status = 'claimed', claim_token = :claim_token, claim_expires_at = :claim_expires_at
WHERE run_id = :run_id AND status = 'parked'
"""


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


class CompleteByRunner(Mutant):
    name = "complete-by-runner"
    bug = "the completion asks for the runner's id, not the token: an old claim of the same runner"
    killers = ("F2",)
    workload = "runs"
    _runner = ""

    def enqueue_runs(self, runs: Sequence[NewRun], now: int | None) -> list[Row | Exception]:
        self._runner = runs[0][4]
        return super().enqueue_runs(runs, now)

    def claim_runs(
        self,
        runner_id: str,
        claim_tokens: Sequence[str],
        lease_ms: int,
        exclude_run_ids: Sequence[str],
        now: int | None,
    ) -> list[Row]:
        self._runner = runner_id
        return super().claim_runs(runner_id, claim_tokens, lease_ms, exclude_run_ids, now)

    @writes
    def complete_runs(self, claims: Sequence[tuple[str, str]], now: int | None) -> list[bool]:
        _, stamp = self._stamp(now)
        self.reached()
        values = {"runner_id": self._runner, "updated_at": stamp}
        return [
            self.run_sql(_COMPLETE_OF_RUNNER, {**values, "run_id": run_id}) == 1
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


class VerifyExpired(Mutant):
    name = "verify-without-expiry-check"
    bug = "the verification looks at the token only, so a worker trusts a lease that has ended"
    killers = ("F3",)

    def verify_run(self, run_id: str, claim_token: str, now: int | None) -> bool:
        def verify() -> bool:
            self._now(now)
            values = {"run_id": run_id, "claim_token": claim_token}
            return self._connection().execute(_VERIFY_EXPIRED, values).fetchone() is not None

        self.reached()
        return self._read(verify)


class RenewRevives(Mutant):
    name = "renew-revives-parked"
    bug = "the renewal takes a parked run for one that lost its lease, and claims it again"
    killers = ("F2",)
    workload = "runs"

    @writes
    def renew_runs(
        self, claims: Sequence[tuple[str, str]], lease_ms: int, now: int | None
    ) -> list[bool]:
        ms = self._now(now)
        expires_at = self._lease_end(ms, lease_ms)
        return [self._renew(run_id, token, ms, expires_at) for run_id, token in claims]

    def _renew(self, run_id: str, claim_token: str, now: int, expires_at: int) -> bool:
        values: dict[str, Value] = {
            "run_id": run_id,
            "claim_token": claim_token,
            "claim_expires_at": expires_at,
        }
        if self._changes("runs.renew", {**values, "now": now}) == 1:
            return True
        self.reached()
        return self.run_sql(_REVIVE, values) == 1
