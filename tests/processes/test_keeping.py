"""A kept lease: renewed while its owner works, and known to be lost as soon as it is."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.errors import (
    InvalidArgumentError,
    LeaseLostError,
    StoreBusyError,
    StoreClosedError,
    StoreFullError,
    StoreIOError,
)
from fencepost.keeping import Lease
from tests.conftest import OpenStore
from tests.processes.remote import Child
from tests.support import SetClock, enqueue, park, put

LEASE = 600
FAR = 20_000
"""Milliseconds after which a test gives up."""


@pytest.fixture
def live(path: Path, engine: str) -> Iterator[fencepost.Store]:
    """A store that goes by the system's clock."""
    with fencepost.open(path, engine=engine, synchronous="off", busy_timeout_ms=50) as opened:
        yield opened


def claimed(store: fencepost.Store, lease_ms: int = LEASE) -> fencepost.Run:
    return enqueue(store, lease_ms=lease_ms, now=None)


def due(store: fencepost.Store, lease_ms: int = LEASE) -> fencepost.QueueClaim:
    put(store, now=None)
    claim = store.queue.claim_next(controllers=["ctl"], lease_ms=lease_ms)
    assert claim is not None
    return claim


def eventually(holds: Callable[[], bool]) -> None:
    end, pause = time.monotonic() + FAR / 1000, threading.Event()
    while not holds():
        assert time.monotonic() < end
        pause.wait(0.005)


def keep_for_ever(*, path: str, engine: str) -> str:
    """In a child: keep a run, and say what is known of it once it is lost."""
    with fencepost.open(path, engine=engine, synchronous="off") as store:
        run = store.runs.claim_next(runner_id="child", lease_ms=LEASE)
        assert run is not None
        with store.keep(claim=run, lease_ms=LEASE) as lease:
            eventually(lambda: lease.lost)
            assert not store.runs.verify(**run.claim)
            try:
                lease.check()
            except LeaseLostError as lost:
                return str(lost)
    return "not lost"


def test_a_kept_run_is_nobody_elses(live: fencepost.Store) -> None:
    with live.keep(claim=claimed(live), lease_ms=LEASE) as lease:
        assert not live.wait(runs=True, timeout_ms=3 * LEASE)
        assert not lease.lost
        lease.check()
        assert lease.renew()
        assert lease.fence == 1


def test_a_kept_key_is_nobody_elses(live: fencepost.Store) -> None:
    claim = due(live)
    with live.keep(claim=claim, lease_ms=LEASE) as lease:
        assert not live.wait(controllers=["ctl"], timeout_ms=3 * LEASE)
        assert not lease.lost
    assert live.queue.settle(claim=claim)


def test_after_the_block_nothing_renews(live: fencepost.Store) -> None:
    with live.keep(claim=claimed(live), lease_ms=LEASE) as lease:
        pass
    assert live.wait(runs=True, timeout_ms=FAR)
    assert lease.lost
    assert not [thread for thread in threading.enumerate() if "keeps" in thread.name]


def test_the_end_is_known_without_asking_the_store(open_store: OpenStore, clock: SetClock) -> None:
    store = open_store()
    run = enqueue(store, lease_ms=FAR)
    with store.keep(claim=run, lease_ms=FAR) as lease:
        clock.advance(FAR - 1)
        assert not lease.lost
        clock.advance(1)
        assert lease.lost
        with pytest.raises(LeaseLostError, match="the lease on r is lost"):
            lease.check()
        store.close()
        assert not lease.renew()
        clock.advance(-FAR)
        assert lease.lost, "what is lost stays lost"


def test_a_renewal_counts_from_now(open_store: OpenStore, clock: SetClock) -> None:
    store = open_store()
    with store.keep(claim=enqueue(store, lease_ms=FAR), lease_ms=FAR) as lease:
        clock.advance(FAR - 1)
        assert lease.renew()
        clock.advance(FAR - 1)
        assert not lease.lost


def test_a_renewal_for_less_than_the_claim_ends_earlier(
    open_store: OpenStore, clock: SetClock
) -> None:
    store = open_store()
    lease = store.keep(claim=enqueue(store, lease_ms=FAR), lease_ms=LEASE)
    assert lease.renew()
    assert lease.left_ms == LEASE
    clock.advance(LEASE)
    assert store.runs.claim_next(runner_id="other", lease_ms=FAR)
    assert lease.lost


def test_the_end_moves_with_a_clock_that_was_set_back(
    open_store: OpenStore, clock: SetClock
) -> None:
    store = open_store()
    lease = store.keep(claim=enqueue(store, lease_ms=LEASE), lease_ms=LEASE)
    clock.advance(-FAR)
    assert lease.renew()
    clock.advance(LEASE)
    assert store.runs.claim_next(runner_id="other", lease_ms=FAR)
    assert lease.lost


