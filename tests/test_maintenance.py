"""Numbers, pruning, backups and checkpoints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.conformance.operations import dump
from tests.conftest import OpenStore
from tests.support import SetClock, at, refused, unchanged


def enqueue(store: fencepost.Store, run_id: str, parent: str | None = None) -> fencepost.Run:
    return store.runs.enqueue(
        run_id=run_id,
        workflow_name="w",
        workflow_source_ref="/w",
        runner_id="A",
        lease_ms=1_000,
        parent_run_id=parent,
    )


def done(store: fencepost.Store, run_id: str, parent: str | None = None) -> None:
    run = enqueue(store, run_id, parent)
    assert run.claim_token is not None
    assert store.runs.complete(run_id=run_id, claim_token=run.claim_token)


def record(store: fencepost.Store, count: int) -> None:
    for number in range(count):
        store.feed.record(run_id="r", workflow_ref="w", type=f"t{number}")


def test_stats_count_what_is_there(store: fencepost.Store, clock: SetClock) -> None:
    done(store, "done")
    enqueue(store, "expires")
    record(store, 3)
    store.feed.set_watermark(session_id="s", seq=2)
    resource = store.resources.put(controller="c", key="k", spec={}, initial_status=None)
    store.events.record(controller="c", key="k", type="put")
    store.effects.reserve(
        key="e",
        resource_uid=resource.metadata.uid,
        generation=1,
        kind="call",
        request_fingerprint="f",
    )
    clock.advance(1_000)
    stats = store.stats()
    assert stats.runs == {"claimed": 1, "parked": 0, "done": 1, "expired": 1}
    assert stats.queue == {"waiting": 1, "claimed": 0, "expired": 0}
    assert stats.resources == {"present": 1, "in_deletion": 0}
    assert stats.effects == {"pending": 1, "applied": 0, "rejected": 0, "indeterminate": 0}
    assert set(stats.requests.values()) == {0}
    assert (stats.events, stats.feed) == (1, {"events": 3, "first_seq": 1, "last_seq": 3})
    assert stats.watermarks == {"s": 2}
    assert stats.file_bytes > 0
    assert stats.wal_bytes > 0


def test_runs_that_were_done_before_go(store: fencepost.Store, clock: SetClock) -> None:
    done(store, "old")
    clock.advance(10)
    done(store, "new")
    enqueue(store, "claimed")
    assert store.prune(done_before=at(10)).runs == 1
    assert [run.run_id for run in store.runs.list()] == ["new", "claimed"]


def test_a_continuation_goes_after_its_parent_only(store: fencepost.Store, clock: SetClock) -> None:
    done(store, "parent")
    clock.advance(10)
    claimed = enqueue(store, "child", parent="parent")
    assert claimed.claim_token is not None
    store.runs.park(run_id="child", claim_token=claimed.claim_token)
    done(store, "grandchild", parent="child")
    # The parent of the grandchild is still to be done, so its slot stays taken.
    assert store.prune(done_before=at(1_000)).runs == 1
    with refused("continuation_exists"):
        enqueue(store, "another", parent="child")
    assert [run.run_id for run in store.runs.list()] == ["child", "grandchild"]


def test_events_of_a_consumer_that_has_not_read_them_stay(store: fencepost.Store) -> None:
    record(store, 10)
    store.feed.set_watermark(session_id="slow", seq=4)
    store.feed.set_watermark(session_id="fast", seq=9)
    assert store.prune(events_before=at(1)).run_events == 4
    assert [event.seq for event in store.feed.after(seq=4)] == [5, 6, 7, 8, 9, 10]
    assert store.prune(events_before=at(1), unread=True).run_events == 6
    # Sequence numbers never come back.
    assert store.feed.record(run_id="r", workflow_ref="w", type="t") == 11


def test_a_limit_bounds_all_that_goes(store: fencepost.Store) -> None:
    for number in range(4):
        done(store, f"run-{number}")
        store.events.record(controller="c", key="k", type="t")
    record(store, 4)
    pruned = store.prune(done_before=at(1), events_before=at(1), limit=6)
    assert (pruned.runs, pruned.events, pruned.run_events) == (4, 2, 0)


def test_rows_of_a_clock_that_was_ahead_hold_nothing_up(
    store: fencepost.Store, clock: SetClock
) -> None:
    clock.advance(1_000)
    record(store, 3)
    clock.advance(-1_000)
    record(store, 2)
    assert store.prune(events_before=at(1), limit=2).run_events == 2
    assert [event.seq for event in store.feed.after(seq=0)] == [1, 2, 3]


def test_pruning_says_what_is_missing(store: fencepost.Store) -> None:
    with unchanged(store), refused("invalid"):
        store.prune()
    with unchanged(store), refused("invalid"):
        store.prune(done_before=at(), limit=0)


def test_a_backup_is_the_store_at_one_moment(
    open_store: OpenStore, store: fencepost.Store, tmp_path: Path
) -> None:
    for number in range(50):
        enqueue(store, f"run-{number}")
    steps: list[tuple[int, int]] = []

    def step(remaining: int, total: int) -> None:
        # A commit between two steps is not part of the copy, and does not start it anew.
        enqueue(store, f"late-{len(steps)}")
        steps.append((remaining, total))

    before = dump(store)
    target = tmp_path / "copy.sqlite"
    store.backup(target, pages=4, progress=step)
    assert len(steps) > 3
    assert [remaining for remaining, _ in steps] == sorted((r for r, _ in steps), reverse=True)
    assert target.stat().st_mode & 0o777 == 0o600
    copy = open_store(target)
    assert dump(copy) == before
    enqueue(copy, "goes-on")


def test_a_backup_overwrites_nothing(store: fencepost.Store, tmp_path: Path) -> None:
    target = tmp_path / "there"
    target.write_text("precious")
    with refused("io"):
        store.backup(target)
    assert target.read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == [
        "store.sqlite",
        "store.sqlite-shm",
        "store.sqlite-wal",
        "there",
    ]


@pytest.mark.parametrize("target", [5, b"copy", "", "a\0b", "\ud800"])
def test_a_backup_needs_a_path(store: fencepost.Store, target: Any) -> None:
    with refused("invalid"):
        store.backup(target)


def test_a_backup_that_fails_leaves_nothing(store: fencepost.Store, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def step(_remaining: int, _total: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        store.backup(tmp_path / "copy.sqlite", pages=1, progress=step)
    assert not [name for name in os.listdir(tmp_path) if name.startswith("copy")]


def test_a_checkpoint_empties_the_log(store: fencepost.Store) -> None:
    enqueue(store, "run")
    assert store.checkpoint().complete
    result = store.checkpoint("truncate")
    assert (result.complete, store.stats().wal_bytes) == (True, 0)
    with refused("invalid"):
        store.checkpoint("all")
