"""The rules for arguments, each at its edges; what they refuse changes nothing."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import pytest

from fencepost import Store, validation
from fencepost.errors import InvalidArgumentError, ValueTooLargeError
from tests.support import at, enqueue, put, refused, unchanged
from tests.values import (
    BAD_KEYS,
    BAD_NAMES,
    BAD_RUN_IDS,
    GOOD_KEYS,
    GOOD_NAMES,
    GOOD_RUN_IDS,
    NOT_TEXT,
    SaysText,
)


class Word(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "9 lies"

    def __len__(self) -> int:
        return 1


class Letter(str, enum.Enum):  # noqa: UP042 - the older form is in use
    A = "a"


def accepts(check: Callable[..., Any], good: list[Any]) -> None:
    for value in good:
        assert check(value, "x") == value


def refuses(check: Callable[..., Any], bad: list[Any]) -> None:
    for value in bad:
        with pytest.raises(InvalidArgumentError, match=r"^x: "):
            check(value, "x")


@pytest.mark.parametrize(
    "check, good, bad",
    [
        (validation.name, GOOD_NAMES, BAD_NAMES),
        (validation.key, GOOD_KEYS, BAD_KEYS),
        (validation.run_id, GOOD_RUN_IDS, BAD_RUN_IDS),
        (validation.text, ["", "a\x00\n", "x" * 9999], ["\ud800", *NOT_TEXT]),
    ],
    ids=["name", "key", "run id", "text"],
)
def test_text_rules(check: Callable[..., Any], good: list[Any], bad: list[Any]) -> None:
    accepts(check, good)
    refuses(check, [*bad, SaysText()])
    for value, held in ((Word("a"), "a"), (Letter.A, "a")):
        plain = check(value, "x")
        assert plain == held
        assert type(plain) is str


def test_optional_keys() -> None:
    assert validation.optional_key(None, "x") is None
    refuses(validation.optional_key, [value for value in BAD_KEYS if value is not None])
    assert validation.optional_text(None, "x") is None


class Count(enum.IntEnum):
    ONE = 1


def test_integers() -> None:
    refuses(validation.integer, [True, 1.0, "1", None, 2**53, -1, 10**5000, Count.ONE])
    assert validation.integer(2**53 - 1, "x") == 2**53 - 1
    assert validation.integer(0, "x") == 0


def test_leases() -> None:
    assert validation.lease_ms(1) == 1
    assert validation.lease_ms(2**53 - 1) == 2**53 - 1
    for value in (0, -1, 2**53, 2**63, 1.0, True, None, "1"):
        with pytest.raises(InvalidArgumentError, match=r"^lease_ms: "):
            validation.lease_ms(value)


@pytest.mark.parametrize(
    "given, stored",
    [
        ("", ""),
        ("x" * 8192, "x" * 8192),
        ("x" * 8193, "x" * 8192 + "…"),
        ("😀" * 4096, "😀" * 4096),
        ("😀" * 4096 + "x", "😀" * 4096 + "…"),
        ("x" + "😀" * 4096, "x" + "😀" * 4095 + "\ufffd…"),
        ("a\x00\n\t", "a\x00\n\t"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
    ],
    ids=lambda text: repr(text)[:12],
)
def test_error_texts(given: str, stored: str, store: Store) -> None:
    assert validation.error_text(given) == stored
    uid = put(store).metadata.uid
    made = store.requests.reserve(
        resource_uid=uid, request_key="q", workflow="w", input_fingerprint="f"
    ).record
    kept = store.requests.update(request_id=made.request_id, state="failed", error=given)
    assert kept.error == stored


def test_error_texts_are_text() -> None:
    assert validation.error_text(None) is None
    refuses(validation.error_text, [value for value in NOT_TEXT if value is not None])


def test_finalizers() -> None:
    assert validation.finalizers(["b", "a"]) == '["b","a"]'
    assert validation.finalizers(iter(("a",))) == '["a"]'
    assert validation.finalizers([]) == "[]"
    for bad in (["a", "a"], ["9"], [None], [["a"]], "ab", b"ab", {"a": 1}, 5, None):
        with pytest.raises(InvalidArgumentError, match=r"^finalizers"):
            validation.finalizers(bad)
    with pytest.raises(InvalidArgumentError, match=r"^finalizers\[1\]"):
        validation.finalizers(["a", "9"])


def test_choices() -> None:
    assert validation.choice("a", "x", ("a", "b")) == "a"
    refuses(
        lambda value, name: validation.choice(value, name, ("a", "b")), ["", "A", "ab", *NOT_TEXT]
    )


@pytest.mark.parametrize("size", [1_048_576, 65_536])
def test_sizes_count_canonical_utf8(size: int) -> None:
    for unit in ("x", "é", "😀"):
        width = len(unit.encode())
        count, rest = divmod(size - 2, width)
        value = unit * count + "x" * rest
        assert len(validation.json_value(value, "x", size).encode()) == size
        for more in (unit, "x"):
            with pytest.raises(ValueTooLargeError, match=r"^x: "):
                validation.json_value(value + more, "x", size)


BIG = "x" * (1_048_576 - 2)


def test_a_mebibyte_is_the_limit_of_spec_and_input(store: Store) -> None:
    assert put(store, spec=BIG).spec == BIG
    assert enqueue(store, input=BIG).input == BIG
    with unchanged(store):
        with refused("too_large") as caught:
            put(store, spec=BIG + "x")
        assert str(caught[0]).startswith("spec: ")
        with refused("too_large") as caught:
            enqueue(store, "r2", input=BIG + "x")
        assert str(caught[0]).startswith("input: ")
        with refused("too_large"):
            put(store, "other", initial_status=BIG)


def test_a_status_has_a_limit_too(store: Store) -> None:
    put(store)
    frame = len('{"conditions":[],"controllerStatus":"","observedGeneration":0}')

    def update(text: str) -> Any:
        return store.resources.update_status(
            controller="ctl",
            key="k",
            expected_resource_version=1,
            status={"observed_generation": 0, "controller_status": text},
            now=at(),
        )

    with unchanged(store), refused("too_large"):
        update("x" * (1_048_576 - frame + 1))
    assert update("x" * (1_048_576 - frame))
