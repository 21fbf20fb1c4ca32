"""Where a run's workflow lives: mending it in a run that was enqueued with another source."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from .facet import Facet
from .validation import key, lease_ms as checked_lease, run_id as checked_run_id, time_ms


class RunSources(Facet):
    """The operations of `store.runs` that give a run another source."""

    __slots__ = ()

    def repair_source(
        self,
        *,
        run_id: str,
        workflow_name: str,
        workflow_source_ref: str,
        runner_id: str,
        claim_token: str,
        lease_ms: int,
        now: datetime | str | None = None,
    ) -> Literal["unchanged", "claimed", False]:
        """Give a run that is not done its right source, and claim it when that is needed.

        Returns `"unchanged"` for a parked run that has the source already, `"claimed"`
        after a claimable run (parked, expired, or live under this very token) got the name
        and the source, and False otherwise.
        """
        outcome = self._engine.repair_source(
            checked_run_id(run_id),
            key(workflow_name, "workflow_name"),
            key(workflow_source_ref, "workflow_source_ref"),
            key(runner_id, "runner_id"),
            key(claim_token, "claim_token"),
            checked_lease(lease_ms),
            time_ms(now),
        )
        if outcome == "unchanged":
            return "unchanged"
        return "claimed" if outcome == "claimed" else False

    def claim_legacy_source(
        self,
        *,
        run_id: str,
        workflow_name: str,
        old_workflow_path: str,
        workflow_source_ref: str,
        runner_id: str,
        claim_token: str,
        lease_ms: int,
        now: datetime | str | None = None,
    ) -> bool:
        """Rewrite the source of a claimable run that has the old one or the new, and claim it."""
        return self._engine.claim_legacy_source(
            checked_run_id(run_id),
            key(workflow_name, "workflow_name"),
            key(old_workflow_path, "old_workflow_path"),
            key(workflow_source_ref, "workflow_source_ref"),
            key(runner_id, "runner_id"),
            key(claim_token, "claim_token"),
            checked_lease(lease_ms),
            time_ms(now),
        )
