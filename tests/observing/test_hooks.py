"""Listeners: when they are told, in which thread, and that they change nothing."""

from __future__ import annotations

import gc
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fencepost
from fencepost import Store
from fencepost.facet import Facet
from fencepost.observing import StoreEvent
from tests.observing.heard import Heard
from tests.support import at, enqueue, refused, sql


@pytest.fixture
def store(open_store: Callable[..., Store], heard: Heard) -> Store:
    return open_store(hooks=[heard])


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


class Nameless:
    """A listener that fails, and fails to say who it is."""

    def __call__(self, event: StoreEvent) -> None:
        raise Broken(event.kind)

    def __repr__(self) -> str:
        raise Broken("no name")


def test_a_listener_that_can_not_be_named_changes_nothing(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.hooks.add(Nameless())
    enqueue(store, "r")
    assert "the listener of the type Nameless raised on the event enqueue" in caplog.text
    assert store.runs.get(run_id="r") is not None


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
    enqueue(store, "r", claim_token="t")
    store.hooks.add(lambda event: store.close() if event.kind == "lost" else None)
    heard.clear()
    claims = [("nobody", "t"), ("r", "other")]
    assert store.runs.renew_many(claims=claims, lease_ms=1, now=at()) == [False, False]
    assert [(event.kind, event.key) for event in heard] == [
        ("lost", "nobody"),
        ("lost", "r"),
        ("call", None),
    ]
    with refused("closed"):
        store.runs.renew(run_id="r", claim_token="t", lease_ms=1)
    assert heard[-1].error == "closed"


def test_listeners_come_and_go_while_threads_work(store: Store, heard: Heard) -> None:
    """No call fails or is told in part, and the constant listener misses nothing."""
    calls, workers, going = 200, 4, threading.Event()
    guests: list[Heard] = [Heard() for _ in range(50)]
    for number in range(workers):
        enqueue(store, f"r{number}", now=None)
    heard.clear()

    def work(run_id: str) -> None:
        going.wait(30)
        for _ in range(calls):
            assert store.runs.renew(run_id=run_id, claim_token=f"t-{run_id}", lease_ms=1000)

    threads = [threading.Thread(target=work, args=(f"r{number}",)) for number in range(workers)]
    for thread in threads:
        thread.start()
    going.set()
    for guest in guests:
        store.hooks.add(guest)
        store.hooks.remove(guest)
    for thread in threads:
        thread.join()
    told = Counter((event.kind, event.key) for event in heard)
    assert told == {
        ("call", None): workers * calls,
        **{("renew", f"r{number}"): calls for number in range(workers)},
    }


def test_a_listener_that_knows_the_store_does_not_keep_it(engine: str, path: str) -> None:
    """A forgotten store is found by the garbage collector, through its listeners too."""

    def forget() -> None:
        store = fencepost.open(path, engine=engine)
        store.hooks.add(lambda event: store.path)
        store.feed.latest_seq()

    def forget_and_collect() -> None:
        forget()
        gc.collect()

    with pytest.warns(ResourceWarning, match="was never closed"):
        forget_and_collect()
