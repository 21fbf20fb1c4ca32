"""What each operation tells its listeners, and what none ever tells."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

import fencepost
from fencepost import Store
from fencepost.observing import StoreEvent
from tests.observing.heard import Heard
from tests.support import SetClock, at, enqueue, put, refused


@pytest.fixture
def store(open_store: Callable[..., Store], heard: Heard) -> Store:
    return open_store(hooks=[heard])


def test_runs(store: Store, heard: Heard, clock: SetClock) -> None:
    run = enqueue(store, "r", claim_token="t-r", input={"password": "s3cret"}, now=None)
    claim = {"run_id": "r", "claim_token": "t-r"}
    named = {"facet": "runs", "key": "r"}
    owned = {**named, "workflow_name": "w", "runner_id": "alice", "lease_ms": 1000}
    assert heard.facts() == [{"kind": "enqueue", **owned, "fence": run.fence}]

    assert store.runs.renew(**claim, lease_ms=2000)
    assert store.runs.verify(**claim)
    assert store.runs.park(**claim)
    assert heard.facts() == [
        {"kind": "renew", **named, "lease_ms": 2000},
        {"kind": "park", **named},
    ]

    taken = store.runs.claim_next(runner_id="alice", lease_ms=1000, claim_token="t-r")
    assert taken is not None
    assert store.runs.complete(**claim)
    assert heard.facts() == [
        {"kind": "claim", **owned, "fence": taken.fence},
        {"kind": "complete", **named},
    ]
    assert taken.fence == 2


def test_a_batch_tells_of_each(store: Store, heard: Heard) -> None:
    run = {"workflow_name": "w", "workflow_source_ref": "s", "runner_id": "a", "lease_ms": 1000}
    store.runs.enqueue_many(
        items=[{"run_id": name, "claim_token": name, **run} for name in ("a", "b", "a")]
    )
    assert [(fact["kind"], fact["key"]) for fact in heard.facts()] == [
        ("enqueue", "a"),
        ("enqueue", "b"),
    ]
    assert store.runs.complete_many(claims=[("a", "a"), ("b", "wrong")]) == [True, False]
    assert [(event.kind, event.key) for event in heard] == [
        ("complete", "a"),
        ("lost", "b"),
        ("call", None),
    ]


def test_an_expired_claim_and_a_lost_one(store: Store, heard: Heard, clock: SetClock) -> None:
    run = enqueue(store, "r", claim_token="t-r", now=None)
    claim = {"run_id": "r", "claim_token": "t-r"}
    clock.advance(1000)
    heard.clear()

    assert not store.runs.renew(**claim, lease_ms=1000)
    owned = {"facet": "runs", "key": "r", "workflow_name": "w"}
    assert heard.facts() == [{"kind": "expired", **owned, "runner_id": "alice", "fence": run.fence}]

    taken = store.runs.claim_next(runner_id="bob", lease_ms=1000)
    assert taken is not None
    heard.clear()
    lost = {"kind": "lost", **owned, "runner_id": "bob", "fence": taken.fence}
    assert not store.runs.verify(**claim)
    assert not store.runs.park(**claim)
    assert not store.runs.complete(**claim)
    assert not store.runs.delete(**claim)
    assert not store.runs.renew(**claim, lease_ms=1000)
    operations = [event.operation for event in heard if event.kind == "lost"]
    assert operations == ["verify", "park", "complete", "delete", "renew"]
    assert heard.facts() == [lost] * 5

    assert not store.runs.renew(run_id="nobody", claim_token="t", lease_ms=1000)
    assert heard.facts() == [{"kind": "lost", "facet": "runs", "key": "nobody"}]


def test_the_source_of_a_run(store: Store, heard: Heard, clock: SetClock) -> None:
    enqueue(store, "r", claim_token="t-r", now=None)
    assert store.runs.park(run_id="r", claim_token="t-r")
    heard.clear()
    given = {"run_id": "r", "runner_id": "bob", "claim_token": "t", "lease_ms": 500}
    same = {"workflow_name": "w", "workflow_source_ref": "/w.py"}
    other = {"workflow_name": "w", "workflow_source_ref": "/v.py"}
    assert store.runs.repair_source(**given, **same) == "unchanged"
    assert heard.facts() == []
    claim = {"kind": "claim", "facet": "runs", "key": "r", "workflow_name": "w"}
    assert store.runs.repair_source(**given, **other) == "claimed"
    assert heard.facts() == [{**claim, "runner_id": "bob", "lease_ms": 500}]
    clock.advance(500)
    assert store.runs.claim_legacy_source(**given, **other, old_workflow_path="/v.py")
    assert heard.facts() == [{**claim, "runner_id": "bob", "lease_ms": 500}]


def test_the_queue(store: Store, heard: Heard, clock: SetClock) -> None:
    named = {"facet": "queue", "controller": "ctl", "key": "k"}
    put(store, now=None)
    assert heard.facts() == [{"kind": "put", **named, "facet": "resources"}]
    store.queue.enqueue(controller="ctl", key="k")
    first = store.queue.claim_next(controllers=["ctl"], lease_ms=1000)
    assert first is not None
    assert store.queue.renew(claim=first, lease_ms=3000)
    assert store.queue.requeue(claim=first, available_at=at(), error="hidden")
    assert heard.facts() == [
        {"kind": "enqueue", **named},
        {"kind": "claim", **named, "lease_ms": 1000, "fence": first.fence},
        {"kind": "renew", **named, "lease_ms": 3000},
        {"kind": "requeue", **named, "failed": True},
    ]
    second = store.queue.claim_next(controllers=["ctl"], lease_ms=1000)
    assert second is not None
    heard.clear()
    assert not store.queue.settle(claim=first)
    assert not store.queue.requeue(claim=first, available_at=at())
    clock.advance(1000)
    assert not store.queue.renew(claim=second, lease_ms=1000)
    assert store.queue.settle(claim=second)
    assert not store.queue.settle(claim=second)
    fence = second.fence
    assert heard.facts() == [
        {"kind": "lost", **named, "fence": fence},
        {"kind": "lost", **named, "fence": fence},
        {"kind": "expired", **named, "fence": fence},
        {"kind": "settle", **named},
        {"kind": "lost", **named},
    ]


def test_the_other_tables(store: Store, heard: Heard) -> None:
    resource = put(store, spec={"password": "s3cret"})
    uid = resource.metadata.uid
    effect = {"key": "e", "resource_uid": uid}
    for _ in range(2):
        store.effects.reserve(**effect, generation=1, kind="x", request_fingerprint="f")
    store.effects.update(**effect, state="applied", error="hidden")
    request = store.requests.reserve(
        resource_uid=uid, request_key="q", workflow="w", input_fingerprint="f"
    ).record
    store.requests.update(request_id=request.request_id, state="running")
    event = store.events.record(controller="ctl", key="k", type="t", payload={"a": "hidden"})
    seq = store.feed.record(run_id="r", workflow_ref="w", type="t", payload={"a": "hidden"})
    store.feed.set_watermark(session_id="me", seq=seq)
    name = {"controller": "ctl", "key": "k"}
    resource = store.resources.request_deletion(**name)
    version = resource.metadata.resource_version
    store.resources.delete(**name, expected_resource_version=version)
    store.resources.delete(**name, expected_resource_version=version)

    assert heard.facts() == [
        {"kind": "put", "facet": "resources", **name},
        {"kind": "reserve", "facet": "effects", "key": "e", "created": True},
        {"kind": "reserve", "facet": "effects", "key": "e", "created": False},
        {"kind": "update", "facet": "effects", "key": "e", "state": "applied"},
        {"kind": "reserve", "facet": "requests", "key": request.request_id, "created": True},
        {"kind": "update", "facet": "requests", "key": request.request_id, "state": "running"},
        {"kind": "record", "facet": "events", **name, "state": "t", "seq": event.seq},
        {"kind": "record", "facet": "feed", "key": "r", "state": "t", "seq": seq},
        {"kind": "watermark", "facet": "feed", "key": "me", "seq": seq},
        {"kind": "update", "facet": "resources", **name},
        {"kind": "delete", "facet": "resources", **name},
    ]


def test_each_call_is_told_with_its_time_and_its_error(store: Store, heard: Heard) -> None:
    assert store.runs.get(run_id="r") is None
    assert list(store.runs.iterate(status="parked")) == []
    assert store.runs.claim_next(runner_id="a", lease_ms=1000) is None
    enqueue(store, "r")
    with refused("run_exists"):
        enqueue(store, "r")
    with refused("resource_not_found"):
        store.resources.request_deletion(controller="c", key="k")
    with refused("invalid"):
        store.runs.get(run_id="no id")  # never reached the engine
    calls = [(event.facet, event.operation, event.error) for event in heard if event.kind == "call"]
    assert calls == [
        ("runs", "get", None),
        ("runs", "list_by_status", None),
        ("runs", "claim", None),
        ("runs", "enqueue", None),
        ("runs", "enqueue", None),  # in a batch of one, the refusal is an item's
        ("resources", "request_deletion", "resource_not_found"),
    ]
    for event in heard:
        assert (event.path, event.engine) == (store.path, store.engine_name)
        assert event.seconds is None or 0 <= event.seconds < 60


def test_the_store_itself(store: Store, heard: Heard) -> None:
    enqueue(store, "r", claim_token="t")
    store.runs.complete(run_id="r", claim_token="t", now=at())
    heard.clear()
    store.prune(done_before=at(1))
    moved = store.checkpoint("truncate").moved_frames
    store.backup(f"{store.path}.copy")
    with refused("invalid"):
        store.checkpoint("sideways")
    assert [(event.operation, event.error) for event in heard if event.kind == "call"] == [
        ("prune", None),
        ("checkpoint", None),
        ("backup", None),
        ("checkpoint", "invalid"),
    ]
    assert heard.facts() == [
        {"kind": "prune", "facet": "store", "count": 1},
        {"kind": "checkpoint", "facet": "store", "count": moved, "failed": False},
    ]


def test_no_secret_is_told(
    store: Store, heard: Heard, clock: SetClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither tokens nor what callers store, by any operation, done or refused."""
    caplog.set_level(logging.DEBUG, "fencepost")
    held = {"run_id": "r", "claim_token": "s3cret"}
    enqueue(store, "r", claim_token="s3cret", input={"password": "hidden"}, now=None)
    assert store.runs.renew(**held, lease_ms=1000)
    assert store.runs.verify(**held)
    assert store.runs.park(**held)
    assert store.runs.claim_next(runner_id="b", lease_ms=1000, claim_token="s3cret")
    source = {"workflow_name": "w", "workflow_source_ref": "v", "runner_id": "b", "lease_ms": 1000}
    assert store.runs.repair_source(**held, **source) == "claimed"
    clock.advance(1000)
    assert not store.runs.renew(**held, lease_ms=1000)
    assert store.runs.claim_legacy_source(**held, **source, old_workflow_path="v")
    assert store.runs.complete(**held)
    assert not store.runs.complete(**held)
    assert not store.runs.delete(**held)

    uid = put(store, spec={"a": "hidden"}, initial_status={"a": "hidden"}, now=None).metadata.uid
    tokens = []
    for settle in (False, True):
        claim = store.queue.claim_next(controllers=["ctl"], lease_ms=1000)
        assert claim is not None
        tokens.append(claim.token)
        assert store.queue.renew(claim=claim, lease_ms=1000)
        if settle:
            assert store.queue.settle(claim=claim)
        else:
            assert store.queue.requeue(claim=claim, available_at=at(), error="hidden")
        assert not store.queue.renew(claim=claim, lease_ms=1000)
        assert not store.queue.settle(claim=claim)
    effect = {"key": "e", "resource_uid": uid}
    store.effects.reserve(**effect, generation=1, kind="x", request_fingerprint="hidden")
    store.effects.update(**effect, state="pending", external_ref="hidden", error="hidden")
    request = store.requests.reserve(
        resource_uid=uid, request_key="q", workflow="w", input_fingerprint="hidden"
    ).record
    store.requests.update(request_id=request.request_id, state="failed", error="hidden")
    store.events.record(controller="ctl", key="k", type="t", payload={"a": "hidden"})
    store.feed.record(run_id="r", workflow_ref="w", type="t", payload={"a": "hidden"})

    assert {event.kind for event in heard} >= {"claim", "expired", "lost", "requeue", "record"}
    assert len(caplog.records) >= 7
    said = repr(list(heard)) + caplog.text
    for secret in ("s3cret", "hidden", *tokens):
        assert secret not in said


def test_events_are_frozen_values(store: Store, heard: Heard) -> None:
    enqueue(store, "r")
    with pytest.raises(FrozenInstanceError):
        heard[0].kind = "other"  # type: ignore[misc]
    assert StoreEvent.from_dict(heard[0].to_dict()) == heard[0]
    assert {field.name for field in fields(StoreEvent)} >= set(heard[0].to_dict())


def test_both_engines_tell_the_same(engines_here: tuple[str, ...], tmp_path: Any) -> None:
    told = []
    for engine in engines_here:
        clock, heard = SetClock(), Heard()
        with fencepost.open(tmp_path / engine, engine=engine, clock=clock, hooks=[heard]) as store:
            enqueue(store, "r", claim_token="t", now=None)
            put(store, now=None)
            clock.advance(2000)
            store.runs.renew(run_id="r", claim_token="t", lease_ms=1)
            store.runs.claim_many(runner_id="b", lease_ms=9, limit=5)
            store.queue.claim_many(controllers=["ctl"], lease_ms=9, limit=5)
        told.append(heard.facts())
    assert told == [told[0]] * len(engines_here)
    assert len(told[0]) == 5
