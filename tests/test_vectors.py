"""The recorded behaviour of the store that shares the file format, case by case."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from fencepost.conformance.subjects import StoreSubject
from fencepost.conformance.vectors import CaseResult, run_file
from tests.support import VECTORS


def lines(name: str) -> list[str]:
    text = (VECTORS / f"{name}.jsonl").read_text("utf-8")
    return [line for line in text.split("\n") if line]


CASES = {
    str(json.loads(line)["id"]): line for name in ("ops-mixed", "ops-more") for line in lines(name)
}
VALIDATION = len(lines("validation"))
CANONICAL = len(lines("canonical-json"))


def test_the_vectors_are_all_there() -> None:
    assert (len(CASES), VALIDATION, CANONICAL) == (60, 103, 48)


@pytest.mark.parametrize("case", CASES)
def test_operations(case: str, engine: str, tmp_path: Path) -> None:
    file = tmp_path / "case.jsonl"
    file.write_text(CASES[case], "utf-8")
    (result,) = run_file(str(file), StoreSubject(engine))
    assert result.differences == []


@pytest.mark.parametrize("line", range(VALIDATION))
def test_validation(line: int, engine: str) -> None:
    assert whole_file("validation", engine)[line].differences == []


@pytest.mark.parametrize("line", range(CANONICAL))
def test_canonical_json(line: int) -> None:
    assert whole_file("canonical-json", None)[line].differences == []


@cache
def whole_file(name: str, engine: str | None) -> list[CaseResult]:
    """The results of a file whose lines build on one another; run once a process."""
    return list(run_file(str(VECTORS / f"{name}.jsonl"), StoreSubject(engine)))
