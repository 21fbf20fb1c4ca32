"""Waiting for work that other processes commit."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.waiting import Waiter
from tests.conftest import OpenStore
from tests.processes.remote import Child
from tests.support import SetClock, put, refused

NEVER = 20_000
"""A timeout that a test reaches only when a wake-up was lost."""


@pytest.fixture
def store(path: Path, engine: str) -> Any:
    with fencepost.open(path, engine=engine, synchronous="off") as opened:
        yield opened


@pytest.fixture
def other(start: Callable[..., Child], path: Path, engine: str) -> Child:
    return start().open(path, engine, synchronous="off")


def enqueue(child: Child, run_id: str = "run", lease_ms: int = 60_000) -> str:
    run = child.call(
        "runs.enqueue",
        run_id=run_id,
        workflow_name="w",
        workflow_source_ref="/w",
        runner_id="other",
        lease_ms=lease_ms,
    )
    token: str = run.claim_token
    return token


class Waiting:
    """A wait in a thread, and when it ended."""

    def __init__(self, store: fencepost.Store, **wish: Any) -> None:
        self.ready: fencepost.Ready | None = None
        self._thread = threading.Thread(target=self._wait, args=(store, wish))
        self._thread.start()

    def _wait(self, store: fencepost.Store, wish: dict[str, Any]) -> None:
        self.ready = store.wait(timeout_ms=NEVER, **wish)

    def end(self) -> fencepost.Ready:
        self._thread.join(NEVER / 1000 + 5)
        assert self.ready is not None
        return self.ready


def test_a_parked_run_wakes(store: fencepost.Store, other: Child) -> None:
    token = enqueue(other)
    waiting = Waiting(store, runs=True)
    other.call("runs.park", run_id="run", claim_token=token)
    assert waiting.end() == fencepost.Ready(runs=True)


def test_an_excluded_run_does_not_wake(store: fencepost.Store, other: Child) -> None:
    token = enqueue(other, "excluded")
    other.call("runs.park", run_id="excluded", claim_token=token)
    waiting = Waiting(store, runs=True, exclude_run_ids=["excluded"])
    token = enqueue(other, "wanted")
    other.call("runs.park", run_id="wanted", claim_token=token)
    assert waiting.end().runs


def test_a_lease_that_ends_wakes_at_its_end(store: fencepost.Store, other: Child) -> None:
    began = time.time()
    enqueue(other, lease_ms=400)
    assert store.wait(runs=True, timeout_ms=NEVER).runs
    assert time.time() - began >= 0.4
    assert store.runs.claim_next(runner_id="me", lease_ms=1) is not None


def test_a_due_key_wakes_for_its_controller(store: fencepost.Store, other: Child) -> None:
    waiting = Waiting(store, controllers=["mine", "none"])
    for controller in ("others", "mine"):
        other.call("resources.put", controller=controller, key="k", spec={}, initial_status=None)
    assert waiting.end() == fencepost.Ready(controllers=("mine",))


def test_no_claim_hides_another_after_the_clock_was_set_back(
    open_store: OpenStore, clock: SetClock
) -> None:
    store = open_store()
    put(store, "first", now=None)
    first = store.queue.claim_next(controllers=["ctl"], lease_ms=60_000)
    assert first is not None
    clock.advance(-60_000)
    assert store.queue.renew(claim=first, lease_ms=1000)
    put(store, "second", now=None)
    assert store.queue.claim_next(controllers=["ctl"], lease_ms=2000) is not None
    # The first claim has ended, and its key is due only when the old time comes again.
    clock.advance(1999)
    assert not store.wait(controllers=["ctl"], timeout_ms=0)
    clock.advance(1)
    assert store.wait(controllers=["ctl"], timeout_ms=0).controllers == ("ctl",)
    second = store.queue.claim_next(controllers=["ctl"], lease_ms=120_000)
    assert second is not None
    assert second.key == "second"
    clock.advance(57_999)
    assert not store.wait(controllers=["ctl"], timeout_ms=0)
    clock.advance(1)
    assert store.wait(controllers=["ctl"], timeout_ms=0).controllers == ("ctl",)
    again = store.queue.claim_next(controllers=["ctl"], lease_ms=1000)
    assert again is not None
    assert again.key == "first"


def test_an_event_of_the_feed_wakes(store: fencepost.Store, other: Child) -> None:
    seq = other.call("feed.record", run_id="r", workflow_ref="w", type="t")
    assert store.wait(feed_after=0, timeout_ms=NEVER).feed
    waiting = Waiting(store, feed_after=seq)
    other.call("feed.record", run_id="r", workflow_ref="w", type="t")
    assert waiting.end() == fencepost.Ready(feed=True)


def test_an_event_of_a_controller_wakes(store: fencepost.Store, other: Child) -> None:
    event = {"controller": "c", "key": "k", "type": "t"}
    seq = other.call("events.record", **event).seq
    assert store.wait(events_after=0, timeout_ms=NEVER).events
    waiting = Waiting(store, events_after=seq)
    other.call("events.record", **event)
    assert waiting.end() == fencepost.Ready(events=True)


@pytest.mark.parametrize("read_only", [False, True], ids=["writing", "reading"])
@pytest.mark.parametrize("kind", ["feed", "events"])
def test_who_follows_is_woken(
    kind: str, read_only: bool, path: Path, engine: str, other: Child
) -> None:
    """Hundreds of events, each seen before the next look would be due."""
    began = time.monotonic()
    with fencepost.open(path, engine=engine, read_only=read_only) as follower:
        for seq in range(100):
            if kind == "feed":
                other.begin_call("feed.record", run_id="r", workflow_ref="w", type="t")
                assert follower.wait(feed_after=seq, timeout_ms=NEVER).feed
            else:
                other.begin_call("events.record", controller="c", key="k", type="t")
                assert follower.wait(events_after=seq, timeout_ms=NEVER).events
            other.end()
    assert time.monotonic() - began < 100 * 0.125


def test_nothing_comes_before_the_timeout(store: fencepost.Store) -> None:
    began = time.monotonic()
    assert not store.wait(runs=True, controllers=["c"], feed_after=0, timeout_ms=100)
    assert time.monotonic() - began >= 0.1


def test_a_store_that_does_not_take_part_is_noticed(
    store: fencepost.Store, start: Callable[..., Child], path: Path
) -> None:
    waiting = Waiting(store, feed_after=0)
    start().sql(
        path,
        "INSERT INTO run_events (recorded_at, run_id, workflow_ref, type, payload_json)"
        " VALUES ('2026-08-04T00:00:00.000Z', 'r', 'w', 't', '{}')",
    )
    assert waiting.end().feed


def test_no_wake_up_is_lost(store: fencepost.Store, other: Child) -> None:
    """Hundreds of hand-overs: a wait that missed its commit would sleep a look's time."""
    seq, began = 0, time.monotonic()
    for _ in range(200):
        other.begin_call("feed.record", run_id="r", workflow_ref="w", type="t")
        assert store.wait(feed_after=seq, timeout_ms=NEVER).feed
        seq = other.end()
    # Looks alone, a quarter of a second apart, would take longer.
    assert time.monotonic() - began < 200 * 0.125


