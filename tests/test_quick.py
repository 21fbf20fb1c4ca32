"""What the extension answers sooner is what the rules in Python say, or it is left to them."""

from __future__ import annotations

from enum import StrEnum
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from fencepost import quick
from fencepost.canonical import canonical_json
from fencepost.errors import CorruptRowError, EngineUnavailableError, InvalidArgumentError
from fencepost.records.base import Columns
from fencepost.validation import key, run_id

COLUMNS = Columns("things", "name note count", key="name", integers="count")


class Word(StrEnum):
    A = "a"


class Number(int):
    pass


NO_TEXT: list[Any] = [None, 1, b"a", ["a"], Word.A]
TEXTS = st.text(max_size=6) | st.text("aZ09._-/ \x7f\x1f\ud800é", max_size=6)
VALUES = st.sampled_from(NO_TEXT) | TEXTS | st.integers(198, 202).map("a".__mul__)
KEYS = VALUES | st.integers(255, 514).map("a".__mul__)
STORED = st.sampled_from([None, "a", 1, 1.5, b"a", True, Number(1), Word.A])


@pytest.fixture
def rules_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "holds", quick._left_to_the_rules)


def keeps(rule: Any, *arguments: Any) -> bool:
    """Whether the rule takes the value as it is."""
    try:
        taken = rule(*arguments)
    except InvalidArgumentError:
        return False
    return type(taken) is type(arguments[0])


@settings(max_examples=1000, deadline=None)
@given(given_id=VALUES, token=KEYS)
def test_what_is_surely_a_claim_is_one(native: ModuleType, given_id: Any, token: Any) -> None:
    if native.is_run_claim(given_id, token):
        assert keeps(run_id, given_id)
        assert keeps(key, token, "claim_token")


@settings(max_examples=1000, deadline=None)
@given(values=st.lists(KEYS, max_size=4))
def test_what_are_surely_keys_are_keys(native: ModuleType, values: list[Any]) -> None:
    if native.are_keys(*values):
        assert all(keeps(key, value, "key") for value in values)


@settings(max_examples=1000, deadline=None)
@given(row=st.lists(STORED, min_size=1, max_size=4).map(tuple))
def test_a_row_that_surely_holds_its_kinds_can_be_read(
    native: ModuleType, row: tuple[Any, ...]
) -> None:
    if native.holds(row, "tti"):
        for value, kind in zip(row, (str, str, int), strict=False):
            assert value is None or type(value) is kind
        assert len(row) <= 3


def test_ordinary_arguments_and_rows_are_not_left_to_the_rules(native: ModuleType) -> None:
    assert native.is_run_claim("0190a5b2-6c1c-7b44-9f0a-aa7c2d7d0001", "a token, of words")
    assert native.is_run_claim("Run_1.b", "~")
    assert native.are_keys("a", "b/c", " ")
    assert native.holds(("a", None, 1), "tti")
    assert native.holds(("a", None), "tti")


@pytest.mark.usefixtures("rules_alone")
def test_rows_are_read_by_the_rules_alone_too() -> None:
    row = ("a", None, 1)
    assert COLUMNS.check(row) is row
    with pytest.raises(CorruptRowError, match="the column count holds text"):
        COLUMNS.check(("a", "b", "c"))


@pytest.fixture
def not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in quick._NAMES:
        monkeypatch.setattr(quick, name, quick._chosen_first(name))


@pytest.mark.usefixtures("not_chosen")
def test_the_rules_can_be_had_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_ENGINE", "python")
    assert canonical_json([1]) == "[1]"
    assert not quick.is_run_claim("a", "b")
    assert all(getattr(quick, name) is quick._left_to_the_rules for name in quick._NAMES)


@pytest.mark.usefixtures("not_chosen")
def test_a_broken_extension_leaves_everything_to_the_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> None:
        raise EngineUnavailableError("broken")

    monkeypatch.delenv("FENCEPOST_ENGINE", raising=False)
    monkeypatch.setattr(quick, "native_module", broken)
    assert canonical_json([1]) == "[1]"
    assert not quick.are_keys("a")
