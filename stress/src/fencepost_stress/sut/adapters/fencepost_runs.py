"""Fencepost's runs, tested from outside as any other queue: the control of the black box."""

from __future__ import annotations

import math
import time
import uuid
import warnings

import msgspec

import fencepost
from fencepost import errors

from ...clock import Clock, shared_offset
from ..adapter import Adapter, Claim, Item, Place, Refused, State
from ..capabilities import PROPERTIES, Capabilities
from ..engines import open_store

THREADS = "-threads"
_REFUSALS = {"run_exists": "exists", "continuation_exists": "parent_taken", "busy": "busy"}
_STATES: dict[str, State] = {"parked": "waiting", "claimed": "claimed", "done": "done"}


class FencepostRuns(Adapter):
    """A run is enqueued with a claim of its own, and parked at once for others to claim."""

    engine = "python"
    capabilities = Capabilities(
        name="fencepost runs",
        version=fencepost.__version__,
        operations=(
            "renew",
            "verify",
            "complete",
            "release",
            "delete",
            "parents",
            "unique",
            "wait",
        ),
        lease="expires",
        promises=dict.fromkeys(PROPERTIES, "README.md, what is proven"),
        clock_error_ms=2,
    )

    def __init__(self, place: Place) -> None:
        warnings.simplefilter("ignore", fencepost.SQLiteVersionWarning)
        # All processes of a run share the machine's monotonic clock, not its wall clock.
        self._worker = place.worker
        self._lease_ms = place.lease_ms
        offset = place.directory / "clock-offset"
        if place.role == "prepare":
            offset.write_text(str(shared_offset()))
        clock = Clock(int(offset.read_text()))
        path = place.directory / "store.sqlite"
        self._store = open_store(self.engine, path, clock, synchronous="normal")

    def enqueue(self, run: str, parent: str | None) -> None:
        token = uuid.uuid4().hex
        try:
            self._store.runs.enqueue(
                run_id=run,
                workflow_name="stress",
                workflow_source_ref="builtin:stress",
                runner_id=self._worker,
                claim_token=token,
                lease_ms=self._lease_ms,
                parent_run_id=parent,
            )
        except errors.FencepostError as error:
            if error.code in _REFUSALS:
                raise Refused(_REFUSALS[error.code], str(error)) from error
            raise
        self._store.runs.park(run_id=run, claim_token=token)

    def claim(self, wait_ms: int) -> Claim | None:
        until = time.monotonic() + wait_ms / 1000
        claim = self._claim_next()
        while claim is None and (left := until - time.monotonic()) > 0:
            self._store.wait(runs=True, timeout_ms=math.ceil(left * 1000))
            # Another worker may have been faster.
            claim = self._claim_next()
        return claim

    def _claim_next(self) -> Claim | None:
        token = uuid.uuid4().hex
        try:
            run = self._store.runs.claim_next(
                runner_id=self._worker, claim_token=token, lease_ms=self._lease_ms
            )
        except errors.StoreBusyError as error:
            raise Refused("busy", str(error)) from error
        return None if run is None else Claim(run.run_id, token)

    def renew(self, claim: Claim) -> bool:
        return self._store.runs.renew(
            run_id=claim.run, claim_token=claim.handle, lease_ms=self._lease_ms
        )

    def verify(self, claim: Claim) -> bool:
        return self._store.runs.verify(run_id=claim.run, claim_token=claim.handle)

    def complete(self, claim: Claim) -> bool:
        return self._store.runs.complete(run_id=claim.run, claim_token=claim.handle)

    def release(self, claim: Claim) -> bool:
        return self._store.runs.park(run_id=claim.run, claim_token=claim.handle)

    def delete(self, claim: Claim) -> bool:
        return self._store.runs.delete(run_id=claim.run, claim_token=claim.handle)

    def dump(self) -> list[Item]:
        return [Item(run.run_id, _STATES[run.status]) for run in self._store.runs.iterate()]

    def close(self) -> None:
        self._store.close()


def on(chosen: str) -> type[FencepostRuns]:
    """The adapter on one engine, or on one mutant; `-threads` after it: all share one store."""
    shared = chosen.endswith(THREADS)

    class OnEngine(FencepostRuns):
        engine = chosen.removesuffix(THREADS)
        capabilities = msgspec.structs.replace(
            FencepostRuns.capabilities, workers="threads" if shared else "processes"
        )

    return OnEngine