def test_a_claim_that_was_taken_away_is_lost(live: fencepost.Store) -> None:
    run = claimed(live, FAR)
    with live.keep(claim=run, lease_ms=FAR, every_ms=20) as lease:
        assert live.runs.park(**run.claim)
        eventually(lambda: lease.lost)
        assert lease.error is None


def test_one_that_can_not_be_renewed_is_lost_at_its_end(
    live: fencepost.Store, path: Path, start: Callable[..., Child]
) -> None:
    holder = start()
    run = claimed(live, 5 * LEASE)
    holder.sql(path, "BEGIN IMMEDIATE")
    with live.keep(claim=run, lease_ms=LEASE, every_ms=20) as lease:
        assert live.wait(runs=True, timeout_ms=FAR)
        assert lease.lost
        with pytest.raises(LeaseLostError) as lost:
            lease.check()
        assert isinstance(lost.value.__cause__, StoreBusyError)
    holder.sql(path, "COMMIT")


def test_a_busy_store_is_asked_again(
    live: fencepost.Store, path: Path, start: Callable[..., Child]
) -> None:
    holder = start()
    run = claimed(live, 5 * LEASE)
    holder.sql(path, "BEGIN IMMEDIATE")
    with live.keep(claim=run, lease_ms=LEASE, every_ms=20) as lease:
        eventually(lambda: lease.error is not None)
        holder.sql(path, "COMMIT")
        assert not live.wait(runs=True, timeout_ms=5 * LEASE)
        assert not lease.lost
        assert lease.error is None, "it was renewed since"


@pytest.mark.parametrize("error", [StoreFullError("full"), StoreIOError("io")])
def test_a_store_that_fails_once_is_asked_again(
    error: fencepost.FencepostError, live: fencepost.Store
) -> None:
    answers: list[fencepost.FencepostError | bool] = [error, True]
    asked: list[object] = []

    def renew() -> bool:
        asked.append(answer := answers[min(len(asked), 1)])
        if isinstance(answer, fencepost.FencepostError):
            raise answer
        return answer

    run = claimed(live, FAR)
    ends = int(time.time() * 1000) + FAR
    clock = fencepost.clock.system_clock
    with Lease(run, renew, clock, ends, lease_ms=FAR, every_ms=20) as lease:
        eventually(lambda: len(asked) > 1)
        assert not lease.lost


def test_with_the_store_closed_it_is_lost(live: fencepost.Store) -> None:
    with live.keep(claim=claimed(live, FAR), lease_ms=FAR, every_ms=20) as lease:
        live.close()
        eventually(lambda: lease.lost)
        assert isinstance(lease.error, StoreClosedError)


def test_a_paused_owner_knows_that_it_has_lost(
    live: fencepost.Store, path: Path, engine: str, start: Callable[..., Child]
) -> None:
    park(live, now=None)
    owner = start()
    owner.begin_run(keep_for_ever, path=str(path), engine=engine)
    eventually(lambda: live.runs.list(status="claimed") != [])
    assert not live.wait(runs=True, timeout_ms=3 * LEASE)
    owner.pause()
    assert live.wait(runs=True, timeout_ms=FAR)
    assert live.runs.claim_next(runner_id="other", lease_ms=FAR)
    owner.resume()
    assert owner.end().startswith("the lease on r is lost")


def test_the_run_of_a_killed_keeper_is_taken_over(
    live: fencepost.Store, path: Path, engine: str, start: Callable[..., Child]
) -> None:
    park(live, now=None)
    owner = start()
    owner.begin_run(keep_for_ever, path=str(path), engine=engine)
    eventually(lambda: live.runs.list(status="claimed") != [])
    owner.kill()
    assert live.wait(runs=True, timeout_ms=FAR)
    assert live.runs.claim_next(runner_id="other", lease_ms=FAR)


@pytest.mark.parametrize(
    "bad",
    [
        {"claim": "r"},
        {"claim": None},
        {"lease_ms": 0},
        {"lease_ms": 1.5},
        {"every_ms": 0},
        {"every_ms": True},
    ],
    ids=str,
)
def test_bad_arguments(store: fencepost.Store, bad: dict[str, Any]) -> None:
    good: dict[str, Any] = {"claim": enqueue(store), "lease_ms": LEASE}
    with pytest.raises(InvalidArgumentError, match=next(iter(bad))):
        store.keep(**{**good, **bad})


def test_a_run_that_nobody_has_claimed_is_not_kept(store: fencepost.Store) -> None:
    park(store)
    run = store.runs.get(run_id="r")
    assert run is not None
    with pytest.raises(InvalidArgumentError, match="not claimed"):
        store.keep(claim=run, lease_ms=LEASE)


