"""Fence numbers: they grow with every claim of an id, whoever makes it, and never come again."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from fencepost import QueueClaim, Run, Store
from tests.support import at, enqueue, park, put, readable, sql

# How the other store that shares the file claims.
OTHER_CLAIMS_RUN = (
    "UPDATE workflow_run_queue SET status = 'claimed', runner_id = ?, claim_token = ?, "
    "claim_expires_at = ?, updated_at = ? WHERE run_id = ?"
)
OTHER_INSERTS_RUN = (
    "INSERT INTO workflow_run_queue (run_id, workflow_ref, workflow_path, input_json, status, "
    "runner_id, claim_token, claim_expires_at, affinity_runner_id, parent_run_id, created_at, "
    "updated_at) VALUES (?, 'w', '/w', 'null', 'claimed', 'other', 'o', 9999999999999, 'other', "
    "NULL, ?, ?)"
)
OTHER_CLAIMS_KEY = (
    "UPDATE queue SET claim_token = ?, claim_version = version, claim_expires_at = ? "
    "WHERE controller = ? AND resource_key = ?"
)


def fence(item: Run | QueueClaim | None) -> int:
    assert item is not None
    assert isinstance(item.fence, int)
    return item.fence


def claim(store: Store, now: int, token: str = "t", lease_ms: int = 10) -> int:
    return fence(
        store.runs.claim_next(runner_id="bob", lease_ms=lease_ms, claim_token=token, now=at(now))
    )


def claim_key(store: Store, now: int, lease_ms: int = 10) -> QueueClaim:
    got = store.queue.claim_next(controllers=["ctl"], lease_ms=lease_ms, now=at(now))
    assert got is not None
    return got


def side_tables(path: str | Path) -> tuple[list[Any], list[Any]]:
    runs = sql(path, "SELECT run_id, fence FROM fencepost_run_fences ORDER BY run_id")
    keys = sql(path, "SELECT resource_key, fence FROM fencepost_queue_fences ORDER BY 1")
    return runs, keys


def grows(fences: list[int]) -> bool:
    return all(a < b for a, b in pairwise(fences))


def test_every_claim_of_a_run_grows_its_fence(store: Store) -> None:
    seen = [fence(enqueue(store, lease_ms=10))]
    for now in range(10, 100, 10):
        seen.append(claim(store, now, f"t{now}"))
    store.runs.park(run_id="r", claim_token="t90", now=at(95))
    seen.append(claim(store, 95))
    assert grows(seen)
    assert fence(store.runs.get(run_id="r")) == seen[-1]


def test_a_claim_under_the_same_token_is_a_new_claim(store: Store) -> None:
    first = fence(enqueue(store, claim_token="same", lease_ms=10))
    assert claim(store, 10, "same") > first


def test_renewing_and_verifying_keep_the_fence(store: Store) -> None:
    first = fence(enqueue(store))
    assert store.runs.renew(run_id="r", claim_token="t-r", lease_ms=99, now=at(1))
    assert store.runs.renew_many(claims=[("r", "t-r")], lease_ms=99, now=at(1)) == [True]
    assert store.runs.verify(run_id="r", claim_token="t-r", now=at(1))
    assert fence(store.runs.get(run_id="r")) == first


def test_an_unclaimed_run_has_no_fence(store: Store) -> None:
    park(store)
    run = store.runs.get(run_id="r")
    assert run is not None
    assert run.fence is None
    assert "fence" not in run.to_dict()


def test_a_run_made_anew_goes_on_counting(store: Store) -> None:
    seen = [fence(enqueue(store))]
    for _ in range(3):
        assert store.runs.delete(run_id="r", claim_token="t-r")
        seen.append(fence(enqueue(store)))
    assert grows(seen)


def test_repairs_are_claims(store: Store) -> None:
    first = fence(enqueue(store))
    common: dict[str, Any] = {
        "run_id": "r",
        "workflow_name": "n",
        "workflow_source_ref": "/n",
        "runner_id": "a",
        "claim_token": "t-r",
        "lease_ms": 10,
        "now": at(),
    }
    assert store.runs.repair_source(**common) == "claimed"
    second = fence(store.runs.get(run_id="r"))
    assert store.runs.claim_legacy_source(**common, old_workflow_path="/w")
    assert grows([first, second, fence(store.runs.get(run_id="r"))])


def test_the_other_stores_claims_count(store: Store, path: str) -> None:
    seen = [fence(enqueue(store, lease_ms=10))]
    sql(path, (OTHER_CLAIMS_RUN, ["other", "o1", 10**13, at(20), "r"]))
    run = store.runs.get(run_id="r")
    assert run is not None
    assert run.claim_token == "o1"
    seen.append(fence(run))
    assert not store.runs.complete(run_id="r", claim_token="t-r", now=at(30))
    sql(
        path,
        "UPDATE workflow_run_queue SET status = 'parked', runner_id = NULL, claim_token = NULL, "
        "claim_expires_at = NULL",
    )
    assert side_tables(path) == ([], [])
    seen.append(claim(store, 40))
    sql(path, "DELETE FROM workflow_run_queue", (OTHER_INSERTS_RUN, ["r", at(50), at(50)]))
    seen.append(fence(store.runs.get(run_id="r")))
    assert grows(seen)


def test_the_other_stores_upsert_counts(store: Store, path: str) -> None:
    first = fence(enqueue(store))
    replace = OTHER_INSERTS_RUN.replace("INSERT INTO", "INSERT OR REPLACE INTO")
    sql(path, (replace, ["r", at(50), at(50)]))
    assert fence(store.runs.get(run_id="r")) > first
    assert len(side_tables(path)[0]) == 1


def test_every_claim_of_a_key_grows_its_fence(store: Store, path: str) -> None:
    put(store)
    got = claim_key(store, 0)
    seen = [fence(got)]
    assert store.queue.renew(claim=got, lease_ms=5, now=at(1))
    got = claim_key(store, 6)
    seen.append(fence(got))
    assert store.queue.settle(claim=got, now=at(7))
    store.queue.enqueue(controller="ctl", key="k", available_at=at(7))
    got = claim_key(store, 8)
    seen.append(fence(got))
    sql(path, (OTHER_CLAIMS_KEY, ["o", 0, "ctl", "k"]))
    got = claim_key(store, 9)
    assert fence(got) > seen[-1] + 1
    assert store.queue.requeue(claim=got, available_at=at(9), now=at(9))
    seen += [fence(got), fence(claim_key(store, 9))]
    assert grows(seen)


def test_a_resource_made_anew_goes_on_counting(store: Store) -> None:
    put(store)
    first = fence(claim_key(store, 0))
    store.resources.request_deletion(controller="ctl", key="k", now=at())
    assert store.resources.delete(controller="ctl", key="k", expected_resource_version=2)
    put(store)
    assert fence(claim_key(store, 0)) > first


def test_many_claims_in_one_transaction_have_fences_of_their_own(store: Store) -> None:
    for number in range(20):
        park(store, f"r{number}")
        put(store, f"k{number:02d}")
    runs = readable(store.runs.claim_many(runner_id="b", lease_ms=9, limit=20, now=at()))
    keys = readable(store.queue.claim_many(controllers=["ctl"], lease_ms=9, limit=20, now=at()))
    assert grows([fence(run) for run in runs])
    assert grows([fence(key) for key in keys])


def test_the_side_tables_hold_live_claims_only(store: Store, path: str) -> None:
    for number in range(12):
        enqueue(store, f"r{number:02d}")
        put(store, f"k{number:02d}")
    claims = readable(store.queue.claim_many(controllers=["ctl"], lease_ms=9, limit=12, now=at()))
    for number in range(3):
        store.runs.park(run_id=f"r{number:02d}", claim_token=f"t-r{number:02d}", now=at())
    for number in range(3, 6):
        store.runs.complete(run_id=f"r{number:02d}", claim_token=f"t-r{number:02d}", now=at())
    for number in range(6, 9):
        store.runs.delete(run_id=f"r{number:02d}", claim_token=f"t-r{number:02d}")
    store.queue.settle_many(claims=claims[:4], now=at())
    for one in claims[4:8]:
        store.queue.requeue(claim=one, available_at=at(), now=at())
    store.resources.request_deletion(controller="ctl", key="k08", now=at())
    store.resources.delete(controller="ctl", key="k08", expected_resource_version=2)
    runs, keys = side_tables(path)
    assert [run_id for run_id, _ in runs] == ["r09", "r10", "r11"]
    assert [key for key, _ in keys] == ["k09", "k10", "k11"]


def test_an_aborted_claim_uses_no_side_table(store: Store, path: str) -> None:
    enqueue(store)
    before = side_tables(path)
    sql(
        path,
        "BEGIN IMMEDIATE",
        (OTHER_CLAIMS_RUN, ["other", "o1", 10**13, at(20), "r"]),
        "ROLLBACK",
    )
    assert side_tables(path) == before
