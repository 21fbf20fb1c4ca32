"""Resources: versions, generations, compare-and-swap, deletion."""

from __future__ import annotations

from typing import Any

import pytest

import fencepost
from fencepost import Condition, ResourceStatus, Store
from tests.support import at, put, refused, unchanged


def queued(store: Store) -> list[str]:
    return [item.key for item in store.queue.list()]


def settle_all(store: Store, now: str | None = None) -> None:
    while claim := store.queue.claim_next(controllers=["ctl"], lease_ms=1000, now=now or at()):
        assert store.queue.settle(claim=claim, now=now or at())


def status(generation: int = 1, **more: Any) -> ResourceStatus:
    return ResourceStatus(generation, **more)


def update(store: Store, version: int, value: Any, **more: Any) -> fencepost.Resource:
    given = {"controller": "ctl", "key": "k", "now": at(1), **more}
    return store.resources.update_status(expected_resource_version=version, status=value, **given)


def test_a_new_resource(store: Store) -> None:
    made = put(store)
    assert made.metadata.resource_version == 1
    assert made.metadata.generation == 1
    assert made.metadata.finalizers == ()
    assert made.metadata.deletion_timestamp is None
    assert made.spec == {"want": 1}
    assert made.status == ResourceStatus(0, (), {"have": 0})
    assert queued(store) == ["k"]
    assert store.resources.get(controller="ctl", key="k") == made
    assert store.resources.get_by_uid(uid=made.metadata.uid) == made


def test_uids_are_random_uuids(store: Store) -> None:
    import uuid

    uids = {put(store, f"k{n}").metadata.uid for n in range(20)}
    assert len(uids) == 20
    assert {uuid.UUID(uid).version for uid in uids} == {4}


def test_another_spec_makes_a_version_and_a_generation(store: Store) -> None:
    put(store)
    settle_all(store)
    other = put(store, spec={"want": 2}, initial_status="ignored", now=at(5))
    assert other.metadata.resource_version == 2
    assert other.metadata.generation == 2
    assert other.status.controller_status == {"have": 0}
    assert queued(store) == ["k"]


@pytest.mark.parametrize("same", [{"b": 1.0, "a": [2]}, {"a": [2.0], "b": 1}])
def test_the_same_spec_changes_nothing(store: Store, same: Any) -> None:
    first = put(store, spec={"a": [2], "b": 1})
    settle_all(store)
    with unchanged(store):
        assert put(store, spec=same, initial_status="other", now=at(9)) == first
    assert queued(store) == []


@pytest.mark.parametrize("spec", [None, True, 0, "", [], {}, 1.5, "text", [{"__proto__": 1}]])
def test_any_json_value_is_a_spec(store: Store, spec: Any) -> None:
    assert put(store, spec=spec).spec == spec
    assert put(store, "again", spec=put(store, spec=spec).spec).spec == spec


def test_missing_resources_are_none(store: Store) -> None:
    assert store.resources.get(controller="ctl", key="k") is None
    assert store.resources.get_by_uid(uid="nobody") is None
    assert store.resources.list() == []


def test_listing_by_controller_and_key(store: Store) -> None:
    for controller, key in [("b", "1"), ("a", "2"), ("a", "10"), ("B", "1"), ("a", "é")]:
        put(store, key, controller=controller)
    named = [(r.metadata.controller, r.metadata.key) for r in store.resources.list()]
    assert named == [("B", "1"), ("a", "10"), ("a", "2"), ("a", "é"), ("b", "1")]
    assert [r.metadata.key for r in store.resources.list(controller="a")] == ["10", "2", "é"]
    assert store.resources.list(controller="none") == []


def test_status_is_swapped_on_the_expected_version(store: Store) -> None:
    made = put(store)
    settle_all(store)
    new = update(store, 1, status(1, controller_status=[1]))
    assert new.metadata.resource_version == 2
    assert new.metadata.generation == made.metadata.generation
    assert new.status.controller_status == [1]
    assert new.status.observed_generation == 1
    assert queued(store) == []
    with unchanged(store), refused("resource_conflict") as caught:
        update(store, 1, status(1, controller_status=[2]))
    assert caught[0].table == "resources"
    assert caught[0].key == "ctl/k"


def test_identical_status_makes_no_version(store: Store) -> None:
    put(store)
    first = update(store, 1, status(1), finalizers=["a"])
    with unchanged(store):
        assert update(store, 2, status(1), now=at(77)) == first
        assert update(store, 2, status(1), finalizers=["a"], now=at(77)) == first
    assert update(store, 2, status(1), finalizers=["a", "b"]).metadata.resource_version == 3


