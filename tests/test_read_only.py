"""Read-only stores: they need the file, make nothing, write nothing, and see what others write."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import Store
from fencepost.conformance.operations import dump
from tests.conftest import OpenStore
from tests.resting import beside
from tests.support import (
    at,
    bytes_of,
    enqueue,
    put,
    refused,
    sql,
    statements_of,
)

NO_CLAIM: dict[str, Any] = {
    "controller": "ctl",
    "key": "k",
    "token": "t",
    "queue_version": 1,
    "consecutive_errors": 0,
    "expires_at": at(),
}

WRITES: dict[str, Callable[[Store], Any]] = {
    "put": put,
    "put another": lambda store: put(store, spec=2),
    "update_status": lambda store: store.resources.update_status(
        controller="ctl",
        key="k",
        expected_resource_version=1,
        status={"observed_generation": 0, "controller_status": {"have": 0}},
        now=at(),
    ),
    "request_deletion": lambda store: store.resources.request_deletion(controller="ctl", key="k"),
    "update_finalizers": lambda store: store.resources.update_finalizers(
        controller="ctl", key="k", expected_resource_version=1, finalizers=[]
    ),
    "delete a resource": lambda store: store.resources.delete(
        controller="ctl", key="none", expected_resource_version=1
    ),
    "enqueue a key": lambda store: store.queue.enqueue(controller="ctl", key="k"),
    "enqueue keys": lambda store: store.queue.enqueue_many(items=[]),
    "claim a key": lambda store: store.queue.claim_next(controllers=["none"], lease_ms=1),
    "renew a key": lambda store: store.queue.renew(claim=NO_CLAIM, lease_ms=1),
    "settle a key": lambda store: store.queue.settle(claim=NO_CLAIM),
    "requeue a key": lambda store: store.queue.requeue(claim=NO_CLAIM, available_at=at()),
    "reserve an effect": lambda store: store.effects.reserve(
        key="e", resource_uid=uid(store), generation=1, kind="x", request_fingerprint="f"
    ),
    "update an effect": lambda store: store.effects.update(
        resource_uid=uid(store), key="e", state="applied"
    ),
    "reserve a request": lambda store: store.requests.reserve(
        resource_uid=uid(store), request_key="q", workflow="w", input_fingerprint="f"
    ),
    "update a request": lambda store: store.requests.update(request_id="none", state="running"),
    "record an event": lambda store: store.events.record(controller="ctl", key="k", type="t"),
    "enqueue a run": lambda store: enqueue(store, "new"),
    "enqueue runs": lambda store: store.runs.enqueue_many(items=[]),
    "claim a run": lambda store: store.runs.claim_next(runner_id="a", lease_ms=1),
    "claim runs": lambda store: store.runs.claim_many(runner_id="a", lease_ms=1, limit=1),
    "renew a run": lambda store: store.runs.renew(run_id="r", claim_token="t", lease_ms=1),
    "park a run": lambda store: store.runs.park(run_id="none", claim_token="t"),
    "complete a run": lambda store: store.runs.complete(run_id="none", claim_token="t"),
    "delete a run": lambda store: store.runs.delete(run_id="none", claim_token="t"),
    "repair a run": lambda store: store.runs.repair_source(
        run_id="none",
        workflow_name="w",
        workflow_source_ref="s",
        runner_id="a",
        claim_token="t",
        lease_ms=1,
    ),
    "claim a legacy run": lambda store: store.runs.claim_legacy_source(
        run_id="none",
        workflow_name="w",
        old_workflow_path="o",
        workflow_source_ref="s",
        runner_id="a",
        claim_token="t",
        lease_ms=1,
    ),
    "record a run event": lambda store: store.feed.record(run_id="r", workflow_ref="w", type="t"),
    "set a watermark": lambda store: store.feed.set_watermark(session_id="s", seq=2),
}


def uid(store: Store) -> str:
    found = store.resources.get(controller="ctl", key="k")
    assert found is not None
    return found.metadata.uid


@pytest.mark.parametrize("in_use", [False, True], ids=["at rest", "in use"])
def test_every_write_is_refused(open_store: OpenStore, resting: str, in_use: bool) -> None:
    before = bytes_of(resting)
    writer = open_store() if in_use else None
    store = open_store(read_only=True)
    assert store.read_only
    for name, write in WRITES.items():
        with refused("read_only") as caught:
            write(store)
        said = f"{resting}: the store was opened read-only; open it for writing"
        assert str(caught[0]) == said, name
    store.close()
    if writer is not None:
        writer.close()
    assert bytes_of(resting) == before


def test_every_read_works(open_store: OpenStore, resting: str) -> None:
    store = open_store(read_only=True)
    owner = uid(store)
    assert store.resources.get_by_uid(uid=owner) == store.resources.list()[0]
    assert [item.key for item in store.queue.list()] == ["k"]
    assert (
        store.effects.get(resource_uid=owner, key="e") == store.effects.list(resource_uid=owner)[0]
    )
    request = store.requests.list(resource_uid=owner)[0]
    assert store.requests.get(resource_uid=owner, request_key="q") == request
    assert store.requests.get_by_id(request_id=request.request_id) == request
    assert len(store.events.list()) == 1
    assert [run.run_id for run in store.runs.iterate()] == ["r", "parked"]
    assert store.runs.get(run_id="parked") == store.runs.list(status="parked")[0]
    assert store.runs.verify(run_id="r", claim_token="t-r", now=at())
    assert len(store.feed.after(seq=0)) == store.feed.latest_seq() == 1
    assert store.feed.watermark(session_id="s") == 1


def test_a_database_at_rest_stays_as_it_is(open_store: OpenStore, resting: str) -> None:
    before, listing = bytes_of(resting), beside(resting)
    stamp = os.stat(resting).st_mtime_ns
    store = open_store(read_only=True)
    assert len(dump(store)["workflow_run_queue"]) == 2
    assert beside(resting) == listing == ["store.sqlite"]
    store.close()
    assert beside(resting) == listing
    assert bytes_of(resting) == before
    assert os.stat(resting).st_mtime_ns == stamp


def forget(stores: list[Store]) -> None:
    stores.clear()
    gc.collect()


@pytest.mark.parametrize("how", ["closed", "forgotten"])
@pytest.mark.parametrize("in_use", [False, True], ids=["at rest", "in use"])
def test_a_folder_of_those_who_wait_stays_as_it_is(
    engine: str, resting: str, in_use: bool, how: str
) -> None:
    """Empty ones too: who left them there removes them, or the next who may write."""
    folder = Path(f"{resting}-fencepost")
    writer = fencepost.open(resting, engine=engine) if in_use else None
    readers = [fencepost.open(resting, engine=engine, read_only=True)]
    for purpose in ("line", "bells"):
        (folder / purpose).mkdir(parents=True)
    assert readers[0].runs.get(run_id="r")
    if how == "closed":
        readers.pop().close()
    else:
        with pytest.warns(ResourceWarning, match="was never closed"):
            forget(readers)
    assert sorted(os.listdir(folder)) == ["bells", "line"]
    if writer is None:
        writer = fencepost.open(resting, engine=engine)
    writer.close()
    assert not folder.exists()


def test_the_folder_of_a_reader_that_waited_goes_with_it(
    open_store: OpenStore, resting: str
) -> None:
    with open_store(read_only=True) as reader:
        assert not reader.wait(feed_after=1, timeout_ms=0)
        assert beside(resting) == ["store.sqlite", "store.sqlite-fencepost"]
    assert beside(resting) == ["store.sqlite"]


def test_a_file_and_a_folder_without_write_permission(open_store: OpenStore, resting: str) -> None:
    folder = os.path.dirname(resting)
    Path(resting).chmod(0o400)
    Path(folder).chmod(0o500)
    try:
        with open_store(read_only=True) as store:
            assert store.runs.get(run_id="r")
        assert beside(resting) == ["store.sqlite"]
    finally:
        Path(folder).chmod(0o700)


def test_the_file_must_be_there(open_store: OpenStore, tmp_path: Path) -> None:
    for where in (tmp_path / "none.sqlite", tmp_path / "folder" / "none.sqlite"):
        with refused("io"):
            open_store(where, read_only=True)
    assert os.listdir(tmp_path) == []


def test_a_file_without_a_schema_is_refused(open_store: OpenStore, path: str) -> None:
    Path(path).touch()
    with refused("unsupported_schema"):
        open_store(read_only=True)
    assert beside(path) == ["store.sqlite"]
    assert os.path.getsize(path) == 0


def test_a_file_of_the_other_store_is_not_completed_by_reading(
    open_store: OpenStore, path: str
) -> None:
    """Our additions are missing there, and a reader may not make them."""
    sql(path, "PRAGMA journal_mode = WAL", *statements_of("schema"))
    before = bytes_of(path)
    with refused("unsupported_schema") as caught:
        open_store(read_only=True)
    assert "open it once for writing" in str(caught[0])
    assert bytes_of(path) == before
    assert beside(path) == ["store.sqlite"]
    open_store().close()
    assert open_store(read_only=True).runs.list() == []
