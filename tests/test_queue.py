"""The reconcile queue: level-triggered, leased, never losing a wake-up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fencepost import QueueClaim, Store
from fencepost.conformance.operations import dump
from tests.conftest import OpenStore
from tests.support import at, put, readable, refused, unchanged


def claim(store: Store, now: int = 0, lease_ms: int = 1000, *names: str) -> QueueClaim | None:
    return store.queue.claim_next(controllers=names or ("ctl",), lease_ms=lease_ms, now=at(now))


def claimed(store: Store, now: int = 0, lease_ms: int = 1000, *names: str) -> QueueClaim:
    found = claim(store, now, lease_ms, *names)
    assert found is not None
    return found


def row(store: Store, key: str = "k") -> dict[str, Any]:
    (found,) = [row for row in dump(store)["queue"] if row["resource_key"] == key]
    return found


def enqueue(store: Store, key: str = "k", available: int = 0, controller: str = "ctl") -> None:
    store.queue.enqueue(controller=controller, key=key, available_at=at(available))


def test_only_resources_are_enqueued(store: Store) -> None:
    with unchanged(store), refused("resource_not_found") as caught:
        enqueue(store, "missing")
    assert caught[0].key == "ctl/missing"


def test_an_enqueue_counts_and_takes_the_earlier_time(store: Store) -> None:
    put(store, now=at(50))
    assert row(store)["version"] == 1
    enqueue(store, available=100)
    assert (row(store)["version"], store.queue.list()[0].available_at) == (2, at(50))
    enqueue(store, available=20)
    assert (row(store)["version"], store.queue.list()[0].available_at) == (3, at(20))


def test_without_a_time_it_is_due_now(store: Store) -> None:
    put(store, now=at(60_000))
    store.queue.enqueue(controller="ctl", key="k", now=at(50_000))
    assert store.queue.list()[0].available_at == at(50_000)
    store.queue.enqueue_many(items=[("ctl", "k"), ("ctl", "k", None)], now=at(40_000))
    assert store.queue.list()[0].available_at == at(40_000)
    store.queue.enqueue(controller="ctl", key="k")
    assert store.queue.list()[0].available_at == at()


def test_an_enqueue_during_a_claim_keeps_the_claim(store: Store) -> None:
    put(store)
    first = claimed(store)
    enqueue(store)
    assert row(store)["version"] == 2
    assert row(store)["claim_version"] == 1
    assert row(store)["claim_token"] == first.token


def test_what_a_claim_says(store: Store) -> None:
    put(store)
    enqueue(store)
    got = claimed(store, now=7, lease_ms=10)
    assert (got.controller, got.key, got.queue_version) == ("ctl", "k", 2)
    assert (got.consecutive_errors, got.expires_at) == (0, at(17))
    assert got.token
    assert got.fence is not None


def test_claims_come_by_time_controller_and_key(store: Store) -> None:
    for controller, key, ms in [("b", "1", 5), ("a", "2", 5), ("a", "1", 5), ("a", "3", 4)]:
        put(store, key, controller=controller, now=at(ms))
    order = []
    while got := claim(store, 9, 1000, "b", "a"):
        order.append((got.controller, got.key))
    assert order == [("a", "3"), ("a", "1"), ("a", "2"), ("b", "1")]


def test_an_expired_claim_stands_in_the_same_order(store: Store) -> None:
    put(store, "old", now=at(0))
    put(store, "new", now=at(5))
    claimed(store, now=5, lease_ms=10)
    assert claimed(store, now=15).key == "old"
    assert claimed(store, now=15).key == "new"


def test_only_the_named_controllers(store: Store) -> None:
    put(store, controller="one")
    put(store, controller="two")
    assert claim(store, 0, 1000, "three") is None
    assert claimed(store, 0, 1000, "two").controller == "two"
    assert claim(store, 0, 1000, "two", "two", "three") is None
    with unchanged(store):
        assert store.queue.claim_next(controllers=[], lease_ms=1, now=at()) is None
        assert store.queue.claim_many(controllers=[], lease_ms=1, limit=3, now=at()) == []


def test_a_key_that_is_not_due_is_not_claimed(store: Store) -> None:
    put(store, now=at(10))
    assert claim(store, now=9) is None
    assert claim(store, now=10) is not None


def test_a_claim_ends_when_its_time_has_come(store: Store) -> None:
    put(store)
    claimed(store, lease_ms=10)
    assert claim(store, now=9) is None
    assert claim(store, now=10) is not None


def test_renewal_is_for_the_live_claim_only(store: Store) -> None:
    put(store)
    first = claimed(store, lease_ms=10)
    assert store.queue.renew(claim=first, lease_ms=10, now=at(9)) is True
    assert store.queue.list()[0].claim_expires_at == at(19)
    with unchanged(store):
        assert store.queue.renew(claim=first, lease_ms=10, now=at(19)) is False
    second = claimed(store, now=19)
    with unchanged(store):
        assert store.queue.renew(claim=first, lease_ms=10, now=at(19)) is False
    assert store.queue.renew(claim=second, lease_ms=5, now=at(20)) is True
    assert store.queue.list()[0].claim_expires_at == at(25)


def test_a_renewal_may_shorten_the_lease(store: Store) -> None:
    put(store)
    got = claimed(store, lease_ms=1000)
    assert store.queue.renew(claim=got, lease_ms=1, now=at(1))
    assert store.queue.list()[0].claim_expires_at == at(2)


def test_settling_removes_the_row(store: Store) -> None:
    put(store)
    got = claimed(store)
    assert store.queue.settle(claim=got, now=at(1)) is True
    assert store.queue.list() == []
    with unchanged(store):
        assert store.queue.settle(claim=got, now=at(1)) is False


def test_settling_never_swallows_an_enqueue(store: Store) -> None:
    put(store)
    got = claimed(store)
    store.queue.requeue(claim=got, available_at=at(0), error="boom", now=at())
    got = claimed(store)
    assert got.consecutive_errors == 1
    enqueue(store, available=500)
    assert store.queue.settle(claim=got, now=at(100)) is True
    left = row(store)
    assert (left["claim_token"], left["claim_version"], left["claim_expires_at"]) == (None,) * 3
    assert (left["consecutive_errors"], left["last_error"], left["version"]) == (0, None, 3 - 1)
    assert store.queue.list()[0].available_at == at(0)


def test_an_enqueue_for_later_is_due_when_settled(store: Store) -> None:
    put(store, now=at(200))
    got = claimed(store, now=200)
    enqueue(store, available=500)
    assert store.queue.settle(claim=got, now=at(100)) is True
    assert store.queue.list()[0].available_at == at(100)


def test_settling_works_after_expiry_until_somebody_claims(store: Store) -> None:
    put(store)
    got = claimed(store, lease_ms=10)
    assert store.queue.settle(claim=got, now=at(50)) is True
    put(store, "other")
    late = claimed(store, lease_ms=10)
    second = claimed(store, now=10)
    with unchanged(store):
        assert store.queue.settle(claim=late, now=at(10)) is False
        assert store.queue.requeue(claim=late, available_at=at(99), now=at(10)) is False
    assert store.queue.settle(claim=second, now=at(10)) is True


def test_requeue_lifts_the_claim(store: Store) -> None:
    put(store)
    got = claimed(store)
    assert store.queue.requeue(claim=got, available_at=at(300), now=at(1)) is True
    left = row(store)
    assert (left["claim_token"], left["claim_version"], left["claim_expires_at"]) == (None,) * 3
    assert store.queue.list()[0].available_at == at(300)
    assert claim(store, now=299) is None
    assert claim(store, now=300) is not None


def test_requeue_counts_errors_and_forgets_them(store: Store) -> None:
    put(store)
    for count in (1, 2, 3):
        got = claimed(store)
        assert store.queue.requeue(claim=got, available_at=at(), error=f"no {count}", now=at())
        assert row(store)["consecutive_errors"] == count
        assert row(store)["last_error"] == f"no {count}"
    got = claimed(store)
    assert got.consecutive_errors == 3
    assert store.queue.requeue(claim=got, available_at=at(), now=at())
    assert (row(store)["consecutive_errors"], row(store)["last_error"]) == (0, None)


def test_an_empty_error_is_an_error(store: Store) -> None:
    put(store)
    assert store.queue.requeue(claim=claimed(store), available_at=at(), error="", now=at())
    assert (row(store)["consecutive_errors"], row(store)["last_error"]) == (1, "")


@pytest.mark.parametrize("enqueued, given, due", [(5, 300, 0), (5, -10, -10)])
def test_requeue_after_an_enqueue_takes_the_earlier(
    store: Store, enqueued: int, given: int, due: int
) -> None:
    put(store)
    got = claimed(store)
    enqueue(store, available=enqueued)
    assert store.queue.requeue(claim=got, available_at=at(given), now=at())
    assert store.queue.list()[0].available_at == at(due)


def test_claims_as_dicts(store: Store) -> None:
    put(store)
    got = claimed(store).to_dict()
    assert store.queue.renew(claim=got, lease_ms=5, now=at())
    del got["fence"]
    assert store.queue.settle(claim=got, now=at())


def test_another_keys_token_does_nothing(store: Store) -> None:
    put(store, "a")
    put(store, "b")
    a, b = claimed(store), claimed(store)
    crossed = QueueClaim.from_dict({**a.to_dict(), "token": b.token})
    with unchanged(store):
        assert not store.queue.renew(claim=crossed, lease_ms=5, now=at())
        assert not store.queue.settle(claim=crossed, now=at())
        assert not store.queue.requeue(claim=crossed, available_at=at(), now=at())


def test_the_listing_is_in_claim_order_with_claims(store: Store) -> None:
    put(store, "late", now=at(9))
    put(store, "b")
    put(store, "a")
    claimed(store, lease_ms=5)
    items = store.queue.list()
    assert [(item.key, item.available_at) for item in items] == [
        ("a", at()),
        ("b", at()),
        ("late", at(9)),
    ]
    assert [item.claim_expires_at for item in items] == [at(5), None, None]


def test_many_expired_claims_come_in_claim_order(store: Store) -> None:
    """More of them than are compared one by one."""
    keys = [f"k{number:03d}" for number in range(150)]
    for key in keys:
        put(store, key)
    assert len(store.queue.claim_many(controllers=["ctl"], lease_ms=10, limit=150, now=at())) == 150
    enqueue(store, "k007", available=-5)
    again = readable(
        store.queue.claim_many(controllers=["ctl"], lease_ms=10, limit=200, now=at(10))
    )
    assert [got.key for got in again] == ["k007", *(key for key in keys if key != "k007")]


def test_enqueue_many(store: Store) -> None:
    put(store, "a")
    put(store, "b", now=at(50))
    results = store.queue.enqueue_many(
        items=[("ctl", "a"), ("ctl", "missing"), ("ctl", "b", at(5)), ("ctl", "a", None)]
    )
    assert [None if r is None else r.code for r in results] == [
        None,
        "resource_not_found",
        None,
        None,
    ]
    assert row(store, "a")["version"] == 3
    assert store.queue.list()[1].available_at == at(5)


@pytest.mark.parametrize(
    "bad", [("ctl",), ("ctl", "a", None, 1), "ab", ("1ctl", "a"), ("ctl", ""), ("ctl", "a", "x"), 5]
)
def test_enqueue_many_with_a_bad_item_changes_nothing(store: Store, bad: Any) -> None:
    put(store, "a")
    with unchanged(store), refused("invalid"):
        store.queue.enqueue_many(items=[("ctl", "a"), bad])


def test_claim_many_is_many_claims(store: Store) -> None:
    for number in range(5):
        put(store, f"k{number}")
    got = readable(store.queue.claim_many(controllers=["ctl"], lease_ms=10, limit=3, now=at()))
    assert [one.key for one in got] == ["k0", "k1", "k2"]
    assert len({one.token for one in got}) == 3
    rest = readable(store.queue.claim_many(controllers=["ctl"], lease_ms=10, limit=10, now=at()))
    assert [one.key for one in rest] == ["k3", "k4"]
    fences = [one.fence for one in got + rest]
    assert fences == sorted(fences, key=lambda fence: fence or 0)


@pytest.mark.parametrize("expired", [5, 65])
def test_claim_many_finds_what_as_many_claims_find(
    open_store: OpenStore, tmp_path: Path, expired: int
) -> None:
    wanted: dict[str, Any] = {"controllers": ["ctl", "b"], "lease_ms": 10, "now": at(50)}
    orders = []
    for name in ("batch", "singles"):
        store = open_store(tmp_path / name)
        for number in range(80):
            for controller in ("a", "b", "ctl"):
                put(store, f"k{number:02}", controller=controller, now=at(number * 7 % 11))
        for number in range(expired):
            controllers = ["ctl"] if number % 2 else ["b"]
            claimed = store.queue.claim_next(controllers=controllers, lease_ms=1, now=at(20))
            assert claimed is not None
        for _ in range(9):
            assert store.queue.claim_next(controllers=["ctl"], lease_ms=900, now=at(20))
        if name == "batch":
            got: list[Any] = readable(store.queue.claim_many(**wanted, limit=400))
        else:
            got = [store.queue.claim_next(**wanted) for _ in range(160)]
        orders.append([(claim.controller, claim.key) for claim in got if claim is not None])
    assert orders[0] == orders[1]
    assert len(orders[0]) == 151


def test_renew_and_settle_many_answer_for_each(store: Store) -> None:
    for key in "abc":
        put(store, key)
    a, b, c = readable(store.queue.claim_many(controllers=["ctl"], lease_ms=10, limit=3, now=at()))
    assert store.queue.settle(claim=b, now=at())
    assert store.queue.renew_many(claims=[a, b, c.to_dict()], lease_ms=20, now=at()) == [
        True,
        False,
        True,
    ]
    assert store.queue.settle_many(claims=[a, b, a, c], now=at()) == [True, False, False, True]
    assert store.queue.renew_many(claims=[], lease_ms=20, now=at()) == []
    assert store.queue.settle_many(claims=[], now=at()) == []


@pytest.mark.parametrize("bad", [{}, 5, None, ("ctl", "a", "t"), "text"])
def test_bad_claims_change_nothing(store: Store, bad: Any) -> None:
    put(store)
    good = claimed(store)
    with unchanged(store):
        with refused("invalid"):
            store.queue.renew_many(claims=[good, bad], lease_ms=99, now=at())
        with refused("invalid"):
            store.queue.settle_many(claims=[good, bad], now=at())
        with refused("invalid"):
            store.queue.requeue(claim=bad, available_at=at(), now=at())
