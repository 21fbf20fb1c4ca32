"""Rows that another hand spoilt: each is named, and the others stay readable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import Store
from fencepost.errors import CorruptRowError
from tests.support import SetClock, at, enqueue, outcome, park, put, sql, without_ids

BAD_JSON = (
    "'{'",
    "''",
    "'NaN'",
    "'01'",
    "'nope'",
    "'[' || replace(hex(zeroblob(50000)), '00', '[')",
)
BLOBS = ("x'00ff'", "x'7b7d'")
BAD_TEXT = ("CAST(x'ff41' AS TEXT)", "CAST(x'c3' AS TEXT)")
OUT_OF_RANGE = ("9223372036854775807", "-9223372036854775808", "8640000000000001", "'soon'", "1.5")
NOT_WHOLE = ("'many'", "1.5", "x'01'")


def resource(store: Store) -> Any:
    return store.resources.get(controller="ctl", key="bad")


def uid(store: Store) -> str:
    return store.resources.list(controller="other")[0].metadata.uid


@dataclass(frozen=True)
class Spoilt:
    """A column of a row to spoil, with what, how to read the row, and another row."""

    table: str
    column: str
    where: str
    values: tuple[str, ...]
    key: str
    read: Callable[[Store], Any]
    other: Callable[[Store], Any]


def run(store: Store) -> Any:
    return store.runs.get(run_id="bad")


def good_run(store: Store) -> Any:
    return store.runs.get(run_id="good")


def good_resource(store: Store) -> Any:
    return store.resources.get(controller="ctl", key="good")


def effects(store: Store) -> Any:
    return store.effects.get(resource_uid=uid(store), key="bad")


def good_effect(store: Store) -> Any:
    return store.effects.get(resource_uid=uid(store), key="good")


def request(store: Store) -> Any:
    return store.requests.get(resource_uid=uid(store), request_key="bad")


def good_request(store: Store) -> Any:
    return store.requests.get(resource_uid=uid(store), request_key="good")


RUN = "run_id = 'bad'"
RESOURCE = "resource_key = 'bad'"
SPOILT = [
    Spoilt(
        "workflow_run_queue", "input_json", RUN, BAD_JSON + BLOBS + BAD_TEXT, "bad", run, good_run
    ),
    Spoilt("workflow_run_queue", "claim_expires_at", RUN, OUT_OF_RANGE, "bad", run, good_run),
    Spoilt("workflow_run_queue", "created_at", RUN, BLOBS + BAD_TEXT, "bad", run, good_run),
    Spoilt("workflow_run_queue", "workflow_ref", RUN, BLOBS + BAD_TEXT, "bad", run, good_run),
    Spoilt("workflow_run_queue", "claim_token", RUN, BLOBS + BAD_TEXT, "bad", run, good_run),
    Spoilt(
        "resources", "spec_json", RESOURCE, BAD_JSON + BLOBS + BAD_TEXT, "ctl/bad", resource,
        good_resource,
    ),
    Spoilt(
        "resources",
        "status_json",
        RESOURCE,
        (
            *BAD_JSON, *BLOBS, *BAD_TEXT, "'{}'", "'[]'", "'null'", "'1'",
            '\'{"observedGeneration":"x"}\'',
            '\'{"observedGeneration":0,"conditions":{}}\'',
            '\'{"observedGeneration":0,"conditions":[1]}\'',
            '\'{"observedGeneration":0,"workflowRun":[]}\'',
        ),
        "ctl/bad",
        resource,
        good_resource,
    ),
    Spoilt(
        "resources", "finalizers_json", RESOURCE, ("'{}'", "'[1]'", "'null'", *BAD_JSON), "ctl/bad",
        resource, good_resource,
    ),
    Spoilt(
        "resources", "resource_version", RESOURCE, NOT_WHOLE, "ctl/bad", resource, good_resource
    ),
    Spoilt("resources", "generation", RESOURCE, NOT_WHOLE, "ctl/bad", resource, good_resource),
    Spoilt(
        "resources", "deletion_timestamp", RESOURCE, BLOBS + BAD_TEXT, "ctl/bad", resource,
        good_resource,
    ),
    Spoilt(
        "queue", "available_at", RESOURCE, (*OUT_OF_RANGE, "x'01'"), "ctl/bad",
        lambda store: store.queue.list(), good_resource,
    ),
    Spoilt(
        "queue", "consecutive_errors", RESOURCE, NOT_WHOLE, "ctl/bad",
        lambda store: store.queue.list(), good_resource,
    ),
    Spoilt(
        "events", "payload_json", "seq = 1", (*BAD_JSON, *BLOBS, *BAD_TEXT, "'[]'", "'1'"), "1",
        lambda store: store.events.list(controller="ctl", key="bad"),
        lambda store: store.events.list(controller="ctl", key="good"),
    ),
    Spoilt(
        "events", "recorded_at", "seq = 1", BLOBS + BAD_TEXT, "1",
        lambda store: store.events.list(),
        lambda store: store.events.list(limit=1),
    ),
    Spoilt(
        "run_events", "payload_json", "seq = 1", (*BAD_JSON, *BLOBS, *BAD_TEXT, "'[]'", "'1'"), "1",
        lambda store: store.feed.after(seq=0),
        lambda store: store.feed.after(seq=1),
    ),
    Spoilt(
        "session_watermarks", "last_event_seq", "session_id = 'bad'", NOT_WHOLE, "bad",
        lambda store: store.feed.watermark(session_id="bad"),
        lambda store: store.feed.watermark(session_id="good"),
    ),
    Spoilt(
        "effects", "generation", "effect_key = 'bad'", NOT_WHOLE, "$u1/bad", effects, good_effect
    ),
    Spoilt(
        "effects", "started_at", "effect_key = 'bad'", BLOBS + BAD_TEXT, "$u1/bad", effects,
        good_effect,
    ),
    Spoilt(
        "workflow_requests", "attempt", "request_key = 'bad'", NOT_WHOLE, "$u1", request,
        good_request,
    ),
    Spoilt(
        "workflow_requests", "workflow", "request_key = 'bad'", BLOBS + BAD_TEXT, "$u1", request,
        good_request,
    ),
]  # fmt: skip


def fill(store: Store) -> None:
    owner = put(store, "owner", controller="other").metadata.uid
    for name in ("bad", "good"):
        put(store, name)
        enqueue(store, name)
        store.effects.reserve(
            key=name, resource_uid=owner, generation=1, kind="x", request_fingerprint="f", now=at()
        )
        store.requests.reserve(
            resource_uid=owner, request_key=name, workflow="w", input_fingerprint="f"
        )
        store.events.record(controller="ctl", key=name, type="t", now=at())
        store.feed.record(run_id=name, workflow_ref="w", type="t", now=at())
        store.feed.set_watermark(session_id=name, seq=1, now=at())


@pytest.mark.parametrize("spoilt", SPOILT, ids=lambda spoilt: f"{spoilt.table}.{spoilt.column}")
def test_a_spoilt_row_is_named_alike_by_both_engines(
    spoilt: Spoilt, engines_here: tuple[str, ...], tmp_path: Path
) -> None:
    said = []
    for engine in engines_here:
        path = str(tmp_path / f"{engine}.sqlite")
        with fencepost.open(path, engine=engine, synchronous="off", clock=SetClock()) as store:
            fill(store)
            before = spoilt.other(store)
            errors = []
            for value in spoilt.values:
                sql(
                    path,
                    "PRAGMA ignore_check_constraints = ON",
                    f"UPDATE {spoilt.table} SET {spoilt.column} = {value} WHERE {spoilt.where}",
                )
                errors.append(outcome(lambda: spoilt.read(store)))
                assert spoilt.other(store) == before
            said.append(without_ids(errors))
    assert said == [said[0]] * len(engines_here)
    for error, value in zip(said[0], spoilt.values, strict=True):
        assert isinstance(error, dict), value
        assert error["code"] == "corrupt_row", value
        fields = error["fields"]
        assert (fields["table"], fields["key"]) == (spoilt.table, spoilt.key), value
        assert fields["column"] == spoilt.column, value
        for word in (spoilt.table, spoilt.key, spoilt.column):
            assert word in error["message"]


def test_the_error_is_raised_with_its_fields(store: Store, path: str) -> None:
    enqueue(store, "bad")
    sql(path, "UPDATE workflow_run_queue SET input_json = '{'")
    with pytest.raises(CorruptRowError) as caught:
        store.runs.list()
    assert (caught.value.table, caught.value.key, caught.value.column) == (
        "workflow_run_queue",
        "bad",
        "input_json",
    )


CLAIM: dict[str, Any] = {"runner_id": "bob", "lease_ms": 1000}


def test_a_spoilt_time_does_not_stop_the_claims_of_others(store: Store, path: str) -> None:
    """SQLite orders blobs after text: such runs are the youngest, in both engines."""
    for name in ("blob", "text", "fine"):
        park(store, name)
    enqueue(store, "expired", lease_ms=1)
    sql(
        path,
        "UPDATE workflow_run_queue SET created_at = x'00' WHERE run_id = 'blob'",
        "UPDATE workflow_run_queue SET created_at = CAST(x'ff41' AS TEXT) WHERE run_id = 'text'",
    )
    taken = [store.runs.claim_next(**CLAIM, now=at(5)) for _ in range(2)]
    assert [run and run.run_id for run in taken] == ["fine", "expired"]
    with pytest.raises(CorruptRowError, match="created_at"):
        store.runs.claim_next(**CLAIM, now=at(5))


def test_a_spoilt_expiry_is_never_a_free_run(store: Store, path: str) -> None:
    enqueue(store, lease_ms=1)
    sql(path, "UPDATE workflow_run_queue SET claim_expires_at = 'soon'")
    assert store.runs.claim_next(**CLAIM, now=at(10**9)) is None
    assert not store.runs.renew(run_id="r", claim_token="other", lease_ms=5, now=at())
    assert not store.wait(runs=True, timeout_ms=0)


def test_a_run_with_a_spoilt_input_does_not_stop_the_queue(store: Store, path: str) -> None:
    """The spoilt one is the oldest: it is reported, stays claimed for a lease, and others go on."""
    for name in ("bad", "good"):
        park(store, name)
    sql(path, "UPDATE workflow_run_queue SET input_json = '{' WHERE run_id = 'bad'")
    with pytest.raises(CorruptRowError, match="input_json"):
        store.runs.claim_next(**CLAIM, now=at())
    taken = store.runs.claim_next(**CLAIM, now=at())
    assert taken is not None
    assert taken.run_id == "good"
    assert store.runs.claim_next(**CLAIM, now=at(999)) is None
    with pytest.raises(CorruptRowError, match="input_json"):
        store.runs.claim_next(**CLAIM, now=at(1000))


def test_claim_many_gives_the_error_in_the_runs_place(store: Store, path: str) -> None:
    for name in ("a", "bad", "c"):
        park(store, name)
    sql(path, "UPDATE workflow_run_queue SET input_json = '{' WHERE run_id = 'bad'")
    got = store.runs.claim_many(**CLAIM, limit=3, now=at())
    assert [one.run_id if isinstance(one, fencepost.Run) else one.key for one in got] == [
        "a",
        "bad",
        "c",
    ]
    assert isinstance(got[1], CorruptRowError)


def test_a_spoilt_run_is_completed_and_deleted_all_the_same(store: Store, path: str) -> None:
    for name in ("bad", "good"):
        enqueue(store, name)
    sql(path, "UPDATE workflow_run_queue SET input_json = '{'")
    assert store.runs.renew(run_id="bad", claim_token="t-bad", lease_ms=9, now=at())
    assert store.runs.complete(run_id="bad", claim_token="t-bad", now=at())
    assert store.runs.delete(run_id="good", claim_token="t-good")


def test_a_spoilt_queue_key_does_not_stop_the_queue(store: Store, path: str) -> None:
    for name in ("a", "bad", "c", "d"):
        put(store, name)
    sql(path, f"UPDATE queue SET consecutive_errors = 'many' WHERE {RESOURCE}")
    claim: dict[str, Any] = {"controllers": ["ctl"], "lease_ms": 1000, "now": at()}
    got = store.queue.claim_many(**claim, limit=3)
    assert [one.key for one in got] == ["a", "ctl/bad", "c"]
    assert isinstance(got[1], CorruptRowError)
    taken = store.queue.claim_next(**claim)
    assert taken is not None
    assert taken.key == "d"
    later = {**claim, "now": at(1000)}
    assert store.queue.claim_next(**later) is not None
    with pytest.raises(CorruptRowError, match="consecutive_errors"):
        store.queue.claim_next(**later)


@pytest.mark.parametrize("spoilt", ["'soon'", "x'01'"])
def test_a_spoilt_due_time_is_never_due_and_stops_nobody(
    store: Store, path: str, spoilt: str
) -> None:
    for name in ("bad", "good", "late"):
        put(store, name)
    claim: dict[str, Any] = {"controllers": ["ctl"], "lease_ms": 1000}
    assert len(store.queue.claim_many(**claim, limit=2, now=at())) == 2
    sql(path, f"UPDATE queue SET available_at = {spoilt} WHERE {RESOURCE}")
    got = store.queue.claim_many(**claim, limit=3, now=at(1000))
    assert [one.key for one in got] == ["good", "late"]
    sql(path, "DELETE FROM queue WHERE resource_key <> 'bad'")
    assert not store.wait(controllers=["ctl"], timeout_ms=0)
    sql(path, "UPDATE queue SET claim_token = NULL, claim_expires_at = NULL")
    assert not store.wait(controllers=["ctl"], timeout_ms=0)


def test_an_id_that_is_no_text_stops_nobody(store: Store, path: str) -> None:
    park(store, "bad")
    park(store, "good", now=at(1))
    sql(path, "UPDATE workflow_run_queue SET run_id = CAST(x'ff42' AS TEXT) WHERE run_id = 'bad'")
    taken = store.runs.claim_next(**CLAIM, now=at(1))
    assert taken is not None
    assert taken.run_id == "good"
    assert store.runs.claim_next(**CLAIM, now=at(1)) is None
    with pytest.raises(CorruptRowError, match="run_id"):
        store.runs.list()


def test_a_key_that_is_no_text_stops_nobody(store: Store, path: str) -> None:
    for name in ("bad", "good"):
        put(store, name)
    sql(path, f"UPDATE queue SET available_at = 0 WHERE {RESOURCE}")
    sql(path, f"UPDATE queue SET resource_key = CAST(x'ff' AS TEXT) WHERE {RESOURCE}")
    claim: dict[str, Any] = {"controllers": ["ctl"], "lease_ms": 1000, "now": at()}
    taken = store.queue.claim_next(**claim)
    assert taken is not None
    assert taken.key == "good"
    assert store.queue.claim_next(**claim) is None


def test_the_other_stores_far_times_are_read(store: Store, path: str) -> None:
    enqueue(store)
    sql(path, "UPDATE workflow_run_queue SET claim_expires_at = 8640000000000000")
    run = store.runs.get(run_id="r")
    assert run is not None
    assert run.claim_expires_at == "+275760-09-13T00:00:00.000Z"
