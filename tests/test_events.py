"""Controller events: newest first, filtered, paged."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost import Event, Store
from tests.support import at, refused, unchanged


def record(store: Store, key: str = "k", **more: Any) -> Event:
    return store.events.record(
        **{"controller": "ctl", "key": key, "type": "Happened", "now": at(), **more}
    )


def seqs(events: list[Event]) -> list[int]:
    return [event.seq for event in events]


def test_an_event_of_no_resource(store: Store) -> None:
    event = record(store, payload={"a": [1, None]})
    assert event == Event(1, at(), "ctl", "k", "Happened", {"a": [1, None]})
    assert store.events.list() == [event]


def test_without_a_payload_it_is_empty(store: Store) -> None:
    assert record(store).payload == {}
    assert record(store, payload=None).payload == {}


def test_newest_first_whatever_the_time(store: Store) -> None:
    for ms in (5, 1, 9):
        record(store, now=at(ms))
    assert seqs(store.events.list()) == [3, 2, 1]


def test_filters(store: Store) -> None:
    for controller, key in [("a", "1"), ("a", "2"), ("b", "1"), ("a", "1")]:
        record(store, key, controller=controller)
    assert seqs(store.events.list(controller="a")) == [4, 2, 1]
    assert seqs(store.events.list(key="1")) == [4, 3, 1]
    assert seqs(store.events.list(controller="a", key="1")) == [4, 1]
    assert seqs(store.events.list(controller="a", limit=2)) == [4, 2]
    assert store.events.list(controller="c") == []


def test_the_default_limit_is_100(store: Store) -> None:
    for _ in range(101):
        record(store)
    page = store.events.list()
    assert seqs(page) == list(range(101, 1, -1))
    assert seqs(store.events.list(cursor=page.cursor)) == [1]
    assert len(store.events.list(limit=10_000)) == 101


@pytest.mark.parametrize("limit", [0, -1, 10_001, 1.0, True, None, "1"])
def test_limits_are_1_to_10000(store: Store, limit: Any) -> None:
    with refused("invalid"):
        store.events.list(limit=limit)


@pytest.mark.parametrize("payload", [[], "text", 1, True, [("a", 1)]])
def test_a_payload_is_an_object(store: Store, payload: Any) -> None:
    with unchanged(store), refused("invalid"):
        record(store, payload=payload)


def test_a_payload_of_64_kib(store: Store) -> None:
    room = 65_536 - len('{"p":""}')
    record(store, payload={"p": "x" * room})
    with unchanged(store), refused("too_large"):
        record(store, payload={"p": "x" * (room + 1)})
    record(store, payload={"p": "é" * (room // 2)})
    with unchanged(store), refused("too_large"):
        record(store, payload={"p": "é" * (room // 2) + "x"})
