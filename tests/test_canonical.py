"""Canonical JSON: the same text for the same value as in ECMAScript."""

from __future__ import annotations

import enum
import json
import math
import struct
from collections import OrderedDict, namedtuple
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from fencepost import canonical_json, fingerprint, quick
from fencepost.canonical import parse_json
from fencepost.engine.select import native_module
from fencepost.errors import InvalidArgumentError, ValueTooLargeError
from tests.node import Node

SAFE = 2**53 - 1
NUMBERS = st.integers(-SAFE, SAFE) | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(), max_size=12)
KEYS = TEXT | st.integers(0, 2**33).map(str) | st.sampled_from(["00", "01", "-1", "__proto__", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)


@pytest.fixture(autouse=True, params=["native", "reference"])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways in which a text comes about."""
    if request.param == "reference":
        monkeypatch.setattr(quick, "canonical_json", quick._left_to_the_rules)
        return
    native = native_module()
    if native is None:
        pytest.skip("the native extension is not installed")
    monkeypatch.setattr(quick, "canonical_json", native.canonical_json)


MANY = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@MANY
@given(value=VALUES)
def test_the_text_is_ecmascripts(node: Node, value: Any) -> None:
    assert canonical_json(value) == node.canonical(value)


@MANY
@given(bits=st.integers(0, 2**64 - 1))
def test_every_number_is_written_as_ecmascript_writes_it(node: Node, bits: int) -> None:
    (number,) = struct.unpack(">d", bits.to_bytes(8, "big"))
    if math.isfinite(number):
        assert canonical_json(number) == node.canonical(number)


@MANY
@given(value=VALUES)
def test_there_and_back(value: Any) -> None:
    text = canonical_json(value)
    again = parse_json(text)
    assert canonical_json(again) == text
    assert again == json.loads(json.dumps(value))
    assert fingerprint(again) == fingerprint(value)


@MANY
@given(value=st.dictionaries(KEYS, NUMBERS, max_size=8), data=st.data())
def test_the_order_of_members_does_not_matter(value: dict[str, Any], data: st.DataObject) -> None:
    shuffled = dict(data.draw(st.permutations(list(value.items()))))
    assert canonical_json(shuffled) == canonical_json(value)


@pytest.mark.parametrize(
    "value, text",
    [
        (-0.0, "0"),
        (1.0, "1"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1.25e-7, "1.25e-7"),
        (-1e-7, "-1e-7"),
        (5e-324, "5e-324"),
        (2**53 - 1, "9007199254740991"),
        (-(2**53) + 1, "-9007199254740991"),
        (float(2**53), "9007199254740992"),
        ("\u2028\u2029\x7f/é", '"\u2028\u2029\x7f/é"'),
        ('"\\\b\f\n\r\t\x00\x1f', '"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f"'),
        ("\ud800", '"\\ud800"'),
        ("a\udfffb\ud800", '"a\\udfffb\\ud800"'),
        ("\ud83d\ude00", '"😀"'),
        ("\ude00\ud83d", '"\\ude00\\ud83d"'),
        ({"\ud800": 1}, '{"\\ud800":1}'),
        (
            {"b": 1, "a": 2, "10": 3, "9": 4, "4294967294": 5, "4294967295": 6, "01": 7},
            '{"9":4,"10":3,"4294967294":5,"01":7,"4294967295":6,"a":2,"b":1}',
        ),
        ({"\uffff": 1, "😀": 2}, '{"😀":2,"\uffff":1}'),
        ({"__proto__": {"x": 1}, "constructor": 2}, '{"__proto__":{"x":1},"constructor":2}'),
        ((1, (2,), [3]), "[1,[2],[3]]"),
        ([], "[]"),
        ({}, "{}"),
        ("", '""'),
    ],
)
def test_examples(value: Any, text: str) -> None:
    assert canonical_json(value) == text


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "lie"


class Number(int):
    def __repr__(self) -> str:
        return "lie"


class Colour(enum.Enum):
    RED = 1


class Shape(str, enum.Enum):  # noqa: UP042 - the older form is in use
    ROUND = "round"


class Size(enum.IntEnum):
    BIG = 3


class Lying(dict[str, Any]):
    def items(self) -> Any:
        return [1, 2]

    def __iter__(self) -> Any:
        raise ZeroDivisionError

    def __len__(self) -> int:
        return 99


class LyingList(list[Any]):
    def __iter__(self) -> Any:
        raise ZeroDivisionError


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value, text",
    [
        (Text("a"), '"a"'),
        ({Text("k"): Number(7)}, '{"k":7}'),
        (Shape.ROUND, '"round"'),
        (Size.BIG, "3"),
        (Point(1, 2), "[1,2]"),
        (OrderedDict(b=1, a=2), '{"a":2,"b":1}'),
        (Lying(a=1), '{"a":1}'),
        (LyingList([1]), "[1]"),
    ],
)
def test_subclasses_are_what_they_hold(value: Any, text: str) -> None:
    assert canonical_json(value) == text


class Claims:
    """An object that says it is a dict."""

    __class__ = dict  # type: ignore[assignment]


class Unspeakable:
    def __repr__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "value, path",
    [
        (float("nan"), "value"),
        ([float("inf")], "value[0]"),
        ({"a": [0, -float("inf")]}, "value.a[1]"),
        ({"a b": {"c": [2**53]}}, "value['a b'].c[0]"),
        ({"a": -(2**53)}, "value.a"),
        ([[10**5000]], "value[0][0]"),
        ({"a": {1: 2}}, "value.a"),
        ({b"k": 1}, "value"),
        ({"x": [{None: 1}]}, "value.x[0]"),
        ({"x": {10**5000: 1}}, "value.x"),
        ({"x": {Unspeakable(): 1}}, "value.x"),
        ({"x": {Size.BIG: 1}}, "value.x"),
        ({"when": Decimal(1)}, "value.when"),
        ([b"bytes"], "value[0]"),
        ([{1, 2}], "value[0]"),
        ({"x": Colour.RED}, "value.x"),
        ({"x": object()}, "value.x"),
        ({"x": Claims()}, "value.x"),
        ({"x": Unspeakable()}, "value.x"),
        ({"x": iter([])}, "value.x"),
        ({"x": 1j}, "value.x"),
        ({"\ud83d\ude00": 1, "😀": 2}, "value"),
    ],
    ids=lambda value: "",
)
def test_what_is_no_json_is_refused_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        canonical_json(value)
    assert str(caught.value).startswith(f"{path} ")


def test_the_argument_names_the_path() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^spec\.items\[3\]\.when "):
        canonical_json({"items": [0, 1, 2, {"when": object()}]}, "spec")


def test_a_long_path_is_cut_in_the_middle() -> None:
    value: Any = float("nan")
    for _ in range(500):
        value = {"member": value}
    with pytest.raises(InvalidArgumentError) as caught:
        canonical_json(value)
    assert len(str(caught.value)) < 400


def nested(depth: int, wrap: str) -> Any:
    value: Any = 1
    for level in range(depth):
        as_list = wrap == "lists" or (wrap == "both" and level % 2)
        value = [value] if as_list else {"a": value}
    return value


@pytest.mark.parametrize("wrap", ["lists", "objects", "both"])
def test_nesting_ends_at_512(wrap: str) -> None:
    text = canonical_json(nested(512, wrap))
    assert parse_json(text) == nested(512, wrap)
    for depth in (513, 100_000):
        deep = nested(depth, wrap)
        with pytest.raises(InvalidArgumentError, match="nested deeper than 512"):
            canonical_json(deep)
        flatten(deep)


def flatten(deep: Any) -> None:
    """Take a deep value apart; freeing it in one go would recurse in some interpreters."""
    while isinstance(deep, (list, dict)):
        deep = deep.pop() if isinstance(deep, list) else deep.popitem()[1]


def test_cycles_are_refused() -> None:
    array: list[Any] = [1]
    array.append(array)
    cycles: list[Any] = [array, {"a": [array]}]
    member: dict[str, Any] = {}
    member["self"] = {"again": (member,)}
    for value, path in zip([*cycles, member], ["[1]", ".a[0][1]", ".self.again[0]"], strict=True):
        with pytest.raises(InvalidArgumentError, match="contains itself") as caught:
            canonical_json(value)
        assert str(caught.value).startswith(f"value{path} ")


def test_the_same_value_twice_is_no_cycle() -> None:
    shared = {"a": 1}
    assert canonical_json([shared, {"b": shared}, shared]) == '[{"a":1},{"b":{"a":1}},{"a":1}]'


def test_a_value_that_doubles_without_end_stops_at_the_limit() -> None:
    value: Any = [1]
    for _ in range(300):
        value = [value, value]
    with pytest.raises(ValueTooLargeError):
        canonical_json(value, "spec", 65_536)


@pytest.mark.parametrize("value", [[1, "aé", {"b": []}], "x", 12, [], {}, [[], [], {}], -1.5e-9])
def test_the_limit_counts_every_character(value: Any) -> None:
    size = len(canonical_json(value))
    assert canonical_json(value, "v", size)
    with pytest.raises(ValueTooLargeError):
        canonical_json(value, "v", size - 1)


@pytest.mark.parametrize(
    "text",
    [
        *("", "nan", "NaN", "Infinity", "-Infinity", "[1,]", "{'a':1}", "01", "1.", "+1", "["),
        *('"\n"', "[" * 100_000, '{"a":' * 100_000, "\ufeff1", "1 2", "tru"),
    ],
    ids=lambda text: repr(text)[:12],
)
def test_what_is_no_json_is_not_parsed(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


@pytest.mark.parametrize(
    "text, value",
    [
        ("9007199254740991", 2**53 - 1),
        ("9007199254740993", 9007199254740992.0),
        ("-9007199254740993", -9007199254740992.0),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("1e400", math.inf),
        ("9" * 5000, math.inf),
        ('"\\ud800"', "\ud800"),
        ('"\\ud83d\\ude00"', "😀"),
        ('{"a":1,"a":2}', {"a": 2}),
        (" [ 1 ] ", [1]),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_parsing_reads_as_ecmascript_reads(text: str, value: Any) -> None:
    parsed = parse_json(text)
    assert parsed == value
    assert type(parsed) is type(value)


@cache
def known_hash() -> str:
    import hashlib

    return hashlib.sha256('{"a":[1,"é"]}'.encode()).hexdigest()


def test_a_fingerprint_is_the_sha_256_of_the_text() -> None:
    assert fingerprint({"a": [1.0, "é"]}) == known_hash()
    assert fingerprint({"a": [1, "e"]}) != known_hash()
