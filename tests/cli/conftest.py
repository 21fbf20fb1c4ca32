"""Commands as processes of their own, on stores that other processes may have open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fencepost
from tests.cli.support import Cli
from tests.processes.remote import Child


@pytest.fixture
def cli(engine: str, path: str) -> Cli:
    """Runs a command on the test's store with the test's engine."""
    return Cli(engine, path)


@pytest.fixture
def filled(engine: str, path: str) -> str:
    """The path of a store with something in every table, that nobody has open."""
    with fencepost.open(path, engine=engine, synchronous="off") as store:
        for number in range(4):
            run = store.runs.enqueue(
                run_id=f"r{number}",
                workflow_name="w",
                workflow_source_ref="/w.py",
                input={"n": number},
                runner_id="alice",
                lease_ms=3_600_000,
                parent_run_id="r0" if number == 1 else None,
            )
            store.feed.record(run_id=run.run_id, workflow_ref="w", type="started")
            assert run.claim_token is not None
            if number == 2:
                store.runs.park(run_id=run.run_id, claim_token=run.claim_token)
            if number == 3:
                store.runs.complete(run_id=run.run_id, claim_token=run.claim_token)
        for key in ("a", "b"):
            resource = store.resources.put(
                controller="ctl", key=key, spec={"é": [1.5, None]}, initial_status="x"
            )
        uid = resource.metadata.uid
        assert store.queue.claim_next(controllers=["ctl"], lease_ms=3_600_000) is not None
        store.effects.reserve(
            key="e", resource_uid=uid, generation=1, kind="call", request_fingerprint="f"
        )
        store.requests.reserve(
            resource_uid=uid, request_key="q", workflow="w", input_fingerprint="f"
        )
        store.events.record(controller="ctl", key="a", type="made", payload={"by": "test"})
        store.feed.set_watermark(session_id="s", seq=2)
    return path


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    """Starts children; those that still run at the end of the test are killed."""
    children: list[Child] = []

    def start_child(**options: Any) -> Child:
        children.append(Child(**options))
        return children[-1]

    yield start_child
    for child in children:
        if child.process.poll() is None:
            child.kill()
        child.drop()
