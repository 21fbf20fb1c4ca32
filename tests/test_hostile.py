"""Values made to break things: a typed error or a success, an unchanged database, one wording."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import fencepost
from fencepost import ResourceStatus, Store
from fencepost.conformance.operations import dump
from tests.support import (
    at,
    enqueue,
    park,
    put,
    refused,
    sql,
    unchanged,
)
from tests.values import Colour, SaysDict, SaysInt, SaysText, Unspeakable


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
