"""The extension's writer of canonical JSON gives the reference's text, or leaves it to it."""

from __future__ import annotations

import struct
from enum import IntEnum, StrEnum
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from fencepost import quick as quick_answers
from fencepost.canonical import MAX_DEPTH, canonical_json, reference_json
from fencepost.errors import FencepostError

SAFE = 2**53 - 1


class Number(IntEnum):
    ONE = 1


class Word(StrEnum):
    A = "a"


class Members(dict[str, Any]):
    pass


class Items(list[Any]):
    pass


TEXT = st.text(st.characters(), max_size=12) | st.text(
    st.sampled_from('\ud83d\ude00\ue000\uffff\U00010000"\\\n\x1f\x7fa'), max_size=6
)
INDEXES = st.integers(0, 2**33).map(str) | st.sampled_from(["00", "01", "-1", "4294967295", ""])
ORDINARY = (
    st.none()
    | st.booleans()
    | st.integers(-SAFE - 2, SAFE + 2)
    | st.floats()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
UNUSUAL = st.sampled_from(
    [
        Number.ONE,
        Word.A,
        2**70,
        -(2**63),
        b"a",
        {1},
        1j,
        object(),
        Members(a=1),
        Items([1]),
        (),
        int,
    ]
)
KEYS = TEXT | INDEXES
ODD_KEYS = KEYS | st.sampled_from([1, None, True, Word.A, b"a"])


def containers(values: st.SearchStrategy[Any], keys: st.SearchStrategy[Any]) -> Any:
    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.lists(inner, max_size=5)
        return lists | lists.map(tuple) | st.dictionaries(keys, inner, max_size=6)

    return st.recursive(values, around, max_leaves=25)


def outcome(write: Any, value: object, *limits: Any) -> tuple[str, Any]:
    try:
        return "text", write(value, "spec", *limits)
    except FencepostError as error:
        return type(error).__name__, str(error)


@pytest.fixture
def quick(native: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(quick_answers, "canonical_json", native.canonical_json)
    return canonical_json


MANY = settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@MANY
@given(value=containers(ORDINARY, KEYS), most=st.none() | st.integers(0, 60))
def test_values_have_one_text(quick: Any, value: Any, most: int | None) -> None:
    assert outcome(quick, value, most) == outcome(reference_json, value, most)


@MANY
@given(value=containers(ORDINARY | UNUSUAL, ODD_KEYS))
def test_unusual_values_have_one_text_or_one_error(quick: Any, value: Any) -> None:
    assert outcome(quick, value) == outcome(reference_json, value)


@MANY
@given(bits=st.integers(0, 2**64 - 1))
def test_numbers_have_one_text(quick: Any, bits: int) -> None:
    (number,) = struct.unpack(">d", bits.to_bytes(8, "big"))
    assert outcome(quick, number) == outcome(reference_json, number)


@MANY
@given(digits=st.integers(1, 10**17), exponent=st.integers(-30, 30))
def test_numbers_as_people_write_them_have_one_text(quick: Any, digits: int, exponent: int) -> None:
    number = float(f"{digits}e{exponent}")
    assert quick(number) == reference_json(number)


@pytest.mark.parametrize("exponent", range(44, 53))
def test_ties_between_two_shortest_texts_have_one_text(quick: Any, exponent: int) -> None:
    for odd in range(1, 200, 2):
        number = 2.0**exponent + odd * 2.0 ** (exponent - 51)
        assert quick(number) == reference_json(number)


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
def test_nesting_ends_at_the_same_depth(quick: Any, depth: int) -> None:
    value: Any = 1
    for at in range(depth):
        value = {"a": value} if at % 2 else [value]
    assert outcome(quick, value) == outcome(reference_json, value)


def test_ordinary_values_are_not_left_to_the_reference(native: ModuleType) -> None:
    spec = {"b": [1, 2.5, None, True, "é\n"], "a": ({},), "10": "", "9": -0.0}
    assert native.canonical_json(spec) == reference_json(spec)
    assert native.canonical_json(spec, 10) is None
    assert native.canonical_json("\ud800") is None
