"""A store that a forked child inherits: refused there, and whole in the parent."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from tests.processes import calls
from tests.processes.remote import Child, check_file

RUN: dict[str, Any] = {
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "runner_id": "parent",
    "lease_ms": 60_000,
}
THIRD = """
import fencepost, sys
with fencepost.open(sys.argv[1], engine=sys.argv[2]) as store:
    store.runs.enqueue(run_id=sys.argv[3], workflow_name="w", workflow_source_ref="s",
                       runner_id="third", lease_ms=1000)
    print(len(store.runs.list()))
"""
TAKE_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
    print("taken")
except sqlite3.OperationalError as error:
    print(error)
"""


def _script(text: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", text, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _in_fork(work: Callable[[], Any], *, leave: str) -> Any:
    """What `work` gives in a forked child, which then leaves through `leave`."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        os.write(into, json.dumps(work()).encode())
        os.close(into)
        if leave == "_exit":
            os._exit(0)
        sys.exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as answer:
        result = json.loads(answer.read())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return result


def _code(action: Callable[[], Any]) -> str:
    try:
        action()
    except fencepost.FencepostError as error:
        return error.code
    return "none"


def fork_and_go_on(*, path: str, engine: str, third: list[str], leave: str) -> dict[str, Any]:
    """Everything a child may try, then a normal life of the parent."""
    store = fencepost.open(path, engine=engine)
    store.runs.enqueue(run_id="before", **RUN)

    def in_child() -> dict[str, Any]:
        result = {
            "calls": calls.outcomes(store),
            "open": _code(lambda: fencepost.open(path, engine=engine)),
            "open read-only": _code(lambda: fencepost.open(path, engine=engine, read_only=True)),
            "close": _code(store.close),
            "leave": _code(lambda: store.__exit__(None, None, None)),
            "after close": _code(lambda: store.runs.get(run_id="before")),
            "elsewhere": _code(lambda: fencepost.open(path + ".mine", engine=engine).close()),
        }
        gc.collect()
        return result

    log = os.stat(path + "-wal")
    result: dict[str, Any] = _in_fork(in_child, leave=leave)
    same_log = os.stat(path + "-wal")
    assert (log.st_ino, log.st_size) == (same_log.st_ino, same_log.st_size)
    store.runs.enqueue(run_id="after", **RUN)
    result["third"] = [_script(THIRD, path, name, name) for name in third]
    result["parent"] = sorted(run.run_id for run in store.runs.list())
    store.close()
    return result


@pytest.mark.parametrize("leave", ["_exit", "sys.exit"])
def test_a_forked_child_is_refused_and_harms_nothing(
    start: Callable[..., Child], path: Path, engine: str, engines_here: tuple[str, ...], leave: str
) -> None:
    third = sorted(engines_here, key=engine.__ne__)
    result = start().run(fork_and_go_on, path=str(path), engine=engine, third=third, leave=leave)

    assert set(result["calls"].values()) == {"forked"}, result["calls"]
    assert result["open"] == result["open read-only"] == "forked"
    assert result["close"] == result["leave"] == "none"
    assert result["after close"] == "forked"
    assert result["elsewhere"] == "none"
    assert result["third"] == ["3", "4"][: len(third)]
    assert result["parent"] == sorted(["before", "after", *third])
    check_file(start(), path)


def test_every_method_is_tried(engine: str, tmp_path: Path) -> None:
    with fencepost.open(tmp_path / "store.sqlite", engine=engine) as store:
        assert calls.all_methods(store) == set(calls.CALLS)


def drop_in_child(*, path: str, engine: str) -> list[int]:
    """How many descriptors of the database a child has, before and after it drops the store."""
    stores = [fencepost.open(path, engine=engine)]
    stores[0].runs.enqueue(run_id="before", **RUN)

    def in_child() -> list[int]:
        before = _descriptors(path)
        stores[0].close()
        stores.clear()
        gc.collect()
        return [before, _descriptors(path)]

    counts: list[int] = _in_fork(in_child, leave="sys.exit")
    stores[0].close()
    return counts


def _descriptors(path: str) -> int:
    file = os.stat(path)
    names = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return sum(os.path.exists(name) and os.path.samestat(os.stat(name), file) for name in names)


def test_a_forked_child_never_closes_the_connection(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not show a process's descriptors")
    before, after = start().run(drop_in_child, path=str(path), engine=engine)

    assert before == after > 0


def fork_inside_a_transaction(*, path: str, engine: str, leave: str) -> list[str]:
    """The clock is called with the write lock held: fork there, and see who has it after."""
    found: list[str] = []
    forking = False

    def clock() -> int:
        if forking:
            before = _script(TAKE_LOCK, path)
            _in_fork(lambda: gc.collect() and None, leave=leave)
            found.extend([before, _script(TAKE_LOCK, path)])
        return 1_785_834_000_000

    with fencepost.open(path, engine=engine, clock=clock) as store:
        forking = True
        store.runs.enqueue(run_id="run", **RUN)
        forking = False
        found.append(_script(THIRD, path, engine, "third"))
        found.extend(sorted(run.run_id for run in store.runs.list()))
    return found


@pytest.mark.parametrize("leave", ["_exit", "sys.exit"])
def test_a_forked_child_does_not_drop_the_parents_lock(
    start: Callable[..., Child], path: Path, engine: str, leave: str
) -> None:
    found = start().run(fork_inside_a_transaction, path=str(path), engine=engine, leave=leave)

    locked = "database is locked"
    assert found == [locked, locked, "2", "run", "third"]
    check_file(start(), path)


def fork_beside_busy_threads(*, path: str, engine: str) -> int:
    """Threads write while the process forks; children leave through the interpreter's end."""
    with fencepost.open(path, engine=engine, synchronous="off") as store:
        over = threading.Event()
        counts = [0, 0]

        def write(number: int) -> None:
            while not over.is_set():
                store.runs.enqueue(run_id=f"{number}-{counts[number]}", **RUN)
                counts[number] += 1

        threads = [threading.Thread(target=write, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        refused = [
            _in_fork(lambda: _code(lambda: store.runs.get(run_id="0-0")), leave="sys.exit")
            for _ in range(6)
        ]
        over.set()
        for thread in threads:
            thread.join()
        assert set(refused) == {"forked"}
        assert len(store.runs.list()) == sum(counts)
        return sum(counts)


def test_forks_beside_busy_threads(start: Callable[..., Child], path: Path, engine: str) -> None:
    made = start().run(fork_beside_busy_threads, path=str(path), engine=engine)

    looker = start().open(path, engine)
    assert len(looker.call("runs.list")) == made > 0
    check_file(start(), path)


def fork_by_multiprocessing(*, path: str, engine: str) -> list[str]:
    """The `fork` way of multiprocessing inherits, `spawn` and a subprocess do not."""
    with fencepost.open(path, engine=engine) as store:
        store.runs.enqueue(run_id="before", **RUN)
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        child = context.Process(
            target=lambda: queue.put(_code(lambda: store.runs.get(run_id="before")))
        )
        child.start()
        answer = queue.get()
        child.join()
        assert child.exitcode == 0
        return [answer, _script(THIRD, path, engine, "executed")]


def test_multiprocessing_and_subprocesses(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    answers = start().run(fork_by_multiprocessing, path=str(path), engine=engine)

    assert answers == ["forked", "2"]
    check_file(start(), path)


def fork_after_close(*, path: str, engine: str) -> str:
    """What was closed before the fork is nobody's: the child opens it for itself."""
    fencepost.open(path, engine=engine).close()

    def in_child() -> str:
        return _code(lambda: fencepost.open(path, engine=engine).close())

    answer: str = _in_fork(in_child, leave="_exit")
    return answer


def test_a_child_opens_what_its_parent_had_closed(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    assert start().run(fork_after_close, path=str(path), engine=engine) == "none"
