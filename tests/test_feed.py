"""The feed of run events and the watermarks of its consumers."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost import RunEvent, Store
from tests.support import at, refused, sql, unchanged


def record(store: Store, **more: Any) -> int:
    return store.feed.record(
        **{"run_id": "r", "workflow_ref": "w", "type": "step", "now": at(), **more}
    )


def test_an_event_of_no_run(store: Store) -> None:
    assert record(store, runner_id="alice", payload={"a": 1}, now=at(3)) == 1
    assert record(store, run_id="other") == 2
    assert store.feed.after(seq=0) == [
        RunEvent(1, at(3), "r", "w", "step", "alice", {"a": 1}),
        RunEvent(2, at(), "other", "w", "step", None, {}),
    ]


def test_oldest_first_after_a_seq(store: Store) -> None:
    for _ in range(5):
        record(store)
    assert [event.seq for event in store.feed.after(seq=2)] == [3, 4, 5]
    assert [event.seq for event in store.feed.after(seq=2, limit=2)] == [3, 4]
    assert store.feed.after(seq=5) == []
    assert store.feed.after(seq=2**53 - 1) == []


def test_the_default_page_is_50(store: Store) -> None:
    for _ in range(51):
        record(store)
    assert len(store.feed.after(seq=0)) == 50


def test_the_latest_seq(store: Store) -> None:
    assert store.feed.latest_seq() == 0
    record(store)
    record(store)
    assert store.feed.latest_seq() == 2


def test_a_pruned_seq_never_comes_again(store: Store, path: str) -> None:
    for _ in range(3):
        record(store)
    sql(path, "DELETE FROM run_events")
    assert store.feed.latest_seq() == 0
    assert record(store) == 4


def test_watermarks_never_move_back(store: Store) -> None:
    assert store.feed.watermark(session_id="s") == 0
    store.feed.set_watermark(session_id="s", seq=7, now=at())
    store.feed.set_watermark(session_id="s", seq=3, now=at())
    assert store.feed.watermark(session_id="s") == 7
    store.feed.set_watermark(session_id="s", seq=8, now=at())
    assert store.feed.watermark(session_id="s") == 8
    assert store.feed.watermark(session_id="other") == 0


def test_a_watermark_may_be_ahead_of_the_feed(store: Store) -> None:
    store.feed.set_watermark(session_id="s", seq=2**53 - 1, now=at())
    assert store.feed.watermark(session_id="s") == 2**53 - 1


@pytest.mark.parametrize("seq", [-1, 2**53, 1.0, True, None, "1"])
def test_sequence_numbers_are_integers(store: Store, seq: Any) -> None:
    with refused("invalid"):
        store.feed.after(seq=seq)
    with unchanged(store), refused("invalid"):
        store.feed.set_watermark(session_id="s", seq=seq, now=at())


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, None])
def test_limits_are_integers(store: Store, limit: Any) -> None:
    with refused("invalid"):
        store.feed.after(seq=0, limit=limit)


def test_a_payload_of_64_kib(store: Store) -> None:
    room = 65_536 - len('{"p":""}')
    assert record(store, payload={"p": "x" * room})
    with unchanged(store), refused("too_large"):
        record(store, payload={"p": "x" * (room + 1)})


def test_iterating_sees_every_event_once(store: Store) -> None:
    for _ in range(7):
        record(store)
    seen = []
    for event in store.feed.iterate(page_size=3):
        seen.append(event.seq)
        if event.seq == 4:
            record(store)
    assert seen == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [event.seq for event in store.feed.iterate(seq=6)] == [7, 8]
