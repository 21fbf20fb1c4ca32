"""Read-only stores: they need the file, make nothing, write nothing, and see what others write."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import Store
from fencepost.conformance.operations import dump
from fencepost.store import engine_of
from tests.conftest import OpenStore
from tests.support import (
    at,
    bytes_of,
    enqueue,
    outcome,
    park,
    put,
    refused,
    sql,
    statements_of,
    without_ids,
)


@pytest.fixture
def resting(open_store: OpenStore, path: str) -> str:
    """The path of a database with something in it, which nobody has open."""
    with open_store() as store:
        fill(store)
    return path


def fill(store: Store) -> None:
    uid = put(store).metadata.uid
    enqueue(store)
    park(store, "parked")
    store.effects.reserve(
        key="e", resource_uid=uid, generation=1, kind="x", request_fingerprint="f", now=at()
    )
    store.requests.reserve(resource_uid=uid, request_key="q", workflow="w", input_fingerprint="f")
    store.events.record(controller="ctl", key="k", type="t", now=at())
    store.feed.record(run_id="r", workflow_ref="w", type="t", now=at())
    store.feed.set_watermark(session_id="s", seq=1, now=at())


def beside(path: str) -> list[str]:
    return sorted(os.listdir(os.path.dirname(path)))


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


WRITER = """
import sys
import fencepost

engine, path = sys.argv[1:]
run = dict(workflow_name="w", workflow_source_ref="s", runner_id="a", lease_ms=9, claim_token="t")
store = None
for line in sys.stdin:
    word, _, run_id = line.strip().partition(" ")
    if word == "open":
        store = fencepost.open(path, engine=engine, synchronous="off")
    elif word == "enqueue":
        store.runs.enqueue(run_id=run_id, **run)
    elif word == "delete":
        store.runs.delete(run_id=run_id, claim_token="t")
    elif word == "close":
        store.close()
    print("done", flush=True)
"""


class Writer:
    """A store in another process, told line by line what to do."""

    def __init__(self, engine: str, path: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", WRITER, engine, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, line: str) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{line}\n")
        stdin.flush()
        assert stdout.readline() == "done\n"

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def writer(engine: str, path: str) -> Iterator[Writer]:
    process = Writer(engine, path)
    yield process
    process.kill()


def names(store: Store) -> list[str]:
    return [run.run_id for run in store.runs.list()]


def test_a_live_writers_commits_are_seen(open_store: OpenStore, path: str, writer: Writer) -> None:
    writer.tell("open")
    writer.tell("enqueue a")
    store = open_store(read_only=True)
    assert names(store) == ["a"]
    writer.tell("enqueue b")
    assert names(store) == ["a", "b"]
    writer.tell("delete a")
    assert names(store) == ["b"]


def test_a_file_at_rest_that_is_taken_into_use(
    open_store: OpenStore, resting: str, writer: Writer
) -> None:
    store = open_store(read_only=True)
    assert names(store) == ["r", "parked"]
    writer.tell("open")
    writer.tell("enqueue a")
    assert names(store) == ["r", "parked", "a"]
    writer.tell("close")
    assert names(store) == ["r", "parked", "a"]
    writer.tell("open")
    writer.tell("delete a")
    assert names(store) == ["r", "parked"]
    assert store.feed.latest_seq() == 1


def test_it_goes_to_rest_and_comes_back_between_reads(
    open_store: OpenStore, resting: str, writer: Writer
) -> None:
    """The whole of a writer's life lies between two reads."""
    store = open_store(read_only=True)
    for round_ in range(3):
        writer.tell("open")
        writer.tell(f"enqueue r{round_}")
        writer.tell("close")
        assert names(store)[-1] == f"r{round_}"


def test_a_killed_writers_log_is_read(open_store: OpenStore, path: str, writer: Writer) -> None:
    writer.tell("open")
    writer.tell("enqueue a")
    writer.kill()
    assert "store.sqlite-wal" in beside(path)
    with open_store(read_only=True) as store:
        assert names(store) == ["a"]


def test_a_pages_cursor_works_across_the_change(
    open_store: OpenStore, resting: str, writer: Writer
) -> None:
    store = open_store(read_only=True)
    runs = store.runs.iterate(page_size=1)
    assert next(runs).run_id == "r"
    writer.tell("open")
    writer.tell("enqueue a")
    assert [run.run_id for run in runs] == ["parked", "a"]


def test_readers_do_not_stop_a_writers_checkpoint(
    open_store: OpenStore, path: str, writer: Writer
) -> None:
    writer.tell("open")
    writer.tell("enqueue a")
    store = open_store(read_only=True)
    assert names(store) == ["a"]
    assert sql(path, "PRAGMA wal_checkpoint(TRUNCATE)") == [[0, 0, 0]]
    assert names(store) == ["a"]


def test_closed_it_says_so(open_store: OpenStore, resting: str) -> None:
    store = open_store(read_only=True)
    store.close()
    store.close()
    with refused("closed"):
        store.runs.list()


def test_corruption_is_not_mistaken_for_a_change(
    both_engines: tuple[str, ...], tmp_path: Path
) -> None:
    said = []
    for engine in both_engines:
        path = str(tmp_path / f"{engine}.sqlite")
        with fencepost.open(path, engine=engine, synchronous="off") as store:
            for number in range(50):
                enqueue(store, f"r{number}", input="x" * 500)
        damage(path)
        opening = outcome(partial(fencepost.open, path, engine=engine, read_only=True))
        said.append(without_ids(opening, path))
    assert [one["code"] for one in said] == ["corrupt", "corrupt"]


@pytest.mark.parametrize("live", [False, True])
def test_a_checkpoint_is_a_write(open_store: OpenStore, resting: str, live: bool) -> None:
    if live:
        enqueue(open_store(resting), "more")
    reader = open_store(resting, read_only=True)
    with refused("read_only"):
        reader.checkpoint()


def test_a_file_is_opened_as_resting_once_its_time_is_older_than_a_tick(
    open_store: OpenStore, resting: str
) -> None:
    # Younger, and who writes within the tick would leave the same time and size.
    os.utime(resting)
    open_store(resting, read_only=True)
    assert time.time_ns() - os.stat(resting).st_mtime_ns >= 20_000_000


def test_a_reader_outlives_what_keeps_it_from_opening_the_file_again(
    open_store: OpenStore, resting: str
) -> None:
    reader = open_store(resting, read_only=True)
    with open_store(resting) as writer:
        writer.feed.set_watermark(session_id="s", seq=2)
    os.rename(resting, f"{resting}.away")
    with refused("io"):
        reader.feed.watermark(session_id="s")
    os.rename(f"{resting}.away", resting)
    assert reader.feed.watermark(session_id="s") == 2


def test_a_store_that_is_closed_while_it_opens_the_file_again_stays_closed(
    open_store: OpenStore, resting: str
) -> None:
    reader = open_store(resting, read_only=True)
    inner: Any = engine_of(reader)
    with open_store(resting) as writer:
        writer.feed.set_watermark(session_id="s", seq=2)
    connect, opening, closing = inner._connect, threading.Event(), threading.Event()

    def slowly(immutable: bool) -> Any:
        opening.set()
        closing.wait(0.1)
        return connect(immutable)

    inner._connect = slowly
    thread = threading.Thread(target=partial(outcome, partial(reader.runs.list)))
    thread.start()
    assert opening.wait(10)
    reader.close()
    closing.set()
    thread.join()
    with refused("closed"):
        reader.runs.list()


def damage(path: str) -> None:
    """Overwrite every page but the first, in a file that nobody has open."""
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
