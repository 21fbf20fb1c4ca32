"""The TypeScript store on the same file at the same time.

Its SQL, as it was written against the shared tables, spoken here through the
interpreter's own sqlite3 in a process of its own: it knows nothing of fences.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from tests.processes.remote import Child, check_file

LEASE = 3_600_000
RUNS = 60

CLAIMABLE = """
SELECT run_id FROM workflow_run_queue
WHERE status = 'parked' OR (status = 'claimed' AND claim_expires_at <= ?)
ORDER BY CASE WHEN affinity_runner_id = ? THEN 0 ELSE 1 END, created_at, rowid LIMIT 1
"""
CLAIM = """
UPDATE workflow_run_queue SET status = 'claimed', runner_id = ?, claim_token = ?,
  claim_expires_at = ?, updated_at = ?
WHERE run_id = ? AND (status = 'parked' OR (status = 'claimed' AND claim_expires_at <= ?))
"""
COMPLETE = """
UPDATE workflow_run_queue SET status = 'done', runner_id = NULL, claim_token = NULL,
  claim_expires_at = NULL, updated_at = ?
WHERE run_id = ? AND claim_token = ? AND status = 'claimed'
"""
INSERT = """
INSERT INTO workflow_run_queue (run_id, workflow_ref, workflow_path, input_json, status, runner_id,
  claim_token, claim_expires_at, affinity_runner_id, parent_run_id, created_at, updated_at)
VALUES (?, 'build', 'build.ts', '{}', ?, NULL, NULL, NULL, NULL, NULL, ?, ?)
"""
QUEUE_NEXT = """
SELECT controller, resource_key, version FROM queue
WHERE controller = 'site' AND available_at <= ?
  AND (claim_token IS NULL OR claim_expires_at <= ?)
ORDER BY available_at, controller, resource_key LIMIT 1
"""
QUEUE_CLAIM = """
UPDATE queue SET claim_token = ?, claim_version = version, claim_expires_at = ?
WHERE controller = ? AND resource_key = ?
"""
QUEUE_SETTLE = """
DELETE FROM queue WHERE controller = ? AND resource_key = ? AND claim_token = ?
  AND version = claim_version
"""
QUEUE_RELEASE = """
UPDATE queue SET claim_token = NULL, claim_version = NULL, claim_expires_at = NULL,
  available_at = min(available_at, ?), consecutive_errors = 0, last_error = NULL
WHERE controller = ? AND resource_key = ? AND claim_token = ?
"""
QUEUE_ENQUEUE = """
INSERT INTO queue (controller, resource_key, available_at, version, consecutive_errors)
VALUES ('site', ?, ?, 1, 0)
ON CONFLICT (controller, resource_key) DO UPDATE SET
  available_at = min(available_at, excluded.available_at), version = version + 1