def test_a_run_kept_by_a_task_is_nobody_elses(live: fencepost.Store) -> None:
    async def work() -> fencepost.Lease:
        async with live.keep(claim=claimed(live), lease_ms=LEASE) as lease:
            assert not await live.wait_async(runs=True, timeout_ms=3 * LEASE)
            assert 0 < lease.left_ms <= LEASE
        return lease

    lease = asyncio.run(work())
    assert live.wait(runs=True, timeout_ms=FAR), "after the block nothing renews"
    assert lease.lost


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_task_ends_also_where_its_renewals_died_at_once(path: Path, engine: str) -> None:
    def clock() -> int:
        if threading.current_thread().name.startswith("fencepost keeps"):
            raise OSError("no time")
        return time.time_ns() // 1_000_000

    async def work(store: fencepost.Store) -> None:
        async with asyncio.timeout(FAR / 1000), store.keep(claim=claimed(store), lease_ms=FAR):
            pass

    with fencepost.open(path, engine=engine, clock=clock) as store:
        asyncio.run(work(store))


def test_the_loss_interrupts_a_task(live: fencepost.Store) -> None:
    async def work() -> None:
        run = claimed(live, FAR)
        async with live.keep(claim=run, lease_ms=FAR, every_ms=20):
            assert live.runs.park(**run.claim)
            await asyncio.sleep(FAR / 1000)

    begun = time.monotonic()
    with pytest.raises(LeaseLostError, match="the lease on r is lost"):
        asyncio.run(work())
    assert time.monotonic() - begun < FAR / 1000


def test_the_end_interrupts_a_task_while_the_renewal_still_waits(
    path: Path, engine: str, start: Callable[..., Child]
) -> None:
    holder = start()

    async def work(store: fencepost.Store) -> None:
        run = claimed(store)
        holder.sql(path, "BEGIN IMMEDIATE")
        async with store.keep(claim=run, lease_ms=LEASE):
            await asyncio.sleep(FAR / 1000)

    with fencepost.open(path, engine=engine, busy_timeout_ms=FAR) as store:
        begun = time.monotonic()
        with pytest.raises(LeaseLostError):
            asyncio.run(work(store))
        assert time.monotonic() - begun < FAR / 1000
        holder.sql(path, "COMMIT")


def test_a_cancellation_by_others_stays_one(live: fencepost.Store) -> None:
    async def work(*, lost: bool) -> None:
        run = claimed(live, FAR)
        task = asyncio.current_task()
        assert task is not None
        async with live.keep(claim=run, lease_ms=FAR, every_ms=20) as lease:
            assert live.runs.delete(**run.claim)
            if lost:
                eventually(lambda: lease.lost)
            task.cancel()
            await asyncio.sleep(FAR / 1000)

    for lost in (False, True):
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(work(lost=lost))


def test_a_block_that_ends_in_time_is_not_interrupted(live: fencepost.Store) -> None:
    async def work() -> str:
        run = claimed(live, FAR)
        async with live.keep(claim=run, lease_ms=FAR, every_ms=20) as lease:
            assert live.runs.park(**run.claim)
            eventually(lambda: lease.lost)  # the loop does not get to run
        await asyncio.sleep(0)
        return "worked on"

    assert asyncio.run(work()) == "worked on"


def test_the_end_of_a_task_s_claim_comes_after_the_last_renewal(
    live: fencepost.Store, caplog: pytest.LogCaptureFixture
) -> None:
    """Else the renewal that is under way would be told as a loss."""
    begun, go = threading.Event(), threading.Event()

    async def work() -> None:
        run = claimed(live, FAR)
        lease = live.keep(claim=run, lease_ms=FAR, every_ms=1)
        renew = lease._renew

        def renew_late() -> bool:
            begun.set()
            assert go.wait(FAR / 1000)
            return renew()

        lease._renew = renew_late
        async with lease:
            assert begun.wait(FAR / 1000)
            asyncio.get_running_loop().call_soon(go.set)
        assert live.runs.complete(**run.claim)
        go.set()
        lease._thread.join()
        assert not lease.lost

    asyncio.run(work())
    assert not [record for record in caplog.records if "refused" in record.getMessage()]


def test_a_lease_that_is_entered_again_interrupts_nobody_later(live: fencepost.Store) -> None:
    async def work() -> str:
        lease = live.keep(claim=claimed(live), lease_ms=LEASE)
        async with lease:
            with pytest.raises(RuntimeError):
                await lease.__aenter__()
        assert await live.wait_async(runs=True, timeout_ms=FAR)
        assert lease.lost
        await asyncio.sleep(0)
        return "worked on"

    assert asyncio.run(work()) == "worked on"
