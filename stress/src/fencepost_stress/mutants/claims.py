"""Mutants of claiming a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from fencepost.engine.protocol import MAX_TIME_MS, NewRun, Row, Value
from fencepost.engine.python.connection import writes
from fencepost.engine.python.runs import Found

from .base import Mutant

AHEAD_MS = 400
GRACE_MS = 2500

_CLAIM_UNGUARDED = """
UPDATE workflow_run_queue
SET status = 'claimed', runner_id = :runner_id, claim_token = :claim_token,
  claim_expires_at = :claim_expires_at, updated_at = :updated_at
WHERE run_id = :run_id
"""
_TAKE_OVER = """
UPDATE workflow_run_queue
SET status = 'claimed', runner_id = :runner_id,
  claim_token = coalesce(claim_token, :claim_token),
  claim_expires_at = :claim_expires_at, updated_at = :updated_at
WHERE run_id = :run_id
"""
_FIRST_PARKED = """
SELECT rowid, run_id FROM workflow_run_queue WHERE status = 'parked' ORDER BY created_at, rowid
"""
_LIVE_OF_RUNNER = """
SELECT rowid, run_id FROM workflow_run_queue
WHERE status = 'claimed' AND runner_id = :runner_id AND claim_expires_at > :now LIMIT 1
"""


class _InTwoTransactions(Mutant):
    """Looks for a run in one transaction, and claims it in another."""

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
        self.let_others_in()
        return self._take(run_id, runner_id, claim_tokens[0], lease_ms, now)

    @writes
    def _look(self, runner_id: str, excluded: Collection[str], now: int | None) -> str | None:
        found = self._claimable_runs(runner_id, self._now(now), excluded, 1)
        return found[0][1] if found else None

    def _take(
        self, run_id: str, runner_id: str, claim_token: str, lease_ms: int, now: int | None
    ) -> list[Row]:
        raise NotImplementedError


class ClaimWithoutGuard(_InTwoTransactions):
    name = "claim-without-guard"
    bug = "the claim selects a run, then updates it by its id alone, whoever has it by then"
    killers = ("F1",)

    @writes
    def _take(
        self, run_id: str, runner_id: str, claim_token: str, lease_ms: int, now: int | None
    ) -> list[Row]:
        self.run_sql(
            _CLAIM_UNGUARDED, self._claim_values(run_id, runner_id, claim_token, lease_ms, now)
        )
        return self._rows("runs.get", {"run_id": run_id})


class PeekThenClaim(_InTwoTransactions):
    name = "peek-then-claim"
    bug = "the claim peeks first; its update is guarded, but nobody looks whether it changed a row"
    killers = ("D1",)

    @writes
    def _take(
        self, run_id: str, runner_id: str, claim_token: str, lease_ms: int, now: int | None
    ) -> list[Row]:
        values = self._claim_values(run_id, runner_id, claim_token, lease_ms, now)
        self._execute("runs.claim", values)
        # The record is made from what was asked for, not from what is there.
        mine = ("claimed", runner_id, claim_token, values["claim_expires_at"])
        return [(*row[:4], *mine, *row[8:]) for row in self._rows("runs.get", {"run_id": run_id})]


class ExpiredNeverReclaimed(Mutant):
    name = "expired-never-reclaimable"
    bug = "the claim looks at parked runs only, so the runs of dead workers are stranded"
    killers = ("S1",)

    def _claimable_runs(
        self,
        runner_id: str,  # noqa: ARG002
        now: int,  # noqa: ARG002
        excluded: Collection[str],
        most: int,
    ) -> list[Found]:
        self.reached()
        cursor = self._connection().execute(_FIRST_PARKED)
        try:
            free = ((place, run_id) for place, run_id in cursor if run_id not in excluded)
            return list(islice(free, most))
        finally:
            cursor.close()


class ReclaimKeepsToken(Mutant):
    name = "reclaim-keeps-token"
    bug = "taking an expired claim over leaves the old token, so its old holder goes on as well"
    killers = ("D1", "R1")
    workload = "runs"

    @writes
    def claim_runs(
        self,
        runner_id: str,
        claim_tokens: Sequence[str],
        lease_ms: int,
        exclude_run_ids: Sequence[str],
        now: int | None,
    ) -> list[Row]:
        ms = self._now(now)
        found = self._claimable_runs(runner_id, ms, frozenset(exclude_run_ids), 1)
        if not found:
            return []
        _, run_id = found[0]
        self.reached()
        self.run_sql(
            _TAKE_OVER, self._claim_values(run_id, runner_id, claim_tokens[0], lease_ms, ms)
        )
        return self._rows("runs.get", {"run_id": run_id})


class SkewedExpiry(Mutant):
    name = "expiry-by-skewed-clock"
    bug = "the claim compares leases with a clock that runs ahead of the one that made them"
    killers = ("F1",)

    def _claimable_runs(
        self, runner_id: str, now: int, excluded: Collection[str], most: int
    ) -> list[Found]:
        self.reached()
        return super()._claimable_runs(runner_id, now + AHEAD_MS, excluded, most)

    def statement(self, name: str, params: Mapping[str, Value]) -> Mapping[str, Value]:
        now = params.get("now")
        ahead = name in ("runs.claim", "runs.claim_many") and isinstance(now, int)
        return {**params, "now": now + AHEAD_MS} if ahead else params  # type: ignore[operator]


class SlowTakeover(Mutant):
    name = "takeover-too-late"
    bug = "an expired claim may be taken over only long after its lease"
    killers = ("S2", "R1")

    def _claimable_runs(
        self, runner_id: str, now: int, excluded: Collection[str], most: int
    ) -> list[Found]:
        self.reached()
        return super()._claimable_runs(runner_id, now - GRACE_MS, excluded, most)


class ResumeByRunner(Mutant):
    name = "restart-inherits-claim"
    bug = "a worker is given what is claimed under its runner id, though only a token is ownership"
    killers = ("F1",)
    workload = "runs"
    faults = ("kill",)

    _inherited = ""

    def _claimable_runs(
        self, runner_id: str, now: int, excluded: Collection[str], most: int
    ) -> list[Found]:
        values = {"runner_id": runner_id, "now": now}
        found = self._connection().execute(_LIVE_OF_RUNNER, values).fetchone()
        if found is None or found[1] in excluded:
            return super()._claimable_runs(runner_id, now, excluded, most)
        self.reached()
        place, self._inherited = found
        return [(place, self._inherited)]

    def statement(self, name: str, params: Mapping[str, Value]) -> Mapping[str, Value]:
        inherits = name == "runs.claim" and params["run_id"] == self._inherited
        return {**params, "now": MAX_TIME_MS} if inherits else params


class AffinityIgnored(Mutant):
    name = "affinity-ignored"
    bug = "the claim takes the oldest run, whoever it has affinity to"
    killers = ("O1", "R1")

    def _claimable_runs(
        self,
        runner_id: str,  # noqa: ARG002
        now: int,
        excluded: Collection[str],
        most: int,
    ) -> list[Found]:
        self.reached()
        return super()._claimable_runs("", now, excluded, most)


class ExclusionIgnored(Mutant):
    name = "exclusion-ignored"
    bug = "the claim gives a run that its caller excluded"
    killers = ("O1", "R1")

    def _claimable_runs(
        self, runner_id: str, now: int, excluded: Collection[str], most: int
    ) -> list[Found]:
        if excluded:
            self.reached()
        return super()._claimable_runs(runner_id, now, frozenset(), most)


class FenceByProcess(Mutant):
    name = "fence-by-process"
    bug = "each process counts the fences for itself, so the next holder's may be lower"
    killers = ("F4",)
    _count = 0

    def claim_runs(
        self,
        runner_id: str,
        claim_tokens: Sequence[str],
        lease_ms: int,
        exclude_run_ids: Sequence[str],
        now: int | None,
    ) -> list[Row]:
        rows = super().claim_runs(runner_id, claim_tokens, lease_ms, exclude_run_ids, now)
        return [(*row[:12], self._next_fence(), *row[13:]) for row in rows]

    def enqueue_runs(self, runs: Sequence[NewRun], now: int | None) -> list[Row | Exception]:
        made = super().enqueue_runs(runs, now)
        return [
            one if isinstance(one, Exception) else (*one[:2], self._next_fence()) for one in made
        ]

    def _next_fence(self) -> int:
        self.reached()
        self._count += 1
        return self._count
