"""Workers that die or sleep: their work goes on, and they can't disturb it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.processes.remote import Child

START = "2026-08-04T09:00:00.000Z"
LATER = "2026-08-04T09:00:10.000Z"
LEASE = 5_000


def _enqueue(child: Child, run_id: str, runner: str) -> str:
    run = child.call(
        "runs.enqueue",
        run_id=run_id,
        workflow_name="build",
        workflow_source_ref="build.ts",
        runner_id=runner,
        lease_ms=LEASE,
        now=START,
    )
    token: str = run.claim_token
    return token


def _put(child: Child, key: str) -> None:
    child.call("resources.put", controller="site", key=key, spec={}, initial_status=None, now=START)


def test_the_run_of_a_killed_claimer_is_taken_over_and_done(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    first, second = start().open(path, engine), start().open(path, engine)
    _enqueue(first, "run", "first")
    before = first.call("runs.get", run_id="run")
    first.kill()

    assert second.call("runs.claim_next", runner_id="second", lease_ms=LEASE, now=START) is None
    taken = second.call("runs.claim_next", runner_id="second", lease_ms=LEASE, now=LATER)

    assert (taken.run_id, taken.runner_id) == ("run", "second")
    assert taken.fence > before.fence
    assert second.call("runs.complete", run_id="run", claim_token=taken.claim_token, now=LATER)
    assert second.call("runs.get", run_id="run").status == "done"


def test_a_claimer_killed_while_it_waits_for_the_lock_leaves_nothing(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    first, second = start().open(path, engine), start().open(path, engine)
    token = _enqueue(second, "run", "second")
    assert second.call("runs.park", run_id="run", claim_token=token, now=START)
    holder = start()
    holder.sql(path, "BEGIN IMMEDIATE")
    first.begin_call("runs.claim_next", runner_id="first", lease_ms=LEASE, now=START)
    assert not first.answered(0.2)

    first.kill()
    holder.sql(path, "COMMIT")

    taken = second.call("runs.claim_next", runner_id="second", lease_ms=LEASE, now=START)
    assert taken is not None
    assert taken.runner_id == "second"


def test_a_paused_worker_comes_back_to_a_stale_token(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    sleeper, other = start().open(path, engine), start().open(path, engine)
    tokens = {run: _enqueue(sleeper, run, "sleeper") for run in ("a", "b")}
    sleeper.pause()
    for _ in tokens:
        assert other.call("runs.claim_next", runner_id="other", lease_ms=LEASE, now=LATER)
    owned = {run: other.call("runs.get", run_id=run) for run in tokens}
    sleeper.resume()

    for run, token in tokens.items():
        claim = {"run_id": run, "claim_token": token}
        # Whatever time the sleeper believes it is, its old one too.
        for now in (START, LATER):
            assert not sleeper.call("runs.renew", **claim, lease_ms=LEASE, now=now)
            assert not sleeper.call("runs.verify", **claim, now=now)
            assert not sleeper.call("runs.park", **claim, now=now)
            assert not sleeper.call("runs.complete", **claim, now=now)
        assert not sleeper.call("runs.delete", **claim)
        stale = sleeper.call(
            "runs.repair_source",
            **claim,
            workflow_name="build",
            workflow_source_ref="other.ts",
            runner_id="sleeper",
            lease_ms=LEASE,
            now=LATER,
        )
        assert stale is False
        legacy = sleeper.call(
            "runs.claim_legacy_source",
            **claim,
            workflow_name="build",
            old_workflow_path="build.ts",
            workflow_source_ref="other.ts",
            runner_id="sleeper",
            lease_ms=LEASE,
            now=LATER,
        )
        assert legacy is False
    pairs = list(tokens.items())
    stale_many = sleeper.call("runs.renew_many", claims=pairs, lease_ms=LEASE, now=START)
    assert stale_many == [False, False]
    assert sleeper.call("runs.complete_many", claims=pairs, now=START) == [False, False]
    assert {run: other.call("runs.get", run_id=run) for run in tokens} == owned


def test_a_restarted_worker_does_not_inherit_the_claim_of_its_name(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    first, second = start().open(path, engine), start().open(path, engine)
    _enqueue(first, "run", "worker")
    first.kill()

    again = second.call("runs.claim_next", runner_id="worker", lease_ms=LEASE, now=START)

    assert again is None


def test_a_paused_reconciler_comes_back_to_a_stale_claim(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    sleeper, other = start().open(path, engine), start().open(path, engine)
    _put(sleeper, "home")
    where: dict[str, Any] = {"controllers": ["site"], "lease_ms": LEASE}
    stale = sleeper.call("queue.claim_next", **where, now=START)
    sleeper.pause()
    claim = other.call("queue.claim_next", **where, now=LATER)
    assert claim.key == "home"
    assert claim.fence > stale.fence
    listed = other.call("queue.list")
    sleeper.resume()

    for now in (START, LATER):
        assert not sleeper.call("queue.renew", claim=stale, lease_ms=LEASE, now=now)
        assert not sleeper.call("queue.settle", claim=stale, now=now)
        requeued = sleeper.call(
            "queue.requeue", claim=stale, available_at=START, error="late", now=now
        )
        assert not requeued
        assert sleeper.call("queue.settle_many", claims=[stale], now=now) == [False]
    assert other.call("queue.list") == listed

    assert other.call("queue.settle", claim=claim, now=LATER)
    assert other.call("queue.list") == []


def test_the_key_of_a_killed_reconciler_is_taken_over(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    first, second = start().open(path, engine), start().open(path, engine)
    _put(first, "home")
    where: dict[str, Any] = {"controllers": ["site"], "lease_ms": LEASE}
    assert first.call("queue.claim_next", **where, now=START)
    first.kill()

    assert second.call("queue.claim_next", **where, now=START) is None
    claim = second.call("queue.claim_next", **where, now=LATER)
    assert second.call("queue.settle", claim=claim, now=LATER)
