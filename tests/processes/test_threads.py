"""One store, many threads."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.errors import StoreClosedError
from tests.processes import calls
from tests.processes.remote import Child, check_file

THREADS = 8
RUN: dict[str, Any] = {
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "lease_ms": 3_600_000,
}


def _in_threads(work: Callable[[int], None], threads: int = THREADS) -> None:
    """Run `work` in threads that start together; the first failure is raised here."""
    barrier = threading.Barrier(threads)
    failures: list[BaseException] = []

    def body(number: int) -> None:
        barrier.wait()
        work(number)

    hook = threading.excepthook
    threading.excepthook = lambda args: failures.append(args.exc_value or RuntimeError())
    try:
        running = [threading.Thread(target=body, args=(number,)) for number in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    finally:
        threading.excepthook = hook
    if failures:
        raise failures[0]


def _mixed(store: fencepost.Store, number: int, rounds: int, done: list[str]) -> None:
    choose = random.Random(number)
    for turn in range(rounds):
        run_id = f"{number}-{turn}"
        made = store.runs.enqueue(run_id=run_id, runner_id=f"r{number}", **RUN)
        assert store.runs.park(run_id=run_id, claim_token=made.claim_token or "")
        store.resources.put(
            controller="site", key=f"k{choose.randrange(3)}", spec=run_id, initial_status=None
        )
        run = store.runs.claim_next(runner_id=f"r{number}", lease_ms=3_600_000)
        if run is not None and store.runs.complete(
            run_id=run.run_id, claim_token=run.claim_token or ""
        ):
            done.append(run.run_id)
        claim = store.queue.claim_next(controllers=["site"], lease_ms=3_600_000)
        if claim is not None:
            assert store.queue.settle(claim=claim)
        store.feed.record(run_id=run_id, workflow_ref="build", type="turn")
        assert store.runs.get(run_id=run_id) is not None
        assert store.feed.latest_seq() > turn


def share(*, path: str, engine: str) -> tuple[list[str], int]:
    """Threads with mixed work on one store that another thread opened."""
    opened: list[fencepost.Store] = []
    opener = threading.Thread(
        target=lambda: opened.append(fencepost.open(path, engine=engine, synchronous="off"))
    )
    opener.start()
    opener.join()
    done: list[str] = []
    with opened[0] as store:
        _in_threads(lambda number: _mixed(store, number, 40, done))
        left = store.runs.claim_many(runner_id="rest", lease_ms=1000, limit=10_000)
        done.extend(run.run_id for run in left if isinstance(run, fencepost.Run))
        return done, store.feed.latest_seq()


def test_threads_share_a_store(start: Callable[..., Child], path: Path, engine: str) -> None:
    done, events = start().run(share, path=str(path), engine=engine)

    assert sorted(done) == sorted(f"{number}-{turn}" for number in range(8) for turn in range(40))
    assert events == THREADS * 40
    check_file(start(), path)


def close_beside(*, path: str, engine: str, rounds: int) -> int:
    """Close, from two threads at once, while the others work; how many saw it closed."""
    closed = 0
    for turn in range(rounds):
        store = fencepost.open(path, engine=engine, synchronous="off")
        ends = _close_under(store, turn)
        closed += len(ends)
        with fencepost.open(path, engine=engine) as again:
            present = {run.run_id for run in again.runs.list()}
        assert {run_id for made in ends for run_id in made} <= present
    return closed


def _close_under(store: fencepost.Store, turn: int) -> list[list[str]]:
    """What each working thread had acknowledged when it found the store closed."""
    busy = threading.Event()
    ends: list[list[str]] = []

    def work(number: int) -> None:
        if number < 2:
            busy.wait()
            store.close()
            return
        ends.append(_until_closed(store, f"{turn}-{number}", busy))

    _in_threads(work)
    return ends


def _until_closed(store: fencepost.Store, name: str, busy: threading.Event) -> list[str]:
    made: list[str] = []
    try:
        while True:
            run_id = f"{name}-{len(made)}"
            store.runs.enqueue(run_id=run_id, runner_id="r", **RUN)
            made.append(run_id)
            if len(made) == 3:
                busy.set()
    except StoreClosedError:
        return made


def test_close_while_others_work(start: Callable[..., Child], path: Path, engine: str) -> None:
    closed = start().run(close_beside, path=str(path), engine=engine, rounds=5)

    assert closed == 5 * (THREADS - 2)
    check_file(start(), path)


def test_close_twice_and_use_after(engine: str, tmp_path: Path) -> None:
    store = fencepost.open(tmp_path / "store.sqlite", engine=engine)
    pages = store.runs.iterate()
    store.close()
    store.close()
    with store:
        pass

    assert set(calls.outcomes(store).values()) == {"closed"}
    with pytest.raises(StoreClosedError):
        next(pages)
    assert repr(store)


def open_and_close(*, path: str, engine: str) -> int:
    """Threads that open, work on and close stores of one file, over and over."""

    def work(number: int) -> None:
        for turn in range(10):
            with fencepost.open(path, engine=engine, synchronous="off") as store:
                store.runs.enqueue(run_id=f"{number}-{turn}", runner_id="r", **RUN)

    _in_threads(work)
    with fencepost.open(path, engine=engine) as store:
        return len(store.runs.list())


def test_threads_open_and_close_one_file(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    strict = start(python=["-W", "error::fencepost.GuardWarning"])

    assert strict.run(open_and_close, path=str(path), engine=engine) == THREADS * 10
    check_file(start(), path)


def wait_in_line(*, path: str, engine: str, turned: str) -> None:
    """While one thread waits for another process's lock, this one makes its turns."""
    store = fencepost.open(path, engine=engine, busy_timeout_ms=30_000)
    waiter = threading.Thread(
        target=lambda: store.runs.enqueue(run_id="late", runner_id="r", **RUN)
    )
    waiter.start()
    turns = 0
    while waiter.is_alive():
        waiter.join(0.005)
        turns += 1
        if turns == 20:
            Path(turned).touch()
    store.close()


def test_a_waiting_thread_does_not_stop_the_others(
    start: Callable[..., Child], path: Path, tmp_path: Path, engine: str
) -> None:
    start().open(path, engine).close()
    holder, waiter, turned = start(), start(), tmp_path / "turned"
    holder.sql(path, "BEGIN IMMEDIATE")
    waiter.begin_run(wait_in_line, path=str(path), engine=engine, turned=str(turned))
    while not turned.exists():
        assert not waiter.answered(0.01)
    holder.sql(path, "COMMIT")
    waiter.end()

    assert holder.sql(path, "SELECT run_id FROM workflow_run_queue") == [[("late",)]]
