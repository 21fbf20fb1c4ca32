"""The clock: read after the lock is held, and whatever a user's clock does."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.errors import InvalidArgumentError, StoreBusyError
from tests.processes import calls
from tests.processes.remote import Child, check_file

RUN: dict[str, Any] = {
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "runner_id": "runner",
    "lease_ms": 60_000,
}
START_MS = 1_785_834_000_000
LEASE = 60_000


def _ms(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() * 1000


@pytest.mark.parametrize("target", ["runs.claim_next", "runs.enqueue", "queue.claim_next"])
def test_waiting_for_the_lock_does_not_eat_the_lease(
    start: Callable[..., Child], path: Path, engine: str, target: str
) -> None:
    waiter, holder = start().open(path, engine), start()
    made = waiter.call("runs.enqueue", run_id="parked", **RUN)
    waiter.call("runs.park", run_id="parked", claim_token=made.claim_token)
    waiter.call("resources.put", controller="site", key="k", spec=1, initial_status=None)
    arguments = {
        "runs.claim_next": {"runner_id": "r", "lease_ms": LEASE},
        "runs.enqueue": {"run_id": "late", **RUN},
        "queue.claim_next": {"controllers": ["site"], "lease_ms": LEASE},
    }[target]

    holder.sql(path, "BEGIN IMMEDIATE")
    waiter.begin_call(target, **arguments)
    assert not waiter.answered(0.3)
    released = time.time() * 1000
    holder.sql(path, "COMMIT")
    record = waiter.end()

    ends = record.expires_at if target.startswith("queue") else record.claim_expires_at
    assert _ms(ends) >= int(released) + LEASE


@pytest.mark.parametrize("target", ["runs.renew", "queue.renew"])
def test_a_renewal_that_waited_past_the_lease_is_refused(
    start: Callable[..., Child], path: Path, engine: str, target: str
) -> None:
    """The claim expires while the renewal waits: it is judged by the time after the wait."""
    waiter, holder = start().open(path, engine), start()
    short = 400
    if target == "runs.renew":
        run = waiter.call("runs.enqueue", run_id="run", **{**RUN, "lease_ms": short})
        claim: dict[str, Any] = {"run_id": "run", "claim_token": run.claim_token}
        ends = _ms(run.claim_expires_at)
    else:
        waiter.call("resources.put", controller="site", key="k", spec=1, initial_status=None)
        taken = waiter.call("queue.claim_next", controllers=["site"], lease_ms=short)
        claim, ends = {"claim": taken}, _ms(taken.expires_at)
    holder.sql(path, "BEGIN IMMEDIATE")
    waiter.begin_call(target, **claim, lease_ms=LEASE)
    while time.time() * 1000 <= ends:
        assert not waiter.answered(0.05)
    holder.sql(path, "COMMIT")

    assert waiter.end() is False


class Clock:
    """Does what the test says next."""

    def __init__(self) -> None:
        self.next: Callable[[], Any] = lambda: START_MS

    def __call__(self) -> int:
        result: int = self.next()
        return result


class Trouble(Exception):
    """What a clock may raise."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, engine: str, clock: Clock) -> fencepost.Store:
    return fencepost.open(tmp_path / "store.sqlite", engine=engine, clock=clock)


def _add(*ms: int) -> int:
    return START_MS + sum(ms)


def _raise(error: BaseException) -> Any:
    raise error


def test_a_clock_that_raises_changes_nothing_and_is_heard(
    store: fencepost.Store, clock: Clock
) -> None:
    trouble = Trouble("no time")
    clock.next = lambda: _raise(trouble)
    with pytest.raises(Trouble) as caught:
        store.runs.enqueue(run_id="run", **RUN)
    assert caught.value is trouble
    with pytest.raises(Trouble):
        store.runs.verify(run_id="run", claim_token="token")
    clock.next = lambda: START_MS
    assert store.runs.list() == []
    store.runs.enqueue(run_id="run", **RUN)
    store.close()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_a_clock_that_ends_the_program_leaves_no_transaction(
    store: fencepost.Store, clock: Clock, start: Callable[..., Child], error: BaseException
) -> None:
    clock.next = lambda: _raise(error)
    with pytest.raises(type(error)):
        store.runs.enqueue(run_id="run", **RUN)
    other = start().open(Path(store.path), store.engine_name, busy_timeout_ms=0)
    other.call("runs.enqueue", run_id="other", **RUN)
    store.close()


@pytest.mark.parametrize(
    "nonsense",
    [None, "1785834000000", 1.785834e12, True, float("nan"), 2**63, -(2**63), 10**30, [], b"1"],
    ids=repr,
)
def test_a_clock_that_gives_nonsense_is_refused(
    store: fencepost.Store, clock: Clock, nonsense: Any
) -> None:
    clock.next = lambda: nonsense
    with pytest.raises(InvalidArgumentError):
        store.runs.enqueue(run_id="run", **RUN)
    clock.next = lambda: START_MS
    assert store.runs.list() == []
    store.close()


def test_a_clock_that_calls_the_store_is_refused(store: fencepost.Store, clock: Clock) -> None:
    codes: set[str] = set()

    def calling() -> int:
        clock.next = lambda: START_MS
        codes.update(calls.outcomes(store).values())
        with pytest.raises(StoreBusyError):
            store.close()
        return START_MS

    clock.next = calling
    store.runs.enqueue(run_id="run", **RUN)
    assert codes == {"busy"}
    assert [run.run_id for run in store.runs.list()] == ["run"]
    store.close()


def test_a_clock_that_opens_the_store_again_sees_the_state_before(
    store: fencepost.Store, clock: Clock
) -> None:
    """A second store of the same file is another connection: it reads, and may not write."""
    found: list[Any] = []

    def opening() -> int:
        clock.next = lambda: START_MS
        with fencepost.open(store.path, engine=store.engine_name, busy_timeout_ms=0) as second:
            found.append(second.runs.list())
            with pytest.raises(StoreBusyError):
                second.runs.enqueue(run_id="inner", **RUN)
        return START_MS

    clock.next = opening
    store.runs.enqueue(run_id="run", **RUN)
    assert found == [[]]
    assert [run.run_id for run in store.runs.list()] == ["run"]
    store.close()


def test_a_clock_that_jumps_back_and_forth(
    store: fencepost.Store, clock: Clock, start: Callable[..., Child]
) -> None:
    """Claims follow the clock as it is; tokens and fences stay right whatever it does."""
    fences = []
    for turn, ms in enumerate([0, 10_000_000, -10_000_000, 5, 400_000, 3, 10_000_000]):
        clock.next = partial(_add, ms)
        run = store.runs.enqueue(run_id=f"run-{turn}", **RUN)
        assert _ms(run.claim_expires_at or "") == START_MS + ms + LEASE
        fences.append(run.fence)
        token = run.claim_token or ""
        assert store.runs.verify(run_id=run.run_id, claim_token=token)
        clock.next = partial(_add, ms, LEASE)
        assert not store.runs.verify(run_id=run.run_id, claim_token=token)
        taken = store.runs.claim_next(runner_id="other", lease_ms=LEASE)
        assert taken is not None
        fences.append(taken.fence)
        clock.next = partial(_add, ms, -1_000_000)
        assert not store.runs.renew(
            run_id=taken.run_id, claim_token="t" + (taken.claim_token or ""), lease_ms=1
        )
    assert fences == sorted(set(fences), key=lambda fence: fence or 0)
    store.close()
    check_file(start(), Path(store.path))
