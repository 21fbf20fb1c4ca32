"""Three values, their order, and what a checker that fails is worth."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from evidence import Evidence, drained

from fencepost_stress.checkers.base import Checker, End, Finding, Verdict
from fencepost_stress.checkers.f1_overlap import Overlap
from fencepost_stress.judging import Judge
from fencepost_stress.operations import Event
from fencepost_stress.verdict import decide, property_of, sometimes_of, worst


def test_invalid_beats_unknown_beats_valid() -> None:
    order: tuple[Verdict, ...] = ("invalid", "unknown", "valid")
    for verdicts in itertools.product(order, repeat=3):
        assert worst(verdicts) == next(word for word in order if word in verdicts)


def test_nothing_at_all_is_unknown() -> None:
    assert worst([]) == "unknown"


class Broken(Overlap):
    id = "X1"

    def feed(self, events: Sequence[Event]) -> None:
        raise KeyError("a defect")


class Endless(Overlap):
    id = "X2"

    def feed(self, events: Sequence[Event]) -> None:
        while True:
            pass


class Late(Overlap):
    id = "X3"

    def finish(self, end: End) -> Finding:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "make, why",
    [(Broken, "crashed: KeyError"), (Endless, "ran out"), (Late, "crashed: ZeroDivisionError")],
)
def test_a_checker_that_fails_makes_its_property_unknown(make: type[Checker], why: str) -> None:
    judge = Judge(make, 0.2)
    judge.feed(drained().events())
    found = judge.finding(drained().ending())
    assert found.verdict == "unknown"
    assert why in found.reason


def test_a_sometimes_property_that_was_not_reached_is_not_a_pass() -> None:
    found = property_of(drained().judge(Overlap), 0.0)
    assert decide([found], sometimes_of({"x": 1}, ("x",)), [])[0] == "valid"
    verdict, reasons = decide([found], sometimes_of({}, ("x",)), [])
    assert (verdict, reasons) == ("unknown", ("never happened: x",))


def test_a_problem_of_the_harness_is_not_a_pass() -> None:
    found = property_of(drained().judge(Overlap), 0.0)
    assert decide([found], [], ["a worker died"])[0] == "unknown"


def test_a_violation_counts_whatever_else_is_unknown() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.claim("b", "r1")
    found = property_of(evidence.judge(Overlap), 0.0)
    assert decide([found], sometimes_of({}, ("x",)), ["trouble"])[0] == "invalid"
    assert found.violations[0]["commits"][0]["before"]["run_id"] == "r1"
