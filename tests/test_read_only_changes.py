"""Read-only stores on files that come into use, change, and go to rest again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import Store
from fencepost.store import engine_of
from tests.conftest import OpenStore
from tests.resting import beside
from tests.support import (
    enqueue,
    outcome,
    refused,
    sql,
    without_ids,
)

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
    engines_here: tuple[str, ...], tmp_path: Path
) -> None:
    said = []
    for engine in engines_here:
        path = str(tmp_path / f"{engine}.sqlite")
        with fencepost.open(path, engine=engine, synchronous="off") as store:
            for number in range(50):
                enqueue(store, f"r{number}", input="x" * 500)
        damage(path)
        opening = outcome(partial(fencepost.open, path, engine=engine, read_only=True))
        said.append(without_ids(opening, path))
    assert [one["code"] for one in said] == ["corrupt"] * len(engines_here)


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
