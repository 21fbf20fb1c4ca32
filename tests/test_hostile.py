"""Values made to break things: a typed error or a success, an unchanged database, one wording."""

from __future__ import annotations

import enum
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import ResourceStatus, Store
from fencepost.conformance.operations import dump
from tests.support import (
    SetClock,
    at,
    enqueue,
    outcome,
    park,
    put,
    refused,
    sql,
    unchanged,
    without_ids,
)


def deep(depth: int, wrap: type = list) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if wrap is dict else wrap([value])
    return value


def doubling(levels: int) -> Any:
    value: Any = [1]
    for _ in range(levels):
        value = [value, value]
    return value


def cyclic() -> Any:
    value: dict[str, Any] = {}
    value["self"] = [value]
    return value


class Unspeakable:
    """Anything asked of it fails."""

    def __repr__(self) -> str:
        raise ZeroDivisionError

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __hash__ = object.__hash__


class SaysDict:
    __class__ = dict  # type: ignore[assignment]


class SaysText:
    __class__ = str  # type: ignore[assignment]


class SaysInt:
    __class__ = int  # type: ignore[assignment]


class SaysDatetime:
    __class__ = datetime  # type: ignore[assignment]


class Colour(enum.Enum):
    RED = "red"


class BadKeys(dict[Any, Any]):
    def items(self) -> Any:
        return [(1, 2)]

    def keys(self) -> Any:
        raise ZeroDivisionError


# What no JSON argument takes.
NOT_JSON: dict[str, Callable[[], Any]] = {
    "nesting": lambda: deep(100_000),
    "nesting of dicts": lambda: deep(100_000, dict),
    "nesting of tuples": lambda: deep(100_000, tuple),
    "513 deep": lambda: deep(513),
    "2**53": lambda: 2**53,
    "2**63": lambda: [2**63],
    "-2**63": lambda: {"a": -(2**63)},
    "2**64": lambda: 2**64,
    "many digits": lambda: 10**5000,
    "nan": lambda: float("nan"),
    "inf": lambda: [float("inf")],
    "-inf": lambda: {"a": float("-inf")},
    "bytes": lambda: b"{}",
    "a bytes key": lambda: {b"k": 1},
    "an int key": lambda: {1: 1},
    "a key of many digits": lambda: {10**5000: 1},
    "an unspeakable key": lambda: {Unspeakable(): 1},
    "a None key": lambda: {None: 1},
    "a set": lambda: {1},
    "a date": lambda: datetime.now(UTC),
    "an enum": lambda: Colour.RED,
    "an object": object,
    "unspeakable": Unspeakable,
    "a class": lambda: dict,
    "a generator": lambda: (x for x in [1]),
    "a liar that says dict": SaysDict,
    "a liar that says str": SaysText,
    "a liar that says int": SaysInt,
    "a cycle": cyclic,
    "two keys that are one": lambda: {"\ud83d\ude00": 1, "😀": 2},
}
TOO_LARGE: dict[str, Callable[[], Any]] = {
    "1 MiB + 1": lambda: "x" * (1_048_576 - 1),
    "1 MiB + 1 of escapes": lambda: "\x00" * (1_048_576 // 6) + "x" * 3,
    "1 MiB + 1 in parts": lambda: ["x" * 1023] * 1024,
    "16 MiB": lambda: "é" * 8 * 2**20,
}
# What every JSON argument takes, and gives back as it is.
FINE: dict[str, Callable[[], Any]] = {
    "1 MiB": lambda: "x" * (1_048_576 - 2),
    "512 deep": lambda: deep(512),
    "2**53 - 1": lambda: [2**53 - 1, -(2**53) + 1],
    "a float of 2**53": lambda: [9007199254740992.0, -0.0, 5e-324, 1.7976931348623157e308],
    "lone surrogates": lambda: {"\ud800": "\udfff", "a\ud800": ["\ud800\ud800"]},
    "NUL": lambda: {"\x00": "\x00a\x00"},
    "controls": lambda: "".join(map(chr, range(0xFFFE))),
    "__proto__": lambda: {"__proto__": {"a": 1}, "constructor": 1, "toString": None},
    "index keys": lambda: {"10": 1, "9": 2, "a": 3, "01": 4},
    "empty things": lambda: [[], {}, "", None, [[[]]], {"": {"": ""}}],
    "many members": lambda: {str(n): n for n in range(20_000)},
    "SQL": lambda: "'); DROP TABLE resources; --",
}


@pytest.fixture
def filled(store: Store) -> Store:
    put(store)
    enqueue(store)
    park(store, "parked")
    return store


JSON_ARGUMENTS: dict[str, Callable[[Store, Any], Any]] = {
    "spec": lambda store, value: put(store, "new", spec=value),
    "initial status": lambda store, value: put(store, "new", initial_status=value),
    "input": lambda store, value: enqueue(store, "new", input=value),
    "inputs": lambda store, value: store.runs.enqueue_many(
        items=[
            {
                "run_id": f"new{n}",
                "workflow_name": "w",
                "workflow_source_ref": "s",
                "runner_id": "a",
                "lease_ms": 9,
                "input": given,
            }
            for n, given in enumerate((1, value))
        ],
        now=at(),
    ),
    "controller status": lambda store, value: store.resources.update_status(
        controller="ctl",
        key="k",
        expected_resource_version=1,
        status=ResourceStatus(0, controller_status=value),
        now=at(),
    ),
    "an unknown status member": lambda store, value: store.resources.update_status(
        controller="ctl",
        key="k",
        expected_resource_version=1,
        status={"observed_generation": 0, "later": value},
        now=at(),
    ),
    "an event's payload": lambda store, value: store.events.record(
        controller="ctl", key="k", type="t", payload={"p": value}, now=at()
    ),
    "a run event's payload": lambda store, value: store.feed.record(
        run_id="r", workflow_ref="w", type="t", payload={"p": value}, now=at()
    ),
}


def apart(value: Any) -> None:
    """Free a deep value level by level."""
    while type(value) in (list, dict) and len(value) == 1:
        value = value.pop() if type(value) is list else value.popitem()[1]


@pytest.mark.parametrize("argument", JSON_ARGUMENTS)
def test_what_is_no_json_is_refused_everywhere(filled: Store, argument: str) -> None:
    with unchanged(filled):
        for make in NOT_JSON.values():
            value = make()
            with refused("invalid"):
                JSON_ARGUMENTS[argument](filled, value)
            apart(value)


@pytest.mark.parametrize("argument", JSON_ARGUMENTS)
def test_what_is_too_large_is_refused_everywhere(filled: Store, argument: str) -> None:
    with unchanged(filled):
        for make in TOO_LARGE.values():
            with refused("too_large"):
                JSON_ARGUMENTS[argument](filled, make())


def same(value: Any) -> Any:
    """The value as JSON holds it."""
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("name", FINE)
def test_what_is_odd_but_fine_comes_back(filled: Store, name: str, path: str) -> None:
    value = FINE[name]()
    assert enqueue(filled, "new", input=value).input == same(value)
    assert put(filled, "new", spec=value).spec == same(value)
    stored = filled.runs.get(run_id="new")
    assert stored is not None
    assert stored.input == same(value)
    (row,) = [row for row in dump(filled)["resources"] if row["resource_key"] == "new"]
    assert row["spec_json"] == fencepost.canonical_json(value)


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
    name: str, both_engines: tuple[str, ...], tmp_path: Path
) -> None:
    said = []
    for engine in both_engines:
        path = str(tmp_path / f"{engine}.sqlite")
        with fencepost.open(path, engine=engine, synchronous="off", clock=SetClock()) as store:
            put(store)
            before = dump(store)
            said.append(without_ids(outcome(lambda: ARGUMENTS[name](store)), path))
            assert dump(store) == before
    assert said[0] == said[1]
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


