"""Signals in the middle of a call."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import fencepost
from fencepost.errors import StoreBusyError
from tests.processes.remote import Child, Interrupted, check_file

RUN: dict[str, Any] = {
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "runner_id": "runner",
    "lease_ms": 60_000,
}


def call_in_handler(*, path: str, engine: str) -> list[str]:
    """A handler that runs inside a call of the same thread, from a clock of Python code."""
    found: list[str] = []
    calling = False

    def handler(number: int, frame: FrameType | None) -> None:
        actions: list[Callable[[], object]] = [lambda: store.runs.get(run_id="a"), store.close]
        for action in actions:
            try:
                action()
            except StoreBusyError as error:
                found.append(f"{error.code} {error.retryable}")
            else:
                found.append("answered")

    def clock() -> int:
        if calling:
            # The handler runs before this line is over.
            signal.raise_signal(signal.SIGUSR1)
        return 1_785_834_000_000

    signal.signal(signal.SIGUSR1, handler)
    store = fencepost.open(path, engine=engine, clock=clock)
    calling = True
    store.runs.enqueue(run_id="a", **RUN)
    calling = False
    found.append(str(store.runs.get(run_id="a") is not None))
    store.close()
    return found


def test_a_handler_inside_a_call_is_refused_instead_of_waiting_for_itself(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    found = start().run(call_in_handler, path=str(path), engine=engine)

    assert found == ["busy True", "busy True", "True"]


def call_in_handler_at_random(*, path: str, engine: str, calls: int) -> dict[str, int]:
    """A timer whose handler calls the store, whatever the store is doing."""
    counts = {"answered": 0, "busy": 0}

    def handler(number: int, frame: FrameType | None) -> None:
        try:
            store.feed.record(run_id="signal", workflow_ref="build", type="tick")
        except StoreBusyError:
            counts["busy"] += 1
        else:
            counts["answered"] += 1

    with fencepost.open(path, engine=engine, synchronous="off") as store:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
        made = 0
        while made < calls or counts["answered"] < 20:
            store.runs.enqueue(run_id=f"run-{made}", **RUN)
            made += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert len(store.runs.list()) == made
        assert store.feed.latest_seq() == counts["answered"]
    return counts


def test_handlers_that_call_the_store_never_hang(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    child = start()
    counts = child.run(call_in_handler_at_random, path=str(path), engine=engine, calls=500)

    assert counts["answered"] >= 20
    check_file(start(), path)


@pytest.mark.parametrize("target", ["runs.enqueue", "runs.claim_next"])
def test_an_interrupt_while_waiting_for_the_lock_leaves_no_transaction(
    start: Callable[..., Child], path: Path, engine: str, target: str
) -> None:
    waiter, holder, other = start().open(path, engine), start(), start().open(path, engine)
    arguments = {
        "runs.enqueue": {"run_id": "run", **RUN},
        "runs.claim_next": {"runner_id": "runner", "lease_ms": 1000},
    }[target]
    waiter.call("runs.list")
    holder.sql(path, "BEGIN IMMEDIATE")
    waiter.begin_call(target, **arguments)
    assert not waiter.answered(0.3)

    waiter.signal(signal.SIGINT)
    # The interrupt comes out at once, or after the wait: it comes out.
    waiter.answered(0.1)
    holder.sql(path, "COMMIT")
    with pytest.raises(Interrupted):
        waiter.end()

    # Neither this process nor another finds the lock held, and the store works on.
    other.call("runs.enqueue", run_id="other", **RUN)
    waiter.call("runs.enqueue", run_id="again", **RUN)
    runs = {run.run_id for run in other.call("runs.list")}
    assert {"other", "again"} <= runs <= {"other", "again", "run"}


def interrupt_at_random(*, path: str, engine: str, interrupts: int) -> dict[str, int]:
    """SIGINT again and again while the main thread writes; the store must work on."""
    main = threading.get_ident()
    choose = random.Random(interrupts)
    acknowledged: list[str] = []
    count = caught = 0
    over = threading.Event()
    armed = threading.Event()

    def interrupt() -> None:
        while not over.is_set():
            armed.wait(1)
            time.sleep(choose.uniform(0, 0.001))
            if armed.is_set():
                armed.clear()
                signal.pthread_kill(main, signal.SIGINT)

    with fencepost.open(path, engine=engine, synchronous="off", busy_timeout_ms=2000) as store:
        interrupter = threading.Thread(target=interrupt)
        interrupter.start()
        while caught < interrupts:
            try:
                armed.set()
                while True:
                    count += 1
                    run_id = f"run-{count}"
                    store.runs.enqueue(run_id=run_id, **RUN)
                    acknowledged.append(run_id)
            except KeyboardInterrupt:
                caught += 1
        over.set()
        armed.set()
        try:
            interrupter.join()
        except KeyboardInterrupt:
            interrupter.join()
        beside: list[fencepost.Run | None] = []
        # Another thread finds the store's own lock free.
        thread = threading.Thread(target=lambda: beside.append(store.runs.get(run_id="run-1")))
        thread.start()
        thread.join(20)
        assert beside, "an interrupt left the store locked"
        present = {run.run_id for run in store.runs.list()}
        assert set(acknowledged) <= present
    return {"made": len(present), "acknowledged": len(acknowledged)}


def test_interrupts_at_random_leave_the_store_working(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    child = start()
    counts = child.run(interrupt_at_random, path=str(path), engine=engine, interrupts=200)

    assert counts["acknowledged"] <= counts["made"] <= counts["acknowledged"] + 200
    other = start().open(path, engine)
    other.call("runs.enqueue", run_id="after", **RUN)
    check_file(start(), path)


def interrupt_beside_threads(*, path: str, engine: str, interrupts: int) -> dict[str, list[str]]:
    """The main thread writes and is interrupted; the others share its transactions."""
    main = threading.get_ident()
    choose = random.Random(interrupts)
    over = threading.Event()
    told: dict[str, list[str]] = {"made": [], "refused": [], "interrupted": []}

    def write(store: fencepost.Store, number: int) -> None:
        count = 0
        while not over.is_set():
            count += 1
            try:
                store.runs.enqueue(run_id=f"{number}-{count}", **RUN)
                told["made"].append(f"{number}-{count}")
            except fencepost.FencepostError as error:
                told["refused"].append(repr(error))

    def interrupt(armed: threading.Event) -> None:
        while not over.is_set():
            armed.wait(1)
            time.sleep(choose.uniform(0, 0.003))
            if armed.is_set():
                armed.clear()
                signal.pthread_kill(main, signal.SIGINT)

    with fencepost.open(path, engine=engine, synchronous="full") as store:
        armed = threading.Event()
        threads = [threading.Thread(target=write, args=(store, number)) for number in (1, 2, 3)]
        threads.append(threading.Thread(target=interrupt, args=(armed,)))
        for thread in threads:
            thread.start()
        count = 0
        while len(told["interrupted"]) < interrupts:
            try:
                armed.set()
                while True:
                    count += 1
                    store.runs.enqueue(run_id=f"main-{count}", **RUN)
                    told["made"].append(f"main-{count}")
            except KeyboardInterrupt:
                told["interrupted"].append(f"main-{count}")
        over.set()
        for thread in threads:
            thread.join()
        told["present"] = [run.run_id for run in store.runs.list()]
    return told


def test_an_interrupt_of_one_thread_is_no_business_of_the_others(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    child = start()
    told = child.run(interrupt_beside_threads, path=str(path), engine=engine, interrupts=150)

    assert told["refused"] == [], "a write of another thread was done twice, or not at all"
    assert set(told["made"]) <= set(told["present"])
    assert set(told["present"]) <= {*told["made"], *told["interrupted"]}
    check_file(start(), path)
