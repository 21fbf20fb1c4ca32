"""Many processes open one new path at the same moment: all succeed."""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import fencepost
from tests.processes.remote import Child, check_file

PROCESSES = 64


def storm(*, path: str, engines: list[str], processes: int) -> list[str]:
    """Fork the processes, let them open `path` together; what failed in which."""
    for engine in set(engines):
        # Loaded before the fork: the opening itself is what should collide.
        fencepost.engine_info(engine)
    ready_out, ready_in = os.pipe()
    go_out, go_in = os.pipe()
    children = []
    for number in range(processes):
        pid = os.fork()
        if pid == 0:
            os.close(go_in)
            os.write(ready_in, b"x")
            os.read(go_out, 1)
            os._exit(_open_and_work(path, engines[number % len(engines)], number))
        children.append(pid)
    waiting = 0
    while waiting < processes:
        waiting += len(os.read(ready_out, processes))
    os.close(go_in)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    for end in (ready_out, ready_in, go_out):
        os.close(end)
    return [f"process {i} ended with {status}" for i, status in enumerate(statuses) if status]


def _open_and_work(path: str, engine: str, number: int) -> int:
    try:
        with fencepost.open(path, engine=engine, busy_timeout_ms=30_000) as store:
            store.runs.enqueue(
                run_id=f"run-{number}",
                workflow_name="storm",
                workflow_source_ref="storm.ts",
                runner_id=f"runner-{number}",
                lease_ms=60_000,
            )
    except fencepost.FencepostError:
        traceback.print_exc()
        sys.stderr.flush()
        return 1
    return 0


def test_all_of_many_processes_open_a_new_path(
    start: Callable[..., Child], tmp_path: Path, engines: list[str]
) -> None:
    # Without folders it is a race for the folders too.
    folders = ("missing", "too") if len(engines) > 1 else ()
    path = tmp_path.joinpath(*folders, "store.sqlite")
    child = start()

    failures = child.run(storm, path=str(path), engines=engines, processes=PROCESSES)

    assert failures == []
    checker = start().open(path, engines[0], name="after")
    runs = checker.call("runs.list", name="after")
    assert sorted(run.run_id for run in runs) == sorted(f"run-{n}" for n in range(PROCESSES))
    assert len({run.fence for run in runs}) == PROCESSES
    assert path.stat().st_mode & 0o777 == 0o600
    check_file(start(), path)
    for depth in range(len(folders)):
        folder = tmp_path.joinpath(*folders[: depth + 1])
        assert folder.stat().st_mode & 0o777 == 0o700


def storm_again(*, folder: str, engines: list[str], paths: int) -> list[int]:
    """A few processes that open one new path after the other, each at the same moment."""
    for engine in engines:
        fencepost.engine_info(engine)
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(len(engines))

    def open_all(engine: str) -> None:
        for number in range(paths):
            barrier.wait(20)
            fencepost.open(f"{folder}/{number}", engine=engine, synchronous="off").close()

    children = [context.Process(target=open_all, args=(engine,)) for engine in engines]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return [child.exitcode or 0 for child in children]


def test_first_openings_collide_often_and_all_succeed(
    start: Callable[..., Child], tmp_path: Path, engines: list[str]
) -> None:
    four = (engines * 4)[:4]
    child = start()

    assert child.run(storm_again, folder=str(tmp_path), engines=four, paths=40) == [0] * 4
    check_file(child, tmp_path / "0")
