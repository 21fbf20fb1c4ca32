"""Native and Python processes on one file at once: no run lost, none done twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.processes import work
from tests.processes.remote import Child, check_file

WORKERS = 8
ROUNDS = 250
TOLD = {"run", "parked", "claim", "done", "refused", "change", "reconciled"}


def test_many_processes_share_one_file(
    start: Callable[..., Child], path: Path, tmp_path: Path, engines: list[str]
) -> None:
    workers = {start(): engines[number % len(engines)] for number in range(WORKERS)}
    where = {"path": str(path), "folder": str(tmp_path)}
    for number, (child, engine) in enumerate(workers.items()):
        about = {"engine": engine, "worker": f"w{number}", "rounds": ROUNDS, "seed": number}
        child.begin_run(work.work, **where, **about)
    for child in workers:
        child.end()
    for number, (child, engine) in enumerate(workers.items()):
        child.begin_run(work.drain, **where, engine=engine, worker=f"d{number}")
    for child in workers:
        child.end()

    looker = next(iter(workers)).open(path, engines[0])
    counts = work.verify(tmp_path, looker.call("runs.list"), looker.call("queue.list"))

    assert all(counts[what] > WORKERS for what in TOLD), counts
    assert counts["claim"] > counts["done"]
    check_file(start(), path)
