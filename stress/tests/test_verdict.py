"""Three values, their order, and what a checker that fails is worth."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest
from evidence import Evidence, drained

from fencepost_stress.blackbox import terms as outside
from fencepost_stress.blackbox.calls import Calls
from fencepost_stress.blackbox.terms import Terms
from fencepost_stress.checkers.base import Checker, End, Finding, Ledger, Verdict
from fencepost_stress.checkers.f1_overlap import Overlap
from fencepost_stress.checkers.f2_stale import Stale
from fencepost_stress.judging import Judge, judged
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


class BrokenLater(Overlap):
    id = "X4"

    def finish(self, end: End) -> Finding:
        raise ZeroDivisionError


class EndlessLater(Overlap):
    id = "X5"

    def finish(self, end: End) -> Finding:
        while True:
            pass


def overlapping() -> Evidence:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.claim("b", "r1")
    return evidence


@pytest.mark.parametrize("make, why", [(BrokenLater, "crashed"), (EndlessLater, "ran out")])
def test_what_a_checker_proved_before_it_failed_stands(make: type[Checker], why: str) -> None:
    judge = Judge(make, 0.2)
    judge.feed(overlapping().events())
    found = judge.finding(overlapping().ending())
    assert (found.verdict, found.violation_count) == ("invalid", 1)
    assert found.violations[0].changes
    assert f"{found.violations[0].message}; the rest is unknown: the checker {why}" in found.reason


@pytest.mark.parametrize("evidence, verdict", [(overlapping(), "invalid"), (drained(), "unknown")])
def test_of_torn_evidence_only_what_was_read_is_judged(evidence: Evidence, verdict: str) -> None:
    judge = Judge(Overlap, 60)
    judge.feed(evidence.events())
    found = judge.cut_short("it is torn")
    assert found.verdict == verdict
    assert found.reason.endswith("it is torn")


class Half:
    """Decides two properties, and dies between them."""

    def __init__(self) -> None:
        self.ledgers = (Ledger(Overlap()), Ledger(Stale()))

    def check(self, evidence: outside.Evidence) -> Iterator[Finding]:
        first, _ = self.ledgers
        first.violation("r1 was claimed twice")
        yield first.finding()
        raise KeyError("a defect")


def test_of_two_properties_the_one_that_was_decided_stands() -> None:
    terms = Terms(lease="expires", lease_ns=1, error_ns=0)
    found = [one for one, _ in judged(Half(), outside.Evidence(Calls(), terms, []), 60)]
    assert [(one.id, one.verdict) for one in found] == [("F1", "invalid"), ("F2", "unknown")]
    assert found[0].reason.startswith("r1 was claimed twice; the rest is unknown")
    assert "KeyError" in found[1].reason


def test_a_sometimes_property_that_was_not_reached_is_not_a_pass() -> None:
    found = property_of(drained().judge(Overlap), 0.0)
    assert decide([found], sometimes_of({"x": 1}, ("x",)), [])[0] == "valid"
    verdict, reasons = decide([found], sometimes_of({}, ("x",)), [])
    assert (verdict, reasons) == ("unknown", ("never happened: x",))


def test_a_problem_of_the_harness_is_not_a_pass() -> None:
    found = property_of(drained().judge(Overlap), 0.0)
    assert decide([found], [], ["a worker died"])[0] == "unknown"


def test_a_violation_counts_whatever_else_is_unknown() -> None:
    found = property_of(overlapping().judge(Overlap), 0.0)
    assert decide([found], sometimes_of({}, ("x",)), ["trouble"])[0] == "invalid"
    assert found.violations[0]["commits"][0]["before"]["run_id"] == "r1"
