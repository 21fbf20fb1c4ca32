"""Arguments made to break things: one wording from both engines, and an unchanged database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import Store
from fencepost.conformance.operations import dump
from tests.support import (
    SetClock,
    at,
    enqueue,
    outcome,
    park,
    put,
    unchanged,
    without_ids,
)
from tests.values import Colour, SaysDatetime, SaysDict, SaysInt, SaysText, Unspeakable


@pytest.fixture
def filled(store: Store) -> Store:
    put(store)
    enqueue(store)
    park(store, "parked")
    return store


CLAIM: dict[Any, Any] = {
    "controller": "ctl",
    "key": "k",
    "token": "t",
    "queue_version": 1,
    "consecutive_errors": 0,
    "expires_at": at(),
}

OF_MANY_DIGITS = 10**5000
ARGUMENTS: dict[str, Callable[[Store], Any]] = {
    "a key of NUL": lambda store: put(store, "a\x00b"),
    "a key of a lone surrogate": lambda store: put(store, "a\ud800"),
    "a key of bytes": lambda store: store.resources.get(controller="ctl", key=b"k"),  # type: ignore[arg-type]
    "a key that lies": lambda store: store.resources.get(controller="ctl", key=SaysText()),  # type: ignore[arg-type]
    "a key of many digits": lambda store: put(store, OF_MANY_DIGITS),  # type: ignore[arg-type]
    "a name with a line break": lambda store: put(store, controller="ctl\n"),
    "a run id with NUL": lambda store: enqueue(store, "r\x00"),
    "a run id that climbs": lambda store: enqueue(store, "../../etc/passwd"),
    "a uid with a surrogate": lambda store: store.resources.get_by_uid(uid="\ud800"),
    "a lease of 2**63": lambda store: enqueue(store, "n", lease_ms=2**63),
    "a lease of -2**63": lambda store: enqueue(store, "n", lease_ms=-(2**63)),
    "a lease of 2**53": lambda store: enqueue(store, "n", lease_ms=2**53),
    "a lease of 2**53 - 1": lambda store: enqueue(store, "n", lease_ms=2**53 - 1),
    "a lease of nan": lambda store: enqueue(store, "n", lease_ms=float("nan")),
    "a lease of inf": lambda store: enqueue(store, "n", lease_ms=float("inf")),
    "a lease of many digits": lambda store: enqueue(store, "n", lease_ms=OF_MANY_DIGITS),
    "a lease of True": lambda store: enqueue(store, "n", lease_ms=True),
    "a lease that lies": lambda store: enqueue(store, "n", lease_ms=SaysInt()),
    "a version of 2**63": lambda store: store.resources.delete(
        controller="ctl", key="k", expected_resource_version=2**63
    ),
    "a seq of 2**63": lambda store: store.feed.after(seq=2**63),
    "a limit of many digits": lambda store: store.feed.after(seq=0, limit=OF_MANY_DIGITS),
    "a status word of many digits": lambda store: store.runs.list(status=OF_MANY_DIGITS),  # type: ignore[arg-type]
    "an unspeakable status": lambda store: store.runs.list(status=Unspeakable()),  # type: ignore[arg-type]
    "a cursor of many digits": lambda store: store.runs.list(cursor=OF_MANY_DIGITS),  # type: ignore[arg-type]
    "an unspeakable cursor": lambda store: store.runs.list(cursor=Unspeakable()),  # type: ignore[arg-type]
    "a cursor of digits": lambda store: store.runs.list(cursor="[" + "9" * 9999 + "]"),
    "a cursor of brackets": lambda store: store.runs.list(cursor="[" * 100_000),
    "a cursor with a surrogate": lambda store: store.runs.list(cursor='["\\ud800",1]'),
    "a cursor beyond 64 bits": lambda store: store.runs.list(cursor=f'["",{2**63}]'),
    "a now that lies": lambda store: put(store, now=SaysDatetime()),
    "a now beyond the years": lambda store: put(store, now="+12026-01-01T00:00:00Z"),
    "a now of many digits": lambda store: put(store, now=OF_MANY_DIGITS),
    "a now with NUL": lambda store: put(store, now="2026-08-04\x00"),
    "an enum as a state": lambda store: store.effects.update(
        resource_uid="u",
        key="e",
        state=Colour.RED,  # type: ignore[arg-type]
    ),
    "an error of bytes": lambda store: store.requests.update(
        request_id="q",
        state="failed",
        error=b"x",  # type: ignore[arg-type]
    ),
    "controllers that are a text": lambda store: store.queue.claim_next(
        controllers="ctl", lease_ms=1
    ),
    "controllers of bytes": lambda store: store.queue.claim_next(controllers=[b"ctl"], lease_ms=1),  # type: ignore[list-item]
    "excluded runs with NUL": lambda store: store.runs.claim_next(
        runner_id="a", lease_ms=1, exclude_run_ids=["\x00"]
    ),
    "an item of many digits": lambda store: store.runs.enqueue_many(
        items=[OF_MANY_DIGITS]  # type: ignore[list-item]
    ),
    "a member of many digits": lambda store: store.runs.enqueue_many(
        items=[{OF_MANY_DIGITS: 1}]  # type: ignore[dict-item]
    ),
    "an unspeakable member": lambda store: store.queue.settle(
        claim={**CLAIM, Unspeakable(): 1}  # type: ignore[dict-item]
    ),
    "a claim of nothing": lambda store: store.queue.settle(claim={}),
    "a claim that lies": lambda store: store.queue.settle(claim=SaysDict()),  # type: ignore[arg-type]
    "a condition's status of many digits": lambda store: store.resources.update_status(
        controller="ctl",
        key="k",
        expected_resource_version=1,
        status={
            "observed_generation": 0,
            "conditions": [
                {
                    "type": "t",
                    "status": OF_MANY_DIGITS,
                    "reason": "r",
                    "observed_generation": 0,
                    "last_transition_time": at(),
                }
            ],
        },
    ),
    "a payload that is a list": lambda store: store.events.record(
        controller="ctl",
        key="k",
        type="t",
        payload=[("a", 1)],  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_both_engines_refuse_with_one_wording(
    name: str, engines_here: tuple[str, ...], tmp_path: Path
) -> None:
    said = []
    for engine in engines_here:
        path = str(tmp_path / f"{engine}.sqlite")
        with fencepost.open(path, engine=engine, synchronous="off", clock=SetClock()) as store:
            put(store)
            before = dump(store)
            said.append(without_ids(outcome(lambda: ARGUMENTS[name](store)), path))
            assert dump(store) == before
    assert said == [said[0]] * len(engines_here)
    assert said[0]["code"] == "invalid"
    assert 0 < len(said[0]["message"]) < 400


def raising() -> Iterator[Any]:
    yield "a"
    raise ZeroDivisionError


class RaisingMapping(Mapping[str, Any]):
    def __getitem__(self, name: str) -> Any:
        raise ZeroDivisionError

    def __iter__(self) -> Iterator[str]:
        raise ZeroDivisionError

    def __len__(self) -> int:
        return 1


class RaisingZone(tzinfo):
    def utcoffset(self, moment: datetime | None) -> timedelta:
        raise ZeroDivisionError

    dst = utcoffset

    def tzname(self, moment: datetime | None) -> str:
        raise ZeroDivisionError


CALLERS_CODE: dict[str, Callable[[Store], Any]] = {
    "controllers": lambda store: store.queue.claim_next(controllers=raising(), lease_ms=1),
    "excluded runs": lambda store: store.runs.claim_next(
        runner_id="a", lease_ms=1, exclude_run_ids=raising()
    ),
    "finalizers": lambda store: store.resources.update_finalizers(
        controller="ctl", key="k", expected_resource_version=1, finalizers=raising()
    ),
    "a mapping": lambda store: store.runs.enqueue_many(items=[RaisingMapping()]),
    "a claim": lambda store: store.queue.settle(claim=RaisingMapping()),
    "a status": lambda store: store.resources.update_status(
        controller="ctl", key="k", expected_resource_version=1, status=RaisingMapping()
    ),
    "a time zone": lambda store: put(store, "x", now=datetime(2026, 1, 1, tzinfo=RaisingZone())),
    "items": lambda store: store.runs.enqueue_many(items=next_then_raise()),
}


def next_then_raise() -> Iterator[Mapping[str, Any]]:
    yield {
        "run_id": "x",
        "workflow_name": "w",
        "workflow_source_ref": "s",
        "runner_id": "a",
        "lease_ms": 1,
    }
    raise ZeroDivisionError


@pytest.mark.parametrize("name", CALLERS_CODE)
def test_what_the_callers_code_raises_comes_out_and_changes_nothing(
    filled: Store, name: str
) -> None:
    with unchanged(filled), pytest.raises(ZeroDivisionError):
        CALLERS_CODE[name](filled)
