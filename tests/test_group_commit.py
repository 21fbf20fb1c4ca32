"""Threads on one store share transactions; each call keeps its own result and error."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import fencepost
from fencepost.engine.python import group_commit
from fencepost.engine.python.group_commit import Job
from fencepost.errors import FencepostError, ResourceNotFoundError, RunExistsError
from fencepost.store import engine_of
from tests.support import refused

NOW = 1_785_801_600_000
THREADS = 24


class Gate:
    """A clock that holds the first call inside its transaction until the gate opens."""

    def __init__(self) -> None:
        self.held = threading.Event()
        self.opened = threading.Event()

    def __call__(self) -> int:
        if not self.held.is_set():
            self.held.set()
            assert self.opened.wait(30)
        return NOW


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def gated(engine: str, tmp_path: Path, gate: Gate) -> Any:
    with fencepost.open(tmp_path / "gated.sqlite", engine=engine, clock=gate) as store:
        yield store


def enqueue(store: fencepost.Store, run_id: str) -> fencepost.Run:
    return store.runs.enqueue(
        run_id=run_id, workflow_name="w", workflow_source_ref="/w", runner_id="A", lease_ms=1000
    )


@pytest.mark.parametrize("gave_up", [0, 2])
def test_who_waits_is_called_also_by_a_read_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gave_up: int
) -> None:
    """And before it nobody whose job was put back after its thread had given up."""
    monkeypatch.setattr(group_commit, "LOOK_AGAIN_SECONDS", 60.0)
    reading, waiting = threading.Event(), threading.Event()

    def clock() -> int:
        if threading.current_thread().name != "reader":
            return NOW
        reading.set()
        assert waiting.wait(30)
        raise OSError("no time")

    def read() -> None:
        with pytest.raises(OSError, match="no time"):
            store.runs.verify(run_id="r", claim_token="t")

    with fencepost.open(tmp_path / "s.sqlite", engine="python", clock=clock) as store:
        reader = threading.Thread(target=read, name="reader")
        writer = threading.Thread(target=enqueue, args=(store, "r"), daemon=True)
        reader.start()
        assert reading.wait(30)
        jobs = engine_of(store)._engine._jobs
        for _ in range(gave_up):
            jobs.append(job := Job(lambda: None))
            job.abandoned = True
        writer.start()
        deadline = time.monotonic() + 30
        while len(jobs) == gave_up and time.monotonic() < deadline:
            time.sleep(0.001)
        assert len(jobs) > gave_up
        waiting.set()
        writer.join(20)
        assert not writer.is_alive()
        reader.join()


def behind(
    store: fencepost.Store, gate: Gate, calls: list[Callable[[], Any]]
) -> list[Any | Exception]:
    """The outcomes of calls that all came while another call was in its transaction."""
    outcomes: list[Any] = [None] * len(calls)

    def do(index: int) -> None:
        try:
            outcomes[index] = calls[index]()
        except FencepostError as error:
            outcomes[index] = error

    first = threading.Thread(target=lambda: enqueue(store, "first"))
    first.start()
    assert gate.held.wait(30)
    others = [threading.Thread(target=do, args=(index,)) for index in range(len(calls))]
    for thread in others:
        thread.start()
    gate.opened.set()
    for thread in [first, *others]:
        thread.join(30)
        assert not thread.is_alive()
    return outcomes


def test_each_call_has_its_own_result(gated: fencepost.Store, gate: Gate) -> None:
    calls = [lambda n=n: enqueue(gated, f"run-{n}") for n in range(THREADS)]
    outcomes = behind(gated, gate, calls)
    assert [run.run_id for run in outcomes] == [f"run-{n}" for n in range(THREADS)]
    assert len(gated.runs.list()) == THREADS + 1
    assert len({run.fence for run in outcomes}) == THREADS


def test_a_refused_call_does_not_undo_the_others(gated: fencepost.Store, gate: Gate) -> None:
    def call(n: int) -> Any:
        if n % 3 == 0:
            return enqueue(gated, "first")
        if n % 3 == 1:
            return gated.queue.enqueue(controller="none", key="none")
        return enqueue(gated, f"run-{n}")

    outcomes = behind(gated, gate, [lambda n=n: call(n) for n in range(THREADS)])
    for n, outcome in enumerate(outcomes):
        wanted = (RunExistsError, ResourceNotFoundError, fencepost.Run)[n % 3]
        assert isinstance(outcome, wanted)
    done = {run.run_id for run in gated.runs.list()}
    assert done == {"first", *(f"run-{n}" for n in range(THREADS) if n % 3 == 2)}


def test_a_failing_clock_fails_its_own_call(engine: str, tmp_path: Path) -> None:
    class Broken(RuntimeError):
        pass

    local = threading.local()
    gate = Gate()

    def clock() -> int:
        if getattr(local, "broken", False):
            raise Broken
        return gate()

    with fencepost.open(tmp_path / "store.sqlite", engine=engine, clock=clock) as store:
        calls = [lambda n=n: enqueue(store, f"run-{n}") for n in range(4)]
        assert all(isinstance(outcome, fencepost.Run) for outcome in behind(store, gate, calls))
        local.broken = True
        with pytest.raises(Broken):
            enqueue(store, "never")
        local.broken = False
        assert store.runs.get(run_id="never") is None
        enqueue(store, "after")


def test_commits_are_shared(gated: fencepost.Store, gate: Gate) -> None:
    enqueue_bytes = _wal_growth(gated, gate)
    alone = [_growth_of(gated, lambda n=n: enqueue(gated, f"alone-{n}")) for n in range(8)]
    # Shared, so many inserts write the same few pages once; alone, each writes them again.
    assert enqueue_bytes < sum(alone) / len(alone) * THREADS / 2


def test_who_is_served_does_not_wait_for_the_next_commit(path: str) -> None:
    committed, served = threading.Event(), [threading.Event() for _ in range(THREADS)]

    def at(point: str) -> None:
        if point == "committed":
            committed.set()
        elif point == "begun" and committed.is_set():
            # The next commit is under way, and takes as long as the others need.
            assert all(event.wait(10) for event in served)

    def record(type: str) -> None:
        store.feed.record(run_id="r", workflow_ref="w", type=type)

    def twice() -> None:
        record("first")
        record("next")

    def once(then: threading.Event) -> None:
        record("other")
        then.set()

    gate = Gate()
    with fencepost.open(path, engine="python", synchronous="off", clock=gate) as store:
        engine: Any = engine_of(store)
        engine._engine._probe = at
        with ThreadPoolExecutor(THREADS + 1) as threads:
            calls = [threads.submit(twice)]
            assert gate.held.wait(30)
            calls += [threads.submit(once, event) for event in served]
            deadline = time.monotonic() + 30
            while len(engine._engine._jobs) < THREADS and time.monotonic() < deadline:
                time.sleep(0.001)
            assert len(engine._engine._jobs) >= THREADS
            gate.opened.set()
            for call in calls:
                call.result(60)
        assert [event.type for event in store.feed.after(seq=0)] == [
            *("first", *["other"] * THREADS, "next")
        ]


def _wal_growth(store: fencepost.Store, gate: Gate) -> int:
    before = os.stat(f"{store.path}-wal").st_size
    behind(store, gate, [lambda n=n: enqueue(store, f"run-{n}") for n in range(THREADS)])
    return os.stat(f"{store.path}-wal").st_size - before


def _growth_of(store: fencepost.Store, call: Callable[[], Any]) -> int:
    before = os.stat(f"{store.path}-wal").st_size
    call()
    return os.stat(f"{store.path}-wal").st_size - before


def test_threads_wait_each_for_its_own_timeout(engine: str, path: str) -> None:
    """Neither is one that came later refused along with the first, nor does it wait anew."""
    timeout = 2.0
    with (
        fencepost.open(path, engine=engine, busy_timeout_ms=int(timeout * 1000)) as store,
        held_elsewhere(path),
    ):
        lasted: list[float] = []

        def write() -> None:
            began = time.monotonic()
            with refused("busy"):
                enqueue(store, f"run-{began}")
            lasted.append(time.monotonic() - began)

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
            # The next one comes while this one waits for the lock.
            thread.join(timeout / 5)
            assert thread.is_alive()
        for thread in threads:
            thread.join(30)
    assert len(lasted) == 4
    assert min(lasted) >= timeout
    assert max(lasted) < 1.5 * timeout


@contextmanager
def held_elsewhere(path: str) -> Iterator[None]:
    """Another process has the write lock."""
    code = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('BEGIN IMMEDIATE')\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield


def test_an_interrupt_before_the_rollback_leaves_no_transaction_open(
    path: str, other_process: Callable[[str], str]
) -> None:
    def interrupt(frame: FrameType, _: str, __: object) -> None:
        # Signal handlers run at the start of a function, too.
        if frame.f_code.co_name == "_roll_back":
            raise KeyboardInterrupt

    with fencepost.open(path, engine="python", synchronous="off") as store:
        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                store.resources.request_deletion(controller="c", key="k")
        finally:
            sys.settrace(before)
        assert other_process(path) == "written"


def test_a_transaction_that_was_left_open_does_not_join_the_next(
    path: str, other_process: Callable[[str], str]
) -> None:
    with fencepost.open(path, engine="python", synchronous="off") as store:
        engine: Any = engine_of(store)
        for call in (
            lambda: store.feed.watermark(session_id="s"),
            lambda: store.feed.set_watermark(session_id="s", seq=1),
        ):
            engine._execute("connection.begin")
            call()
            assert other_process(path) == "written"


def test_a_thread_that_gives_up_fails_no_others_call(path: str) -> None:
    class Leaving(deque[Job]):
        """Jobs of threads that give up (Ctrl-C) as soon as they are counted."""

        def __len__(self) -> int:
            counted = super().__len__()
            self.clear()
            return counted

    with fencepost.open(path, engine="python", synchronous="off") as store:
        engine: Any = engine_of(store)
        engine._engine._jobs = Leaving([Job(lambda: None)])
        with ThreadPoolExecutor() as threads:
            threads.submit(store.feed.set_watermark, session_id="s", seq=1).result(30)
        assert store.feed.watermark(session_id="s") == 1


@pytest.fixture
def other_process() -> Callable[[str], str]:
    """Writes to a file from another process."""
    code = (
        "import sys, fencepost\n"
        "with fencepost.open(sys.argv[1], busy_timeout_ms=500) as store:\n"
        "    store.feed.set_watermark(session_id='s', seq=1)\n"
        "print('written')\n"
    )

    def write(path: str) -> str:
        command = [sys.executable, "-W", "ignore", "-c", code, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        return (done.stdout + done.stderr).strip()

    return write
