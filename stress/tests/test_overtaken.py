"""L1 objects when those who wait for the lock stand in no line, and to nothing else."""

from __future__ import annotations

import pytest
from evidence import LEASE, Evidence

from fencepost_stress.checkers import overtaken
from fencepost_stress.checkers.base import End
from fencepost_stress.checkers.l1_patience import Patience
from fencepost_stress.checkers.stalls import Between, Stalls
from fencepost_stress.operations import Op

OTHERS = "bc"


def wait(evidence: Evidence, turns: int, calls: int = 1, others: str = OTHERS) -> None:
    """A call of `a` that waits while each of the others has so many turns of so many calls."""
    evidence.invoke("a", "runs.claim_next", runner_id="a", claim_token="a", lease_ms=LEASE)
    for _ in range(turns):
        for other in others:
            for _ in range(calls):
                evidence.claim_nothing(other)
    evidence.clock("a")
    evidence.ok("a", None)


def waits(times: int, turns: int, calls: int = 1, others: str = OTHERS) -> Evidence:
    evidence = Evidence()
    for _ in range(times):
        evidence.pass_ms(1)
        wait(evidence, turns, calls, others)
    return evidence


@pytest.mark.parametrize(
    "times, turns, calls, others, verdict",
    [
        (6, 12, 1, "bc", "invalid"),
        (6, 12, 1, "bcdefg", "invalid"),
        (6, 12, 3, "bc", "invalid"),
        # One is late to wake now and then.
        (5, 40, 1, "bc", "valid"),
        (60, 11, 1, "bc", "valid"),
        # A turn may be long, and one other alone has a single one.
        (60, 1, 40, "bc", "valid"),
        (60, 40, 1, "b", "valid"),
    ],
)
def test_l1_a_call_that_waits_and_is_overtaken(
    times: int, turns: int, calls: int, others: str, verdict: str
) -> None:
    found = waits(times, turns, calls, others).judge(Patience)
    assert found.verdict == verdict
    assert found.details["overtaken"] == (times if turns >= 12 and len(others) > 1 else 0)
    if verdict == "invalid":
        assert f"{times} calls were overtaken by 12 turns or more" in found.reason
        assert [op.process for op in found.violations[0].ops] == ["a"] * 3


@pytest.mark.parametrize("held, verdict", [(False, "invalid"), (True, "valid")])
def test_l1_a_call_is_overtaken_while_a_fault_holds_the_lock(held: bool, verdict: str) -> None:
    evidence = waits(6, 12)
    holds = [(6_000_000, 6_900_000)] if held else []
    found = evidence.judge(Patience, holds=holds)
    assert (found.verdict, found.details["overtaken"]) == (verdict, 6 - held)


def test_l1_calls_that_are_overtaken_while_the_machine_stands_still_decide_nothing() -> None:
    found = waits(6, 12).judge(Patience, still=[(6_000_000, 6_900_000)])
    assert found.verdict == "unknown"
    assert "the machine let nobody work" in found.reason


def test_l1_who_had_asked_before_overtakes_nobody() -> None:
    evidence = Evidence()
    for _ in range(60):
        for other in OTHERS:
            evidence.invoke(
                other, "runs.claim_next", runner_id=other, claim_token=other, lease_ms=9
            )
        evidence.invoke("a", "runs.claim_next", runner_id="a", claim_token="a", lease_ms=LEASE)
        for other in OTHERS:
            evidence.clock(other)
            evidence.ok(other, None)
        for _ in range(11):
            for other in OTHERS:
                evidence.claim_nothing(other)
        evidence.clock("a")
        evidence.ok("a", None)
    found = evidence.judge(Patience)
    assert (found.verdict, found.details["overtaken"]) == ("valid", 0)


@pytest.mark.parametrize("more, verdict", [(5000, "invalid"), (7000, "valid")])
def test_l1_a_few_calls_among_thousands_are_chance(
    monkeypatch: pytest.MonkeyPatch, more: int, verdict: str
) -> None:
    # All of it passes through the window in which calls are judged.
    monkeypatch.setattr(overtaken, "_BEHIND", 50)
    monkeypatch.setattr(overtaken, "_AHEAD", 100)
    evidence = waits(6, 12)
    for _ in range(more):
        evidence.claim_nothing("b")
    found = evidence.judge(Patience)
    assert (found.verdict, found.details["overtaken"]) == (verdict, 6)


def test_a_call_may_come_before_those_that_overtook_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overtaken, "_BEHIND", 50)
    monkeypatch.setattr(overtaken, "_AHEAD", 100)
    found = overtaken.Overtaken()
    now = 0
    for _ in range(6):
        # The window is full soon after the call is there.
        for _ in range(170):
            now += 1
            found.add(Op("b", now, "runs.verify", {}, now, clock=[(now, 0)]))
        found.add(Op("a", now, "runs.verify", {}, now, clock=[(now + 41, 0)]))
        for other in OTHERS * 20:
            now += 1
            found.add(Op(other, now, "runs.verify", {}, now, clock=[(now, 0)]))
        now += 1
    found.finish()
    stalls = Stalls(End({}, 0), Between(), still=False)
    assert [(turns, op.process) for turns, op in found.those(stalls)] == [(20.0, "a")] * 6