def test_a_dict_is_read_past_its_methods(filled: Store) -> None:
    assert put(filled, "new", spec=BadKeys(a=1)).spec == {"a": 1}


@pytest.mark.parametrize("count", [50_000])
def test_many_excluded_runs(filled: Store, count: int) -> None:
    excluded = [f"other{number}" for number in range(count)]
    claim: dict[str, Any] = {"runner_id": "b", "lease_ms": 5, "now": at()}
    assert filled.runs.claim_next(**claim, exclude_run_ids=[*excluded, "parked"]) is None
    taken = filled.runs.claim_next(**claim, exclude_run_ids=excluded)
    assert taken is not None
    assert taken.run_id == "parked"


def test_many_controllers(filled: Store) -> None:
    names = [f"c{number}" for number in range(5_000)]
    assert filled.queue.claim_next(controllers=names, lease_ms=5, now=at()) is None
    claim = filled.queue.claim_next(controllers=[*names, "ctl"], lease_ms=5, now=at())
    assert claim is not None
    assert claim.controller == "ctl"


def test_text_with_nul_is_kept(filled: Store) -> None:
    found = filled.resources.get(controller="ctl", key="k")
    assert found is not None
    uid = found.metadata.uid
    filled.effects.reserve(
        key="e", resource_uid=uid, generation=1, kind="x", request_fingerprint="a\x00b", now=at()
    )
    filled.effects.update(
        resource_uid=uid, key="e", state="pending", external_ref="\x00r", error="e\x00", now=at()
    )
    effect = filled.effects.get(resource_uid=uid, key="e")
    assert effect is not None
    assert (effect.request_fingerprint, effect.external_ref, effect.error) == (
        "a\x00b",
        "\x00r",
        "e\x00",
    )


CONFINED = """
import resource, sys
import fencepost

engine, path = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
value = [1]
for _ in range(300):
    value = [value, value]
with fencepost.open(path, engine=engine) as store:
    try:
        store.events.record(controller="ctl", key="k", type="t", payload={"p": value})
    except fencepost.FencepostError as error:
        print(error.code)
"""


def test_a_value_that_doubles_without_end(engine: str, path: str) -> None:
    """In a process with a gigabyte: unbounded work would be seen."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CONFINED, engine, path],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "too_large\n"), done.stderr


def test_a_deep_call_stack_reads_what_it_wrote(filled: Store, path: str) -> None:
    """The nesting that may be stored is read back from any depth of the caller's stack."""
    enqueue(filled, "deep", input=deep(512))

    def below(levels: int) -> Any:
        return below(levels - 1) if levels else filled.runs.get(run_id="deep")

    run = below(sys.getrecursionlimit() // 2)
    assert run.input == deep(512)
    broken = "[" * 600 + "}"
    sql(path, ("UPDATE workflow_run_queue SET input_json = ? WHERE run_id = 'deep'", [broken]))
    with refused("corrupt_row"):
        below(sys.getrecursionlimit() // 2)
