"""Child requests: asked for once, followed to their end."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from fencepost import UNSET, Request, Reservation, Store
from tests.support import put, refused, unchanged

STATES = ("pending", "running", "waiting", "succeeded", "failed", "interrupted")


@pytest.fixture
def uid(store: Store) -> str:
    return put(store).metadata.uid


def reserve(store: Store, uid: str, **more: Any) -> Reservation[Request]:
    given = {"request_key": "q", "workflow": "w", "input_fingerprint": "f", **more}
    return store.requests.reserve(resource_uid=uid, **given)


def test_a_new_request(store: Store, uid: str) -> None:
    made = reserve(store, uid)
    assert made.created
    assert uuid.UUID(made.record.request_id).version == 4
    assert made.record == Request(made.record.request_id, uid, "q", "f", "w", "pending", 0)
    assert store.requests.get(resource_uid=uid, request_key="q") == made.record
    assert store.requests.get_by_id(request_id=made.record.request_id) == made.record


def test_the_same_again_gives_the_record(store: Store, uid: str) -> None:
    first = reserve(store, uid).record
    moved = store.requests.update(request_id=first.request_id, state="running", attempt=2)
    with unchanged(store):
        assert reserve(store, uid) == Reservation(moved, False)


@pytest.mark.parametrize("other", [{"workflow": "v"}, {"input_fingerprint": "g"}])
def test_another_request_under_the_key_is_a_conflict(
    store: Store, uid: str, other: dict[str, Any]
) -> None:
    reserve(store, uid)
    with unchanged(store), refused("workflow_conflict") as caught:
        reserve(store, uid, **other)
    assert (caught[0].table, caught[0].key) == ("workflow_requests", f"{uid}/q")


def test_unknown_things(store: Store, uid: str) -> None:
    with unchanged(store), refused("unknown_resource"):
        reserve(store, "nobody")
    assert store.requests.get(resource_uid=uid, request_key="none") is None
    assert store.requests.get_by_id(request_id="none") is None
    assert store.requests.list(resource_uid="nobody") == []
    with unchanged(store), refused("workflow_request_not_found") as caught:
        store.requests.update(request_id="none", state="running")
    assert caught[0].key == "none"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("then", STATES)
def test_any_state_follows_any(store: Store, uid: str, state: str, then: str) -> None:
    made = reserve(store, uid).record
    store.requests.update(request_id=made.request_id, state=state)
    assert store.requests.update(request_id=made.request_id, state=then).state == then


def test_an_absent_member_keeps_its_value_and_none_clears(store: Store, uid: str) -> None:
    request_id = reserve(store, uid).record.request_id

    def update(**members: Any) -> tuple[Any, ...]:
        record = store.requests.update(request_id=request_id, state="waiting", **members)
        return record.run_id, record.attempt, record.error

    assert update(run_id="r", attempt=3, error="e") == ("r", 3, "e")
    assert update() == ("r", 3, "e")
    assert update(run_id=UNSET, attempt=UNSET, error=UNSET) == ("r", 3, "e")
    assert update(run_id=None) == (None, 3, "e")
    assert update(error=None) == (None, 3, None)
    assert update(run_id="s", attempt=0) == ("s", 0, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "unknown"},
        {"state": None},
        {"attempt": -1},
        {"attempt": None},
        {"attempt": True},
        {"attempt": 1.0},
        {"run_id": 5},
        {"run_id": "\ud800"},
        {"error": 5},
    ],
)
def test_wrong_members_are_refused(store: Store, uid: str, wrong: dict[str, Any]) -> None:
    request_id = reserve(store, uid).record.request_id
    with unchanged(store), refused("invalid"):
        store.requests.update(**{"request_id": request_id, "state": "running", **wrong})


def test_requests_are_listed_in_insertion_order(store: Store, uid: str) -> None:
    keys = ["c", "a", "b", "B"]
    for key in keys:
        reserve(store, uid, request_key=key)
    reserve(store, put(store, "other").metadata.uid)
    assert [r.request_key for r in store.requests.list(resource_uid=uid)] == keys


def test_a_long_error_is_cut(store: Store, uid: str) -> None:
    request_id = reserve(store, uid).record.request_id
    record = store.requests.update(request_id=request_id, state="failed", error="é" * 9000)
    assert record.error == "é" * 8192 + "…"
    assert store.requests.get_by_id(request_id=request_id) == record
