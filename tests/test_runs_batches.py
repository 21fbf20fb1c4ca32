"""The batch forms of the run queue: one transaction, a result for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fencepost import Run, Store
from fencepost.conformance.operations import dump
from tests.conftest import OpenStore
from tests.support import at, enqueue, park, readable, refused, unchanged


def get(store: Store, run_id: str = "r") -> Run:
    run = store.runs.get(run_id=run_id)
    assert run is not None
    return run


def row(store: Store, run_id: str = "r") -> dict[str, Any]:
    (found,) = [row for row in dump(store)["workflow_run_queue"] if row["run_id"] == run_id]
    return found


def new(run_id: str, **more: Any) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "workflow_name": "w",
        "workflow_source_ref": "/w.py",
        "runner_id": "alice",
        "lease_ms": 10,
        **more,
    }


def test_enqueue_many(store: Store) -> None:
    results = store.runs.enqueue_many(
        items=[
            new("a", input={"n": 1}, claim_token="t"),
            new("a"),
            new("b", parent_run_id="a"),
            new("c", parent_run_id="a"),
            new("d", lease_ms=2**53 - 1),
            new("e", affinity_runner_id="bob"),
        ],
        now=at(3),
    )
    words = [result.run_id if isinstance(result, Run) else result.code for result in results]
    assert words == ["a", "run_exists", "b", "continuation_exists", "invalid", "e"]
    assert [run.run_id for run in store.runs.list()] == ["a", "b", "e"]
    assert isinstance(results[0], Run)
    assert (results[0].input, results[0].claim_token) == ({"n": 1}, "t")
    assert results[0] == get(store, "a")
    assert row(store, "e")["affinity_runner_id"] == "bob"


@pytest.mark.parametrize(
    "bad",
    [
        {},
        5,
        "text",
        [("run_id", "x")],
        new("x", lease_ms=0),
        new("-x"),
        new("x", now=at()),
        new("x", runner_id=None),
        new("x", input=float("nan")),
        new("x", claim_token=""),
    ],
)
def test_enqueue_many_with_a_bad_item_changes_nothing(store: Store, bad: Any) -> None:
    with unchanged(store), refused("invalid"):
        store.runs.enqueue_many(items=[new("good"), bad], now=at())


def test_claim_many_is_many_claims(store: Store) -> None:
    for number in range(4):
        park(store, f"r{number}", affinity_runner_id="bob" if number == 3 else "alice")
    got = readable(
        store.runs.claim_many(
            runner_id="bob", lease_ms=10, limit=2, exclude_run_ids=["r0"], now=at()
        )
    )
    assert [run.run_id for run in got] == ["r3", "r1"]
    assert got == [get(store, "r3"), get(store, "r1")]
    assert len({run.claim_token for run in got}) == 2
    assert got[0].fence is not None
    assert got[1].fence is not None
    assert got[0].fence < got[1].fence
    rest = readable(store.runs.claim_many(runner_id="bob", lease_ms=10, limit=9, now=at()))
    assert [run.run_id for run in rest] == ["r0", "r2"]
    assert store.runs.claim_many(runner_id="bob", lease_ms=10, limit=9, now=at()) == []


@pytest.mark.parametrize("expired", [5, 64, 65, 90])
@pytest.mark.parametrize("limit", [1, 7, 60, 400])
def test_claim_many_finds_what_as_many_claims_find(
    open_store: OpenStore, tmp_path: Path, expired: int, limit: int
) -> None:
    claim: dict[str, Any] = {"runner_id": "bob", "lease_ms": 10, "now": at(50)}
    excluded = ["parked-3", "expired-4", "expired-41", "nobody"]
    orders = []
    for name in ("batch", "singles"):
        store = open_store(tmp_path / name)
        for number in range(120):
            # Affine and not, older and younger, parked, expired and alive, all mixed.
            runner = "bob" if number % 3 == 1 else "alice"
            made = {"now": at(number * 7 % 11), "affinity_runner_id": runner}
            park(store, f"parked-{number}", **made)
            enqueue(store, f"live-{number}", **made)
            if number < expired:
                enqueue(store, f"expired-{number}", lease_ms=1, **made)
        if name == "batch":
            got = store.runs.claim_many(**claim, limit=limit, exclude_run_ids=excluded)
            orders.append([run.run_id for run in readable(got)])
        else:
            singles = [
                store.runs.claim_next(**claim, exclude_run_ids=excluded) for _ in range(limit)
            ]
            orders.append([run.run_id for run in singles if run is not None])
    assert orders[0] == orders[1]
    assert len(orders[0]) == min(limit, 120 + expired - (2 if expired < 42 else 3) + (expired < 5))


@pytest.mark.parametrize("limit", [0, -1, 10_001, 1.0, True, None])
def test_claim_many_takes_1_to_10000(store: Store, limit: Any) -> None:
    park(store)
    with unchanged(store), refused("invalid"):
        store.runs.claim_many(runner_id="bob", lease_ms=10, limit=limit, now=at())


def test_renew_and_complete_many_answer_for_each(store: Store) -> None:
    for run_id in "abc":
        enqueue(store, run_id, lease_ms=10)
    claims = [("a", "t-a"), ("b", "wrong"), ("c", "t-c"), ("none", "t")]
    assert store.runs.renew_many(claims=claims, lease_ms=50, now=at(1)) == [
        True,
        False,
        True,
        False,
    ]
    assert get(store, "c").claim_expires_at == at(51)
    assert get(store, "b").claim_expires_at == at(10)
    assert store.runs.complete_many(claims=[*claims, ("a", "t-a")], now=at(2)) == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert [run.run_id for run in store.runs.list(status="done")] == ["a", "c"]
    assert store.runs.renew_many(claims=[], lease_ms=5, now=at()) == []
    assert store.runs.complete_many(claims=[], now=at()) == []


@pytest.mark.parametrize("bad", ["rt", ("r",), ("r", "t", "x"), ("", "t"), ("r", ""), 5, None])
def test_bad_claims_change_nothing(store: Store, bad: Any) -> None:
    enqueue(store, lease_ms=10)
    with unchanged(store):
        with refused("invalid"):
            store.runs.renew_many(claims=[("r", "t-r"), bad], lease_ms=99, now=at())
        with refused("invalid"):
            store.runs.complete_many(claims=[("r", "t-r"), bad], now=at())
