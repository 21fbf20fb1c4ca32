"""The line of writers: fair under contention, and never more than a hint."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import fencepost
from fencepost.engine.python.turns import HAND_OVER_SECONDS, Turns
from fencepost.rendezvous import NEWS, TURN, Place, folder, names, wake_first
from tests.processes.remote import Child

SECONDS = 2.0


def work(*, path: str, engine: str, runner: str, seconds: float) -> tuple[int, float]:
    """Claims and parks without a pause; how many, and the longest time that one took."""
    count, longest = 0, 0.0
    with fencepost.open(path, engine=engine, synchronous="off") as store:
        end = time.monotonic() + seconds
        while (began := time.monotonic()) < end:
            run = store.runs.claim_next(runner_id=runner, lease_ms=60_000)
            assert run is not None
            assert run.claim_token is not None
            assert store.runs.park(run_id=run.run_id, claim_token=run.claim_token)
            longest = max(longest, time.monotonic() - began)
            count += 1
    return count, longest


def prepare(path: Path, engine: str) -> None:
    with fencepost.open(path, engine=engine, synchronous="off") as store:
        for number in range(20):
            run = store.runs.enqueue(
                run_id=f"run-{number}",
                workflow_name="w",
                workflow_source_ref="/w",
                runner_id="nobody",
                lease_ms=60_000,
            )
            assert run.claim_token is not None
            store.runs.park(run_id=run.run_id, claim_token=run.claim_token)


def jain(counts: list[int]) -> float:
    """Jain's fairness index: 1 for equal shares, 1/n where one has everything."""
    squares = sum(count * count for count in counts)
    return sum(counts) ** 2 / (len(counts) * squares) if squares else 0.0


def test_nobody_starves(start: Callable[..., Child], path: Path, engines: list[str]) -> None:
    used = engines * (4 // len(engines))
    prepare(path, used[0])
    # All are up before the first begins.
    children = [start().open(path, engine) for engine in used]
    for number, (child, engine) in enumerate(zip(children, used, strict=True)):
        child.begin_run(
            work, path=str(path), engine=engine, runner=f"runner-{number}", seconds=SECONDS
        )
    results = [child.end() for child in children]
    # A turn is as long for everybody, in which the faster engine does more. With SQLite's busy
    # handler it is about 0.5 here. The bound leaves room for a machine that is busy with other
    # things; the benchmark has the exact one.
    for engine in set(used):
        counts = [count for (count, _), at in zip(results, used, strict=True) if at == engine]
        assert min(counts) > 0
        assert jain(counts) > 0.8, counts
    assert not Path(f"{path}-fencepost").exists()


def test_the_dead_and_the_stopped_in_the_line_delay_nobody(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    prepare(path, engine)
    holder, dead, stopped, alive = start(), *(start().open(path, engine) for _ in range(3))
    holder.sql(path, "BEGIN IMMEDIATE")
    for child in (dead, stopped, alive):
        child.begin_call("runs.claim_next", runner_id="r", lease_ms=60_000)
        assert not child.answered(0.1)
    line = Path(f"{path}-fencepost/line")
    assert len(os.listdir(line)) == 3
    dead.kill()
    stopped.pause()
    holder.sql(path, "COMMIT")
    assert alive.end().run_id.startswith("run-")
    stopped.resume()
    assert stopped.end().run_id.startswith("run-")
    assert not line.exists()


def test_who_hands_over_leaves_the_lock_alone_for_a_moment(path: Path) -> None:
    place = Place(folder(str(path), "line"))
    place.take()
    woken: list[bytes] = []
    waiter = threading.Thread(target=lambda: woken.append(place.sleep(10.0)))
    waiter.start()
    tried: list[float] = []

    def try_lock() -> bool:
        tried.append(time.monotonic())
        return True

    began = time.monotonic()
    assert Turns(str(path), 5_000).take(try_lock, began)
    waiter.join()
    place.leave()
    assert woken == [TURN]
    assert tried[0] - began >= HAND_OVER_SECONDS


@pytest.mark.parametrize("news, passed_on", [(NEWS, NEWS), (TURN, b"")])
def test_who_was_called_leaves_it_to_others_to_tell_the_next(
    path: Path, news: bytes, passed_on: bytes
) -> None:
    line = folder(str(path), "line")
    second: list[Place] = []
    tries: list[bytes] = []

    def try_lock() -> bool:
        tries.append(news)
        if len(tries) == 2:
            second.append(Place(line))
            second[0].take()
            wake_first(line, names(line), news)
        return len(tries) == 3

    assert Turns(str(path), 5_000).take(try_lock, time.monotonic())
    assert names(line) == [second[0].name]
    assert second[0].sleep(0.0) == passed_on
    second[0].leave()


@pytest.mark.parametrize("is_late", [False, True])
def test_who_handed_over_tells_the_next(path: Path, is_late: bool) -> None:
    line = folder(str(path), "line")
    first, second = Place(line), Place(line)
    first.take()
    second.take()
    told: list[bytes] = []

    def try_lock() -> bool:
        told.append(second.sleep(0.0) if told else first.sleep(0.0))
        if not is_late:
            first.leave()
        return len(told) == 2

    assert Turns(str(path), 5_000).take(try_lock, time.monotonic())
    assert told == [TURN, NEWS]
    first.leave()
    second.leave()


def test_an_empty_folder_goes_with_the_last_who_closes(path: Path, engine: str) -> None:
    with fencepost.open(path, engine=engine):
        Path(f"{path}-fencepost/line").mkdir(parents=True)
    assert not Path(f"{path}-fencepost").exists()


def test_without_a_place_to_wait_everybody_still_gets_the_lock(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    prepare(path, engine)
    # A file where the folder should be: no sockets, so waiting is polling.
    Path(f"{path}-fencepost").write_text("")
    holder, waiter = start(), start().open(path, engine)
    holder.sql(path, "BEGIN IMMEDIATE")
    waiter.begin_call("runs.claim_next", runner_id="r", lease_ms=60_000)
    assert not waiter.answered(0.1)
    holder.sql(path, "COMMIT")
    assert waiter.end().run_id == "run-0"


def test_a_long_path_has_a_line_too(
    start: Callable[..., Child], tmp_path: Path, engine: str
) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    path = folder / "store.sqlite"
    prepare(path, engine)
    holder, waiter = start(), start().open(path, engine)
    holder.sql(path, "BEGIN IMMEDIATE")
    waiter.begin_call("runs.claim_next", runner_id="r", lease_ms=60_000)
    assert not waiter.answered(0.1)
    assert len(os.listdir(f"{path}-fencepost/line")) == 1
    holder.sql(path, "COMMIT")
    assert waiter.end().run_id == "run-0"