def test_finalizers_left_out_stay(store: Store) -> None:
    put(store)
    update(store, 1, status(1), finalizers=["b", "a"])
    assert update(store, 2, status(2)).metadata.finalizers == ("b", "a")
    assert update(store, 3, status(2), finalizers=[]).metadata.finalizers == ()


def test_status_as_a_dict_or_a_record(store: Store) -> None:
    put(store)
    condition = Condition("Ready", "unknown", "Why", 1, at(), "text")
    record = status(1, conditions=(condition,))
    assert update(store, 1, record).status == record
    with unchanged(store):
        assert update(store, 2, record.to_dict()).status == record


def test_status_of_a_missing_resource(store: Store) -> None:
    with unchanged(store), refused("resource_not_found"):
        update(store, 1, status(1))


def test_deletion_is_requested_once_and_enqueues_every_time(store: Store) -> None:
    put(store)
    settle_all(store)
    asked = store.resources.request_deletion(controller="ctl", key="k", now=at(1))
    assert asked.metadata.deletion_timestamp == at(1)
    assert asked.metadata.resource_version == 2
    assert asked.metadata.generation == 1
    assert queued(store) == ["k"]
    settle_all(store, at(1))
    again = store.resources.request_deletion(controller="ctl", key="k", now=at(2))
    assert again == asked
    assert queued(store) == ["k"]


def test_deletion_of_a_missing_resource_is_refused(store: Store) -> None:
    with unchanged(store), refused("resource_not_found"):
        store.resources.request_deletion(controller="ctl", key="k", now=at())


def set_finalizers(store: Store, version: int, *names: str) -> fencepost.Resource:
    return store.resources.update_finalizers(
        controller="ctl", key="k", expected_resource_version=version, finalizers=names, now=at(3)
    )


def test_finalizers_always_make_a_version(store: Store) -> None:
    put(store)
    settle_all(store)
    assert set_finalizers(store, 1, "a", "b").metadata.finalizers == ("a", "b")
    assert set_finalizers(store, 2, "a", "b").metadata.resource_version == 3
    assert queued(store) == []
    with unchanged(store), refused("resource_conflict"):
        set_finalizers(store, 2, "a")


def test_finalizers_of_a_missing_resource(store: Store) -> None:
    with unchanged(store), refused("resource_not_found"):
        set_finalizers(store, 1)


def delete(store: Store, version: int) -> bool:
    return store.resources.delete(controller="ctl", key="k", expected_resource_version=version)


def test_deleting_takes_a_request_no_finalizers_and_the_version(store: Store) -> None:
    assert delete(store, 1) is False
    put(store)
    with unchanged(store), refused("not_ready_for_deletion"):
        delete(store, 1)
    set_finalizers(store, 1, "a")
    store.resources.request_deletion(controller="ctl", key="k", now=at())
    with unchanged(store), refused("not_ready_for_deletion"):
        delete(store, 3)
    set_finalizers(store, 3)
    with unchanged(store), refused("resource_conflict"):
        delete(store, 3)
    assert delete(store, 4) is True
    assert delete(store, 4) is False
    assert store.resources.list() == []


def test_not_ready_comes_before_a_conflict(store: Store) -> None:
    put(store)
    with refused("not_ready_for_deletion"):
        delete(store, 99)


def test_deleting_cascades(store: Store) -> None:
    uid = put(store).metadata.uid
    other = put(store, "other").metadata.uid
    for owner in (uid, other):
        store.effects.reserve(
            key="e", resource_uid=owner, generation=1, kind="x", request_fingerprint="f", now=at()
        )
        store.requests.reserve(
            resource_uid=owner, request_key="q", workflow="w", input_fingerprint="f"
        )
    store.events.record(controller="ctl", key="k", type="t", now=at())
    store.resources.request_deletion(controller="ctl", key="k", now=at())
    assert delete(store, 2)
    assert queued(store) == ["other"]
    assert store.effects.list(resource_uid=uid) == []
    assert store.requests.list(resource_uid=uid) == []
    assert len(store.effects.list(resource_uid=other)) == 1
    assert len(store.requests.list(resource_uid=other)) == 1
    assert len(store.events.list()) == 1


def test_made_anew_it_is_another_resource(store: Store) -> None:
    first = put(store).metadata.uid
    store.resources.request_deletion(controller="ctl", key="k", now=at())
    assert delete(store, 2)
    again = put(store)
    assert again.metadata.uid != first
    assert again.metadata.resource_version == 1
    assert store.resources.get_by_uid(uid=first) is None
