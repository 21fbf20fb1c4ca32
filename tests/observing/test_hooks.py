"""Listeners: what they are told, when, and that they change nothing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

import fencepost
from fencepost import Store
from fencepost.facet import Facet
from fencepost.observing import StoreEvent
from tests.support import SetClock, at, enqueue, put, refused, sql

SECRETS = ("t-r", "s3cret", "hidden")


class Heard(list[StoreEvent]):
    """A listener that keeps what it is told."""

    def __call__(self, event: StoreEvent) -> None:
        self.append(event)

    def facts(self) -> list[dict[str, Any]]:
        """The events but for the calls, without what all have; the list is empty then."""
        common = {"path", "engine", "operation"}
        found = [
            {name: value for name, value in event.to_dict().items() if name not in common}
            for event in self
            if event.kind != "call"
        ]
        self.clear()
        return found


@pytest.fixture
def heard() -> Heard:
    return Heard()


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


def test_no_secret_is_told(store: Store, heard: Heard) -> None:
    enqueue(store, "r", claim_token="t-r", input={"password": "s3cret"})
    put(store, spec={"password": "s3cret"}, initial_status={"note": "hidden"})
    claim = store.queue.claim_next(controllers=["ctl"], lease_ms=1000, now=at())
    assert claim is not None
    store.queue.requeue(claim=claim, available_at=at(), error="hidden")
    store.feed.record(run_id="r", workflow_ref="w", type="t", payload={"a": "hidden"})
    store.runs.renew(run_id="r", claim_token="t-r", lease_ms=1000, now=at(5000))
    assert {event.kind for event in heard} >= {"claim", "expired", "requeue", "record", "put"}
    for secret in (*SECRETS, claim.token):
        assert secret not in repr(list(heard))


def test_events_are_told_after_the_commit(store: Store, path: str) -> None:
    seen = []

    @store.hooks.add
    def look(event: StoreEvent) -> None:
        if event.kind == "enqueue":
            seen.append(sql(path, ("SELECT run_id FROM workflow_run_queue", ())))

    enqueue(store, "r")
    assert seen == [[["r"]]]


def test_they_run_in_the_thread_of_the_call(store: Store) -> None:
    threads: set[int] = set()
    store.hooks.add(lambda event: threads.add(threading.get_ident()))
    worker = threading.Thread(target=enqueue, args=(store, "r"))
    worker.start()
    worker.join()
    assert threads == {worker.ident}


def test_a_listener_may_call_the_store_which_tells_nobody(store: Store, heard: Heard) -> None:
    heard_too = Heard()

    @store.hooks.add
    def record(event: StoreEvent) -> None:
        if event.key is not None:
            store.feed.record(run_id=event.key, workflow_ref="w", type=event.kind)

    store.hooks.add(heard_too)
    enqueue(store, "r")
    assert [event.type for event in store.feed.after(seq=0)] == ["enqueue"]
    assert heard == heard_too
    assert [(event.facet, event.kind) for event in heard] == [
        ("runs", "enqueue"),
        ("runs", "call"),
        ("feed", "call"),  # the test's own look
    ]


class Broken(Exception):
    """What a bad listener raises."""


def test_a_listener_that_raises_changes_nothing(
    store: Store, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    @store.hooks.add
    def broken(event: StoreEvent) -> None:
        raise Broken(event.kind)

    after = store.hooks.add(Heard())
    caplog.set_level(logging.DEBUG, "fencepost")
    enqueue(store, "r", claim_token="t")
    assert store.runs.complete(run_id="r", claim_token="t", now=at())
    run = store.runs.get(run_id="r")
    assert run is not None
    assert run.status == "done"
    assert heard == after
    assert [event.kind for event in after] == ["enqueue", "call", "complete", "call", "call"]

    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1, "the first error is logged, with its traceback"
    assert errors[0].exc_info is not None
    assert isinstance(errors[0].exc_info[1], Broken)
    again = [record for record in caplog.records if "raised again" in record.message]
    assert len(again) == 4
    assert all(record.levelno == logging.DEBUG for record in again)


def test_what_ends_the_thread_goes_through_after_the_commit(store: Store) -> None:
    def interrupt(event: StoreEvent) -> None:
        raise KeyboardInterrupt

    store.hooks.add(interrupt)
    with pytest.raises(KeyboardInterrupt):
        enqueue(store, "r")
    store.hooks.remove(interrupt)
    assert store.runs.get(run_id="r") is not None
    told = store.hooks.add(Heard())
    enqueue(store, "s")
    assert [event.kind for event in told] == ["enqueue", "call"], "the flag was put back"


def facets_of(store: Store) -> Iterator[Facet]:
    for name in ("resources", "queue", "effects", "requests", "events", "runs", "feed"):
        yield getattr(store, name)


def test_without_listeners_the_facets_use_the_engine_itself(
    open_store: Callable[..., Store], heard: Heard
) -> None:
    store = open_store()
    assert all(facet._engine is store._engine for facet in facets_of(store))
    store.hooks.add(heard)
    store.hooks.add(heard)
    runs = store.runs
    enqueue(store, "r")
    assert len(heard) == 2, "added twice, told once"
    store.hooks.remove(heard)
    store.hooks.remove(heard)
    assert all(facet._engine is store._engine for facet in facets_of(store))
    assert runs is store.runs
    enqueue(store, "s")
    assert len(heard) == 2


def test_a_method_can_be_removed(open_store: Callable[..., Store]) -> None:
    """Looked up twice, it is two objects; two listeners that compare equal are still two."""
    first, second = Heard(), Heard()
    store = open_store(hooks=[first.append, first.append, second.append])
    enqueue(store, "r")
    store.hooks.remove(first.append)
    enqueue(store, "s")
    assert (len(first), len(second)) == (2, 4)


@pytest.mark.parametrize("bad", [[5], [None], 7, "listener"])
def test_listeners_that_are_none(open_store: Callable[..., Store], path: str, bad: Any) -> None:
    with refused("invalid"):
        open_store(hooks=bad)
    with refused("invalid"):
        open_store(path).hooks.add(bad)


def test_reading_a_store(open_store: Callable[..., Store], heard: Heard) -> None:
    enqueue(open_store(), "r", claim_token="t")
    reader = open_store(read_only=True, hooks=[heard])
    assert reader.runs.verify(run_id="r", claim_token="t", now=at())
    assert not reader.runs.verify(run_id="r", claim_token="other", now=at())
    with refused("read_only"):
        reader.feed.record(run_id="r", workflow_ref="w", type="t")
    assert [(event.kind, event.operation, event.error) for event in heard] == [
        ("call", "verify", None),
        ("lost", "verify", None),
        ("call", "verify", None),
        ("call", "record", "read_only"),
    ]


def test_a_store_that_is_closed_meanwhile(store: Store, heard: Heard) -> None:
    """What became of a refused claim is looked up, and a look that fails is no error."""
    store.hooks.add(lambda event: store.close() if event.kind == "enqueue" else None)
    enqueue(store, "r", claim_token="t")
    with refused("closed"):
        store.runs.renew(run_id="r", claim_token="t", lease_ms=1)
    assert heard[-1].error == "closed"


def test_events_are_frozen_values(store: Store, heard: Heard) -> None:
    enqueue(store, "r")
    with pytest.raises(FrozenInstanceError):
        heard[0].kind = "other"  # type: ignore[misc]
    assert StoreEvent.from_dict(heard[0].to_dict()) == heard[0]
    assert {field.name for field in fields(StoreEvent)} >= set(heard[0].to_dict())


def test_both_engines_tell_the_same(both_engines: tuple[str, ...], tmp_path: Any) -> None:
    told = []
    for engine in both_engines:
        clock, heard = SetClock(), Heard()
        with fencepost.open(tmp_path / engine, engine=engine, clock=clock, hooks=[heard]) as store:
            enqueue(store, "r", claim_token="t", now=None)
            put(store, now=None)
            clock.advance(2000)
            store.runs.renew(run_id="r", claim_token="t", lease_ms=1)
            store.runs.claim_many(runner_id="b", lease_ms=9, limit=5)
            store.queue.claim_many(controllers=["ctl"], lease_ms=9, limit=5)
        told.append(heard.facts())
    assert told[0] == told[1]
    assert len(told[0]) == 5
