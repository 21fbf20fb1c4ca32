"""Ctrl-C while a call waits: for another process's lock, or behind another thread."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import fencepost
from fencepost.errors import StoreBusyError
from tests.processes.remote import Child, check_file

RUN = {
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "runner_id": "runner",
    "lease_ms": 60_000,
}
# It takes about a twentieth; the rest is for a machine that is busy with other things.
SOON = 1.0


def wait_for_the_lock(*, path: str, engine: str, threads: int) -> tuple[float, list[str]]:
    """How long after the signal the main thread had its interrupt; how the others ended.

    The others come first, so with them the main thread waits behind a thread that waits.
    """
    ends: list[str] = []

    def write(number: int) -> None:
        try:
            store.runs.enqueue(run_id=f"thread-{number}", **RUN)
        except StoreBusyError as error:
            ends.append(error.code)

    def interrupt() -> None:
        waiting.wait()
        sent.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    waiting, sent = threading.Event(), [0.0]
    with fencepost.open(path, engine=engine, busy_timeout_ms=3000) as store:
        others = [threading.Thread(target=write, args=(number,)) for number in range(threads)]
        for thread in others:
            thread.start()
        threading.Timer(0.3, waiting.set).start()
        threading.Thread(target=interrupt).start()
        try:
            store.runs.enqueue(run_id="main", **RUN)
        except KeyboardInterrupt:
            took = time.monotonic() - sent[-1]
        for thread in others:
            thread.join()
    return took, ends


@pytest.mark.parametrize("threads", [0, 2])
def test_an_interrupt_ends_the_wait_soon(
    start: Callable[..., Child], path: Path, engine: str, threads: int
) -> None:
    other, holder = start().open(path, engine), start()
    other.call("runs.list")
    holder.sql(path, "BEGIN IMMEDIATE")
    took, ends = start().run(wait_for_the_lock, path=str(path), engine=engine, threads=threads)
    holder.sql(path, "COMMIT")

    assert took < SOON
    assert ends == ["busy"] * threads
    # No transaction is open, and what was interrupted was not done.
    other.call("runs.enqueue", run_id="after", **RUN)
    assert [run.run_id for run in other.call("runs.list")] == ["after"]
    check_file(start(), path)


def call_from_a_handler(*, path: str, engine: str) -> list[str]:
    """A handler that calls the store while its thread waits, then lets it go on waiting."""
    found: list[str] = []

    def handler(number: int, frame: FrameType | None) -> None:
        for action in (lambda: store.runs.get(run_id="a"), store.close):
            try:
                action()
            except StoreBusyError as error:
                found.append(f"{error.code} {error.retryable}")
            else:
                found.append("answered")

    signal.signal(signal.SIGALRM, handler)
    with fencepost.open(path, engine=engine, busy_timeout_ms=1000) as store:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            store.runs.enqueue(run_id="main", **RUN)
        except StoreBusyError:
            found.append("over")
    return found


def test_a_handler_during_the_wait_is_refused_and_the_wait_goes_on(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    start().open(path, engine).close()
    holder = start()
    holder.sql(path, "BEGIN IMMEDIATE")
    found = start().run(call_from_a_handler, path=str(path), engine=engine)

    assert found == ["busy True", "busy True", "over"]
