"""fencepost, put into the same mould: a run is enqueued and parked in a batch of its own kind."""

from __future__ import annotations

import itertools
import os
from typing import Any

import fencepost
from fencepost.errors import StoreBusyError

from . import Peer

NAME = "fencepost"
GUARANTEES = (
    "leases, claim tokens and fence numbers; a crashed worker's job is taken over after its lease; "
    "every acknowledged call is on disk"
)
SETTINGS = "full"


def open(path: str, settings: str, synchronous: str = SETTINGS) -> Peer:
    """Its default is the setting that the others are brought to."""
    del settings
    store = fencepost.open(path, engine="native", synchronous=synchronous)
    runs = store.runs
    serial = itertools.count()

    def put(text: str) -> None:
        # A lease that has ended already leaves the run to whoever comes: one commit, as a put.
        runs.enqueue(
            run_id=f"{os.getpid()}-{next(serial)}",
            workflow_name="job",
            workflow_source_ref="job",
            input=text,
            runner_id="producer",
            lease_ms=1,
            now="2021-01-01T00:00:00Z",
        )

    def take() -> tuple[str, Any] | None:
        run = runs.claim_next(runner_id="worker", lease_ms=60_000)
        return None if run is None else (run.input, run)

    def done(run: Any) -> None:
        runs.complete(run_id=run.run_id, claim_token=run.claim_token)

    return Peer(put, take, done, (StoreBusyError,), store.close)
