"""Processes killed at any instant of their writes: nothing acknowledged is lost."""

from __future__ import annotations

import os
import random
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fencepost
from tests.processes import work
from tests.processes.remote import Child, check_file

WORKERS = 4
KILLS = 24


def kill_workers(*, path: str, folder: str, engines: list[str]) -> None:
    """Fork workers, and kill one after the other at an instant of its own; then all."""
    for engine in engines:
        fencepost.engine_info(engine)
    choose = random.Random(",".join(engines))
    working = [_fork_worker(path, folder, engines, number) for number in range(WORKERS)]
    for number in range(WORKERS, WORKERS + KILLS):
        victim, history = working.pop(choose.randrange(WORKERS))
        _wait_for_lines(history, choose.randrange(60))
        # No event tells the instants inside a transaction apart: chance does.
        select.select([], [], [], choose.uniform(0, 0.004))
        _kill(victim)
        working.append(_fork_worker(path, folder, engines, number))
    for victim, _ in working:
        _kill(victim)


def _fork_worker(path: str, folder: str, engines: list[str], number: int) -> tuple[int, Path]:
    name = f"w{number}"
    pid = os.fork()
    if pid == 0:
        engine = engines[number % len(engines)]
        about: dict[str, Any] = {
            "engine": engine,
            "worker": name,
            "rounds": 1_000_000,
            "seed": number,
        }
        work.work(path=path, folder=folder, **about)
        os._exit(0)
    return pid, Path(folder) / f"history-{name}"


def _wait_for_lines(history: Path, lines: int) -> None:
    while lines and not (history.exists() and history.read_bytes().count(b"\n") >= lines):
        select.select([], [], [], 0.001)


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == -signal.SIGKILL, "the worker ended by itself"


def test_nothing_acknowledged_is_lost_to_kills(
    start: Callable[..., Child], path: Path, tmp_path: Path, engines: list[str]
) -> None:
    where = {"path": str(path), "folder": str(tmp_path)}
    start().run(kill_workers, **where, engines=engines)

    check_file(start(), path)
    start().run(work.drain, **where, engine=engines[0], worker="drain")
    looker = start().open(path, engines[0])
    counts = work.verify(tmp_path, looker.call("runs.list"), looker.call("queue.list"))
    assert counts["done"] > KILLS, counts
    assert counts["reconciled"] > KILLS, counts
    check_file(start(), path)
