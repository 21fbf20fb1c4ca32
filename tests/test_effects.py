"""Effects: reserved once, settled once."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost import Effect, Reservation, Store
from tests.support import at, put, refused, unchanged

FINAL = ("applied", "rejected")
OPEN = ("pending", "indeterminate")


@pytest.fixture
def uid(store: Store) -> str:
    return put(store).metadata.uid


def reserve(store: Store, uid: str, **more: Any) -> Reservation[Effect]:
    given = {
        "key": "e",
        "generation": 1,
        "kind": "call",
        "request_fingerprint": "f",
        "now": at(),
        **more,
    }
    return store.effects.reserve(resource_uid=uid, **given)


def update(store: Store, uid: str, state: str, **more: Any) -> Effect:
    return store.effects.update(**{"resource_uid": uid, "key": "e", "state": state, **more})


def test_a_new_effect_is_pending(store: Store, uid: str) -> None:
    made = reserve(store, uid)
    assert made.created is True
    assert made.record == Effect("e", uid, 1, "call", "pending", "f", at())
    assert store.effects.get(resource_uid=uid, key="e") == made.record


def test_the_same_again_gives_the_record(store: Store, uid: str) -> None:
    reserve(store, uid)
    done = update(store, uid, "applied", external_ref="x", now=at(1))
    with unchanged(store):
        again = reserve(store, uid, now=at(99))
    assert again == Reservation(done, False)


@pytest.mark.parametrize(
    "other", [{"generation": 2}, {"kind": "other"}, {"request_fingerprint": "g"}]
)
def test_another_request_under_the_key_is_a_conflict(
    store: Store, uid: str, other: dict[str, Any]
) -> None:
    reserve(store, uid)
    with unchanged(store), refused("effect_conflict") as caught:
        reserve(store, uid, **other)
    assert (caught[0].table, caught[0].key) == ("effects", f"{uid}/e")


def test_keys_belong_to_a_resource(store: Store, uid: str) -> None:
    other = put(store, "other").metadata.uid
    assert reserve(store, uid).created
    assert reserve(store, other, kind="different").created


def test_an_unknown_resource(store: Store) -> None:
    with unchanged(store), refused("unknown_resource") as caught:
        reserve(store, "nobody")
    assert caught[0].key == "nobody"
    assert store.effects.list(resource_uid="nobody") == []
    assert store.effects.get(resource_uid="nobody", key="e") is None


def test_effects_are_listed_by_start_and_key(store: Store, uid: str) -> None:
    for key, ms in [("b", 5), ("a", 5), ("c", 1), ("B", 5)]:
        reserve(store, uid, key=key, now=at(ms))
    assert [e.key for e in store.effects.list(resource_uid=uid)] == ["c", "B", "a", "b"]


@pytest.mark.parametrize("state", FINAL)
def test_final_states_set_when_and_stay(store: Store, uid: str, state: str) -> None:
    reserve(store, uid)
    settled = update(store, uid, state, external_ref="r", error="e", now=at(5))
    assert (settled.state, settled.completed_at) == (state, at(5))
    assert (settled.external_ref, settled.error) == ("r", "e")
    for other in {*FINAL, *OPEN} - {state}:
        with unchanged(store), refused("effect_terminal") as caught:
            update(store, uid, other, now=at(6))
        assert state in str(caught[0])


@pytest.mark.parametrize("state", FINAL)
def test_the_same_final_state_again_is_allowed(store: Store, uid: str, state: str) -> None:
    reserve(store, uid)
    update(store, uid, state, external_ref="r", error="e", now=at(5))
    again = update(store, uid, state, now=at(7))
    assert (again.completed_at, again.external_ref, again.error) == (at(7), "r", None)


@pytest.mark.parametrize("state", OPEN)
def test_open_states_have_no_end(store: Store, uid: str, state: str) -> None:
    reserve(store, uid)
    assert update(store, uid, state, now=at(5)).completed_at is None
    assert update(store, uid, "applied", now=at(6)).completed_at == at(6)


def test_what_is_left_out_of_an_update(store: Store, uid: str) -> None:
    reserve(store, uid)
    update(store, uid, "indeterminate", external_ref="r", error="e", now=at())
    later = update(store, uid, "pending", now=at())
    assert (later.external_ref, later.error) == ("r", None)
    assert update(store, uid, "pending", external_ref="s", now=at()).external_ref == "s"


def test_updating_a_missing_effect(store: Store, uid: str) -> None:
    for owner in (uid, "nobody"):
        with unchanged(store), refused("effect_not_found"):
            update(store, owner, "applied", now=at())


@pytest.mark.parametrize("state", ["", "done", "APPLIED", None, 1, ["applied"]])
def test_an_unknown_state_is_invalid(store: Store, uid: str, state: Any) -> None:
    reserve(store, uid)
    with unchanged(store), refused("invalid"):
        update(store, uid, state, now=at())


def test_a_long_error_is_cut(store: Store, uid: str) -> None:
    reserve(store, uid)
    exact = "x" * 8192
    assert update(store, uid, "pending", error=exact, now=at()).error == exact
    cut = update(store, uid, "pending", error=exact + "y", now=at()).error
    assert cut == exact + "…"