"""


class OtherStore:
    """What a process with the other store does to the file."""

    def __init__(self, path: str) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        for pragma in ("journal_mode = WAL", "synchronous = OFF", "foreign_keys = ON"):
            self.connection.execute(f"PRAGMA {pragma}").fetchall()
        self._count = 0

    def now(self) -> tuple[int, str]:
        ms = time.time_ns() // 1_000_000
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000))
        return ms, f"{stamp}.{ms % 1000:03d}Z"

    def token(self) -> str:
        self._count += 1
        return f"other-{self._count}"

    def transaction(self, *statements: tuple[str, tuple[Any, ...]]) -> list[int]:
        self.connection.execute("BEGIN IMMEDIATE")
        changed = [self.connection.execute(sql, values).rowcount for sql, values in statements]
        self.connection.execute("COMMIT")
        return changed

    def insert(self, run_id: str) -> None:
        _, stamp = self.now()
        self.transaction((INSERT, (run_id, "parked", stamp, stamp)))

    def claim(self) -> tuple[str, str] | None:
        self.connection.execute("BEGIN IMMEDIATE")
        ms, stamp = self.now()
        row = self.connection.execute(CLAIMABLE, (ms, "other")).fetchone()
        token = self.token()
        if row is not None:
            values = ("other", token, ms + LEASE, stamp, row[0], ms)
            assert self.connection.execute(CLAIM, values).rowcount == 1
        self.connection.execute("COMMIT")
        return None if row is None else (row[0], token)

    def complete(self, run_id: str, token: str) -> bool:
        return self.transaction((COMPLETE, (self.now()[1], run_id, token))) == [1]

    def enqueue(self, key: str) -> None:
        self.transaction((QUEUE_ENQUEUE, (key, self.now()[0])))

    def reconcile(self) -> str | None:
        self.connection.execute("BEGIN IMMEDIATE")
        ms, _ = self.now()
        row = self.connection.execute(QUEUE_NEXT, (ms, ms)).fetchone()
        token = self.token()
        if row is not None:
            self.connection.execute(QUEUE_CLAIM, (token, ms + LEASE, row[0], row[1]))
        self.connection.execute("COMMIT")
        if row is None:
            return None
        settled = self.transaction((QUEUE_SETTLE, (row[0], row[1], token)))
        if settled == [0]:
            released = self.transaction((QUEUE_RELEASE, (ms, row[0], row[1], token)))
            assert released == [1]
        return str(row[1])


def other_work(*, path: str, meet: str) -> dict[str, list[str]]:
    """Make runs and changes, and do whatever is claimable, until all of both are done."""
    store = OtherStore(path)
    _meet(meet, "other")
    done, reconciled = [], []
    for number in range(RUNS):
        store.insert(f"other-{number}")
        store.enqueue(f"k{number % 3}")
        claim = store.claim()
        if claim is not None and store.complete(*claim):
            done.append(claim[0])
        key = store.reconcile()
        reconciled += [key] if key else []
    _meet(meet, "other-made")
    while (claim := store.claim()) is not None:
        assert store.complete(*claim)
        done.append(claim[0])
    store.connection.close()
    return {"done": done, "reconciled": reconciled}


def our_work(*, path: str, engine: str, meet: str) -> dict[str, list[str]]:
    """The same through fencepost, with the fences of its claims."""
    done, reconciled, fences = [], [], []
    with fencepost.open(path, engine=engine, busy_timeout_ms=30_000, synchronous="off") as store:
        _meet(meet, "ours")
        for number in range(RUNS):
            run_id, key = f"ours-{number}", f"k{number % 3}"
            made = store.runs.enqueue(
                run_id=run_id,
                workflow_name="build",
                workflow_source_ref="build.ts",
                runner_id="ours",
                lease_ms=LEASE,
            )
            assert store.runs.park(run_id=run_id, claim_token=made.claim_token or "")
            store.queue.enqueue(controller="site", key=key)
            run = store.runs.claim_next(runner_id="ours", lease_ms=LEASE)
            if run is not None:
                fences.append(run.fence or 0)
                claim = {"run_id": run.run_id, "claim_token": run.claim_token or ""}
                assert store.runs.complete(**claim)
                done.append(run.run_id)
            change = store.queue.claim_next(controllers=["site"], lease_ms=LEASE)
            if change is not None:
                fences.append(change.fence or 0)
                assert store.queue.settle(claim=change)
                reconciled.append(change.key)
        _meet(meet, "ours-made")
        while (run := store.runs.claim_next(runner_id="ours", lease_ms=LEASE)) is not None:
            fences.append(run.fence or 0)
            assert store.runs.complete(run_id=run.run_id, claim_token=run.claim_token or "")
            done.append(run.run_id)
    assert fences == sorted(set(fences))
    return {"done": done, "reconciled": reconciled}


def _meet(folder: str, name: str) -> None:
    """Go on when the other side is as far."""
    Path(folder, name).touch()
    partner = name.replace("other", "?").replace("ours", "other").replace("?", "ours")
    while not Path(folder, partner).exists():
        time.sleep(0.001)


def test_both_stores_make_progress_on_one_file(
    start: Callable[..., Child], path: Path, tmp_path: Path, engine: str
) -> None:
    setup = start().open(path, engine)
    for key in ("k0", "k1", "k2"):
        setup.call("resources.put", controller="site", key=key, spec=1, initial_status=None)
    setup.close()
    ours, other = start(), start()
    ours.begin_run(our_work, path=str(path), engine=engine, meet=str(tmp_path))
    other.begin_run(other_work, path=str(path), meet=str(tmp_path))
    results = [ours.end(), other.end()]

    done = Counter(run_id for result in results for run_id in result["done"])
    expected = {f"{side}-{number}" for side in ("ours", "other") for number in range(RUNS)}
    assert set(done) == expected
    assert set(done.values()) == {1}, "a run was done twice"
    for result in results:
        assert len(result["done"]) > 5, "one of the stores was starved"
        assert result["reconciled"]
    check_file(other, path)


def other_claim(*, path: str) -> tuple[str, str]:
    store = OtherStore(path)
    claim = store.claim()
    store.connection.close()
    assert claim is not None
    return claim


def other_reconcile(*, path: str) -> str | None:
    store = OtherStore(path)
    key = store.reconcile()
    store.connection.close()
    return key


@pytest.mark.parametrize("made_by", ["the other store", "fencepost"])
def test_fences_grow_with_the_other_stores_claims(
    start: Callable[..., Child], path: Path, engine: str, made_by: str
) -> None:
    child, other = start().open(path, engine), start()
    where: dict[str, Any] = {"runner_id": "ours", "lease_ms": 1000}
    if made_by == "fencepost":
        source = {"workflow_name": "build", "workflow_source_ref": "build.ts"}
        made = child.call("runs.enqueue", run_id="run", **source, **where)
        child.call("runs.park", run_id="run", claim_token=made.claim_token)
    else:
        other.run(other_insert, path=str(path), run_id="run")
    first = child.call("runs.claim_next", **where)
    child.call("runs.park", run_id="run", claim_token=first.claim_token)

    run_id, token = other.run(other_claim, path=str(path))
    theirs = child.call("runs.get", run_id=run_id)
    assert (theirs.runner_id, theirs.claim_token) == ("other", token)
    assert theirs.fence > first.fence
    # Their claim is as good as ours: nobody takes it, and ours is stale.
    assert child.call("runs.claim_next", **where) is None
    assert not child.call("runs.complete", run_id="run", claim_token=first.claim_token)

    much_later = "2100-01-01T00:00:00.000Z"
    last = child.call("runs.claim_next", **where, now=much_later)
    assert last.fence > theirs.fence
    assert other.run(other_complete, path=str(path), run_id="run", token=token) is False


def other_insert(*, path: str, run_id: str) -> None:
    store = OtherStore(path)
    store.insert(run_id)
    store.connection.close()


def other_complete(*, path: str, run_id: str, token: str) -> bool:
    store = OtherStore(path)
    completed = store.complete(run_id, token)
    store.connection.close()
    return completed


def test_an_enqueue_of_the_other_store_is_not_swallowed(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    child, other = start().open(path, engine), start()
    child.call("resources.put", controller="site", key="k", spec=1, initial_status=None)
    claim = child.call("queue.claim_next", controllers=["site"], lease_ms=LEASE)
    other.run(other_enqueue, path=str(path), key="k")

    assert child.call("queue.settle", claim=claim)
    assert other.run(other_reconcile, path=str(path)) == "k"
    assert child.call("queue.list") == []


def other_enqueue(*, path: str, key: str) -> None:
    store = OtherStore(path)
    store.enqueue(key)
    store.connection.close()


def test_its_json_is_read_as_it_was_written(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    child, other = start().open(path, engine), start()
    text = json.dumps({"b": [1, 2.5, None], "a": "ü"})
    other.run(other_insert, path=str(path), run_id="run")
    other.sql(path, f"UPDATE workflow_run_queue SET input_json = '{text}'")
    assert child.call("runs.get", run_id="run").input == {"b": [1, 2.5, None], "a": "ü"}
