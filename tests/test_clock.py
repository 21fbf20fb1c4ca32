"""Times: what is taken, what is stored, and when the clock is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import fencepost
from fencepost.clock import MIN_TIME_MS, iso_from_ms, ms_from_time
from fencepost.engine.protocol import MAX_TIME_MS
from fencepost.errors import InvalidArgumentError
from tests.support import START_MS, SetClock, at, enqueue, outcome, put, refused, sql, unchanged

PLUS_TWO = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    "given, stored",
    [
        ("2026-08-04T09:30:00.123Z", "2026-08-04T09:30:00.123Z"),
        ("2026-08-04T09:30:00Z", "2026-08-04T09:30:00.000Z"),
        ("2026-08-04T09:30Z", "2026-08-04T09:30:00.000Z"),
        ("2026-08-04T11:30:00.5+02:00", "2026-08-04T09:30:00.500Z"),
        ("2026-08-03T22:00:00-11:30", "2026-08-04T09:30:00.000Z"),
        ("2026-08-04", "2026-08-04T00:00:00.000Z"),
        ("2026-08-04T09:30:00.123999Z", "2026-08-04T09:30:00.123Z"),
        ("2026-08-04T09:30:00.123456789Z", "2026-08-04T09:30:00.123Z"),
        ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
        ("1969-12-31T23:59:59.9995Z", "1969-12-31T23:59:59.999Z"),
        ("0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"),
        (datetime(2026, 8, 4, 9, 30, tzinfo=UTC), "2026-08-04T09:30:00.000Z"),
        (datetime(2026, 8, 4, 11, 30, 0, 123999, PLUS_TWO), "2026-08-04T09:30:00.123Z"),
    ],
)
def test_times_are_stored_in_one_form(given: datetime | str, stored: str) -> None:
    assert iso_from_ms(ms_from_time(given, "now")) == stored


@pytest.mark.parametrize(
    "given",
    [
        "",
        "not a time",
        "2026-08-04T09:30:00",
        "2026-08-04 09:30:00Z",
        "2026-08-04T09:30:00.Z",
        "2026-08-04T09:30:00.1234567890Z",
        "2026-08-04T09:30:00z",
        "2026-08-04T09:30:00Z\n",
        "2026-08-04T09:30:00+0200",
        "2026-08-04T09:30:00+25:00",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-08-04T24:30:00Z",
        "2026-08-04T09:30:60Z",
        "20260804T093000Z",
        "2026-W32-2",
        "+010000-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59.999-00:01",
        "٢٠٢٦-08-04",
        datetime(2026, 8, 4, 9, 30),  # noqa: DTZ001 - naive on purpose
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
        START_MS,
        1.5,
        True,
        b"2026-08-04",
        [],
    ],
)
def test_other_times_are_refused(given: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^now: "):
        ms_from_time(given, "now")


def test_text_order_is_time_order() -> None:
    times = ["2026-08-04T01:00:00+02:00", "2026-08-04", "2026-08-04T00:00:00.1Z"]
    stored = [iso_from_ms(ms_from_time(time, "now")) for time in times]
    assert stored == sorted(stored)


@pytest.mark.parametrize(
    "ms, text",
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (MIN_TIME_MS, "0001-01-01T00:00:00.000Z"),
        (MIN_TIME_MS - 1, "0000-12-31T23:59:59.999Z"),
        (MAX_TIME_MS, "9999-12-31T23:59:59.999Z"),
        (MAX_TIME_MS + 1, "+010000-01-01T00:00:00.000Z"),
        (8_640_000_000_000_000, "+275760-09-13T00:00:00.000Z"),
        (-8_640_000_000_000_000, "-271821-04-20T00:00:00.000Z"),
    ],
)
def test_times_of_other_stores_are_written_as_ecmascript_writes_them(ms: int, text: str) -> None:
    assert iso_from_ms(ms) == text


@pytest.mark.parametrize("ms", [8_640_000_000_000_001, -8_640_000_000_000_001, 2**63, -(2**63)])
def test_no_time_at_all(ms: int) -> None:
    with pytest.raises(ValueError, match="no time"):
        iso_from_ms(ms)


def test_every_operation_without_now_reads_the_clock(
    store: fencepost.Store, clock: SetClock
) -> None:
    clock.ms = START_MS + 5
    put(store, now=None)
    uid = put(store, now=None).metadata.uid
    run = enqueue(store, now=None)
    event = store.events.record(controller="ctl", key="k", type="t")
    effect = store.effects.reserve(
        key="e", resource_uid=uid, generation=1, kind="call", request_fingerprint="f"
    )
    store.feed.record(run_id="r", workflow_ref="w", type="t")
    claim = store.queue.claim_next(controllers=["ctl"], lease_ms=10)
    assert claim is not None
    assert (run.created_at, run.claim_expires_at) == (at(5), at(1005))
    assert (event.recorded_at, effect.record.started_at) == (at(5), at(5))
    assert store.feed.after(seq=0)[0].recorded_at == at(5)
    assert claim.expires_at == at(15)
    clock.ms = START_MS + 20
    assert not store.queue.renew(claim=claim, lease_ms=10)
    assert store.runs.verify(run_id="r", claim_token="t-r")
    clock.ms = START_MS + 1005
    assert not store.runs.verify(run_id="r", claim_token="t-r")
    assert store.resources.request_deletion(
        controller="ctl", key="k"
    ).metadata.deletion_timestamp == at(1005)


def test_a_given_now_is_used_as_it_is(store: fencepost.Store, clock: SetClock) -> None:
    calls = clock.calls
    assert enqueue(store, now=datetime(2026, 8, 4, 2, tzinfo=PLUS_TWO)).created_at == at()
    assert clock.calls == calls


def test_the_clock_is_read_after_the_lock_is_held(
    store: fencepost.Store, path: str, clock: SetClock
) -> None:
    """A writer that comes while the clock is read waits: the lock is held by then."""
    seen: list[str] = []

    def look() -> int:
        seen.append(try_to_write(path))
        return START_MS

    store.close()
    with fencepost.open(path, engine=store.engine_name, clock=look) as watched:
        enqueue(watched, now=None)
    assert seen == ["OperationalError: database is locked"]


def try_to_write(path: str) -> str:
    try:
        sql(path, "PRAGMA busy_timeout = 0", "BEGIN IMMEDIATE")
    except AssertionError as error:
        return str(error).partition("\n")[0]
    return "written"


@pytest.mark.parametrize(
    "gives",
    [1.5, True, "1", None, pytest.param(10**5000, id="huge"), MAX_TIME_MS + 1, -(2**63), 2**63],
)
def test_a_wrong_clock_is_refused(gives: Any, engines_here: tuple[str, ...], path: str) -> None:
    errors = []
    for engine in engines_here:
        store = fencepost.open(f"{path}-{engine}", engine=engine, clock=lambda: gives)
        with store, unchanged(store):
            errors.append(outcome(lambda: enqueue(store, now=None)))  # noqa: B023
    assert {error["code"] for error in errors} == {"invalid"}
    assert all(error == errors[0] for error in errors)


def test_a_clock_that_raises_changes_nothing(store: fencepost.Store, path: str) -> None:
    engine = store.engine_name
    store.close()

    def broken() -> int:
        raise ZeroDivisionError

    with fencepost.open(path, engine=engine, clock=broken) as other:
        with unchanged(other), pytest.raises(ZeroDivisionError):
            enqueue(other, now=None)
        enqueue(other, now=at())


def test_a_clock_that_calls_the_store_is_refused(store: fencepost.Store, path: str) -> None:
    engine = store.engine_name
    store.close()
    stores: list[fencepost.Store] = []

    def reentrant() -> int:
        stores[0].runs.get(run_id="r")
        return START_MS

    with fencepost.open(path, engine=engine, clock=reentrant) as other:
        stores.append(other)
        with unchanged(other), refused("busy"):
            enqueue(other, now=None)


@pytest.mark.parametrize("not_callable", [5, "now", []])
def test_a_clock_must_be_callable(not_callable: Any, engine: str, path: str) -> None:
    with pytest.raises(InvalidArgumentError, match="clock"):
        fencepost.open(path, engine=engine, clock=not_callable)


def test_a_lease_must_end_within_the_stored_times(store: fencepost.Store) -> None:
    last = "9999-12-31T23:59:59.998Z"
    assert enqueue(store, now=last, lease_ms=1).claim_expires_at == "9999-12-31T23:59:59.999Z"
    with unchanged(store), refused("invalid"):
        enqueue(store, "r2", now=last, lease_ms=2)