@pytest.mark.parametrize("blocking", [True, False], ids=["wait", "wait_async"])
def test_what_is_committed_right_after_a_look_wakes(
    blocking: bool, store: fencepost.Store, other: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first look something else comes, after the second what is waited for."""
    look, looks = Waiter._look, []

    def look_then_commit(waiter: Waiter) -> Any:
        seen = look(waiter)
        looks.append(seen)
        if len(looks) == 1:
            other.call("events.record", controller="c", key="k", type="t")
        elif len(looks) == 2:
            other.call("feed.record", run_id="r", workflow_ref="w", type="t")
        return seen

    monkeypatch.setattr(Waiter, "_look", look_then_commit)
    # No later look makes up for a wake-up that is lost.
    monkeypatch.setattr("fencepost.waiting.LOOK_SECONDS", NEVER / 1000)
    if blocking:
        ready = store.wait(feed_after=0, timeout_ms=NEVER // 2)
    else:
        ready = asyncio.run(store.wait_async(feed_after=0, timeout_ms=NEVER // 2))
    assert ready.feed
    assert len(looks) == 3, "it was woken, once for each"


def test_waiting_in_an_event_loop_lets_others_run(store: fencepost.Store, other: Child) -> None:
    async def both() -> tuple[fencepost.Ready, int]:
        waiter = asyncio.create_task(store.wait_async(feed_after=0, timeout_ms=NEVER))
        ticks = 0
        while ticks < 20:
            await asyncio.sleep(0.005)
            ticks += 1
        assert not waiter.done()
        other.call("feed.record", run_id="r", workflow_ref="w", type="t")
        return await waiter, ticks

    ready, ticks = asyncio.run(both())
    assert (ready.feed, ticks) == (True, 20)


def test_the_loop_goes_on_while_a_thread_waits_for_the_lock(
    store: fencepost.Store, path: Path
) -> None:
    # Of the interpreter's own SQLite, in another process: it holds the write lock.
    code = (
        "import sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute('BEGIN IMMEDIATE')\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdout.readline()
        writer = threading.Thread(
            target=store.feed.set_watermark, kwargs={"session_id": "s", "seq": 1}
        )
        writer.start()
        time.sleep(0.1)

        async def both() -> int:
            waiter = asyncio.create_task(store.wait_async(runs=True, timeout_ms=10))
            ticks = 0
            while ticks < 20:
                await asyncio.sleep(0.005)
                ticks += 1
            assert holder.stdin is not None
            holder.stdin.close()
            assert not await waiter
            return ticks

        began = time.monotonic()
        assert asyncio.run(asyncio.wait_for(both(), NEVER)) == 20
        writer.join()
        assert time.monotonic() - began < 3, "the loop stood still for the busy timeout"


def test_a_cancelled_wait_leaves_its_place(store: fencepost.Store, path: Path) -> None:
    async def cancelled() -> None:
        waiter = asyncio.create_task(store.wait_async(runs=True))
        await asyncio.sleep(0.05)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter

    asyncio.run(cancelled())
    assert not os.listdir(f"{path}-fencepost/bells")


def test_the_folder_of_the_waiters_goes_with_the_store(
    path: Path, engine: str, store: fencepost.Store
) -> None:
    folder = Path(f"{path}-fencepost")
    with fencepost.open(path, engine=engine, read_only=True) as reader:
        assert not reader.wait(feed_after=0, timeout_ms=0)
        assert not os.listdir(folder / "bells"), "nobody waits"
        # Who waits next, or looks for waiters, leaves the folder where it is.
        assert not store.wait(feed_after=0, timeout_ms=0)
        store.feed.record(run_id="r", workflow_ref="w", type="t")
        assert folder.exists()
        waiting = Waiting(store, feed_after=1)
        deadline = time.monotonic() + 30
        while not os.listdir(folder / "bells"):
            assert time.monotonic() < deadline
    store.feed.record(run_id="r", workflow_ref="w", type="t")
    assert waiting.end().feed, "a store that is closed does not remove the others' folder"
    assert folder.exists()
    store.close()
    assert not folder.exists()


def test_a_folder_that_was_left_behind_is_cleared_away(store: fencepost.Store, path: Path) -> None:
    folder = Path(f"{path}-fencepost")
    store.wait(feed_after=0, timeout_ms=0)
    store.feed.record(run_id="r", workflow_ref="w", type="t")
    assert folder.exists()
    long_ago = time.time() - 61
    os.utime(folder / "bells", (long_ago, long_ago))
    store.feed.record(run_id="r", workflow_ref="w", type="t")
    assert not folder.exists()
    waiting = Waiting(store, feed_after=2)
    store.feed.record(run_id="r", workflow_ref="w", type="t")
    assert waiting.end().feed


def test_a_wait_says_what_for(store: fencepost.Store) -> None:
    for wrong in ({}, {"runs": True, "timeout_ms": -1}, {"controllers": "abc"}, {"feed_after": -1}):
        with refused("invalid"):
            store.wait(**wrong)  # type: ignore[arg-type]


def test_without_sockets_everybody_polls(
    store: fencepost.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_socket(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    waiting = Waiting(store, runs=True)
    monkeypatch.setattr("fencepost.rendezvous.socket.socket", no_socket)
    run = {"workflow_name": "w", "workflow_source_ref": "/w", "runner_id": "r", "lease_ms": 60_000}
    # What was committed must not look as if it had failed.
    token = store.runs.enqueue(run_id="a", **run).claim_token
    assert token is not None
    assert not store.wait(runs=True, timeout_ms=30)
    assert store.runs.park(run_id="a", claim_token=token)
    assert store.wait(runs=True, timeout_ms=NEVER).runs
    assert waiting.end().runs


def test_a_cancellation_is_not_lost_in_a_wake_up(store: fencepost.Store) -> None:
    """Where both come at once, the waiter is cancelled, whichever of them it sees first."""

    async def cancelled_after(turns: int) -> bool:
        waiting = asyncio.create_task(store.wait_async(runs=True, timeout_ms=NEVER))
        await asyncio.sleep(0.05)
        store.feed.record(run_id="r", workflow_ref="w", type="t")
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting], timeout=NEVER / 2000)
        return waiting.cancelled()

    assert [asyncio.run(cancelled_after(turns)) for turns in range(8)] == [True] * 8
