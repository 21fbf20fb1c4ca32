"""L1 passes what is right, and objects to busy answers, to hanging and to starving."""

from __future__ import annotations

import pytest
from evidence import LEASE, Evidence, objecting

from fencepost_stress.checkers.base import Life
from fencepost_stress.checkers.l1_patience import Patience


def busy(evidence: Evidence, waited_ms: int) -> None:
    evidence.invoke("a", "runs.claim_next", runner_id="a", claim_token="a/1", lease_ms=LEASE)
    evidence.pass_ms(waited_ms)
    evidence.fail("a", "busy")


@pytest.mark.parametrize(
    "waited_ms, stopped, verdict",
    [
        (10, False, "invalid"),
        (10, True, "invalid"),
        (5001, False, "invalid"),
        (5001, True, "valid"),
    ],
)
def test_l1_a_busy_answer(waited_ms: int, stopped: bool, verdict: str) -> None:
    evidence = Evidence()
    busy(evidence, waited_ms)
    pauses = [("b", 0, 1 << 60)] if stopped else []
    assert evidence.judge(Patience, pauses=pauses).verdict == verdict


@pytest.mark.parametrize(
    "waited_ms, held, verdict",
    [
        (10, False, "invalid"),
        (10, True, "invalid"),
        (5001, False, "invalid"),
        (5001, True, "valid"),
    ],
)
def test_l1_a_store_that_is_busy_when_it_is_opened(
    waited_ms: int, held: bool, verdict: str
) -> None:
    told = [("a", 0, waited_ms * 1_000_000), ("a", 9_000_000_000, 14_001_000_000)]
    holds = [(9_000_000_000, 14_000_000_000), *([(0, 5_000_000_000)] if held else [])]
    found = Evidence().judge(Patience, not_opened=told, holds=holds)
    assert (found.verdict, found.violation_count) == (verdict, int(verdict == "invalid"))
    assert "opening the store" in found.reason or verdict != "invalid"
    assert found.details["busy_excused"] == 2 - found.violation_count


def test_l1_nobody_starves_where_each_does_what_it_likes() -> None:
    evidence = Evidence()
    for _ in range(600):
        evidence.claim_nothing("b")
        evidence.pass_ms(10)
    evidence.claim_nothing("a")
    lives = {name: Life(0, 6_000_000_000, 6_000_000_000) for name in "ab"}
    assert evidence.judge(Patience, lives=lives).verdict == "invalid"
    assert evidence.judge(Patience, lives=lives, even=False).verdict == "valid"


def test_l1_a_fault_that_holds_the_lock_is_a_reason_too() -> None:
    evidence = Evidence()
    busy(evidence, 5001)
    assert evidence.judge(Patience, holds=[(0, 1 << 60)]).verdict == "valid"


def test_l1_a_call_that_waits_for_longer_than_the_timeout() -> None:
    evidence = Evidence()
    evidence.invoke("a", "runs.claim_next", runner_id="a", claim_token="a/1", lease_ms=LEASE)
    evidence.pass_ms(6000)
    evidence.clock("a")
    evidence.ok("a", None)
    assert evidence.judge(Patience).verdict == "invalid"


def test_l1_a_longer_wait_with_a_reason_hides_no_other() -> None:
    evidence = Evidence()
    for number, waited_ms in enumerate((20_000, 6000)):
        token = f"a/{number}"
        evidence.invoke("a", "runs.claim_next", runner_id="a", claim_token=token, lease_ms=LEASE)
        evidence.pass_ms(waited_ms)
        evidence.clock("a")
        evidence.ok("a", None)
    found = evidence.judge(Patience, holds=[(0, 19_000_000_000)])
    assert (found.verdict, found.violation_count) == ("invalid", 1)
    assert found.details["longest_ms"] >= 20_000


def slow(evidence: Evidence, *, idle: bool = True) -> None:
    """A claim of `a` takes 6 s, while b is between two calls, or in one."""
    evidence.claim_nothing("b")
    if not idle:
        evidence.invoke("b", "runs.claim_next", runner_id="b", claim_token="b/2", lease_ms=LEASE)
    evidence.invoke("a", "runs.claim_next", runner_id="a", claim_token="a/1", lease_ms=LEASE)
    evidence.pass_ms(6000)
    evidence.clock("a")
    evidence.ok("a", None)
    if not idle:
        evidence.clock("b")
        evidence.ok("b", None)
    evidence.claim_nothing("b")


@pytest.mark.parametrize("held_ms, verdict", [(900, "invalid"), (1100, "valid")])
def test_l1_a_reason_excuses_as_much_as_it_took(held_ms: int, verdict: str) -> None:
    evidence = Evidence()
    slow(evidence)
    holds = [(2_000_000_000, (2000 + held_ms) * 1_000_000)]
    assert evidence.judge(Patience, holds=holds).verdict == verdict


@pytest.mark.parametrize("idle, verdict", [(True, "invalid"), (False, "valid")])
def test_l1_who_is_stopped_between_two_calls_stops_nobody_else(idle: bool, verdict: str) -> None:
    evidence = Evidence()
    slow(evidence, idle=idle)
    stop = (1_000_000_000, 3_000_000_000)
    found = evidence.judge(Patience, pauses=[("b", *stop)])
    assert found.verdict == verdict
    assert evidence.judge(Patience, pauses=[("a", *stop)]).verdict == "valid"
    # Who prunes holds the lock, and makes no call that is recorded.
    assert evidence.judge(Patience, pauses=[("b", *stop)], pruned=True).verdict == "valid"


def test_l1_a_fault_that_is_over_is_no_reason_for_a_busy_answer() -> None:
    evidence = Evidence()
    evidence.pass_ms(1000)
    busy(evidence, 5001)
    assert evidence.judge(Patience, holds=[(0, 1_100_000_000)]).verdict == "invalid"
    assert evidence.judge(Patience, holds=[(0, 1_600_000_000)]).verdict == "valid"


@pytest.mark.parametrize("still_ms, verdict", [(500, "invalid"), (2000, "unknown")])
def test_l1_nothing_is_decided_by_times_in_which_the_machine_stood_still(
    still_ms: int, verdict: str
) -> None:
    evidence = Evidence()
    slow(evidence)
    still = [(2_000_000_000, (2000 + still_ms) * 1_000_000)]
    found = evidence.judge(Patience, still=still)
    assert found.verdict == verdict
    assert found.details["still_ms"] == still_ms


@pytest.mark.parametrize("every, verdict", [(2, "valid"), (100, "invalid")])
def test_l1_a_worker_that_starves(every: int, verdict: str) -> None:
    evidence = Evidence()
    for number in range(1000):
        evidence.claim_nothing("a")
        if number % every == 0:
            evidence.claim_nothing("b")
        evidence.pass_ms(10)
    found = evidence.judge(Patience)
    assert found.verdict == verdict
    assert found.details["jain"] < (1 if verdict == "valid" else 0.6)


def hung(evidence: Evidence) -> None:
    """A claim that read the clock, and never came back; the others go on for 6 s."""
    evidence.invoke("b", "runs.claim_next", runner_id="b", claim_token="b/1", lease_ms=LEASE)
    evidence.clock("b")
    for _ in range(600):
        evidence.claim_nothing("a")
        evidence.pass_ms(10)


def test_l1_a_call_that_hangs_at_the_end() -> None:
    evidence = Evidence()
    evidence.claim_nothing("b")
    hung(evidence)
    assert objecting(evidence) == {"L1"}
    found = evidence.judge(Patience)
    assert "had not returned after 5992 ms" in found.reason
    assert evidence.judge(Patience, holds=[(0, 1 << 60)]).verdict == "valid"


@pytest.mark.parametrize("killed_after_ms, verdict", [(2000, "valid"), (5500, "invalid")])
def test_l1_a_call_whose_process_was_killed_hung_until_then(
    killed_after_ms: int, verdict: str
) -> None:
    evidence = Evidence()
    hung(evidence)
    gone = killed_after_ms * 1_000_000
    assert evidence.judge(Patience, lives={"b": Life(0, gone, gone)}).verdict == verdict


def test_l1_a_worker_that_gets_nothing_at_all() -> None:
    evidence = Evidence()
    for _ in range(350):
        evidence.claim_nothing("a")
        evidence.claim_nothing("c")
        evidence.pass_ms(10)
    assert evidence.judge(Patience).verdict == "valid"
    end = 3_500_000_000
    lives = {process: Life(0, end, end) for process in "abc"}
    found = evidence.judge(Patience, lives=lives)
    assert (found.verdict, found.violation_count) == ("invalid", 1)
    assert "b starves: nothing for 3500 ms, in which others had" in found.reason
    assert found.details["jain"] == pytest.approx(2 / 3, abs=0.001)
    # One that came when the load was over has nothing to complain about.
    assert evidence.judge(Patience, lives={"b": Life(end, end, end * 2)}).verdict == "valid"


@pytest.mark.parametrize("stopped, verdict", [(False, "invalid"), (True, "valid")])
def test_l1_a_stretch_without_anything_in_a_long_life(stopped: bool, verdict: str) -> None:
    evidence = Evidence()
    for number in range(2000):
        evidence.claim_nothing("a")
        if not 800 <= number < 1200:
            evidence.claim_nothing("b")
        evidence.pass_ms(10)
    pauses = [("b", 8_000_000_000, 10_000_000_000)] if stopped else []
    found = evidence.judge(Patience, pauses=pauses)
    assert found.verdict == verdict
    assert stopped or "b starves: nothing for 40" in found.reason


def test_l1_a_stretch_in_which_the_machine_stood_still_is_not_decided() -> None:
    evidence = Evidence()
    for number in range(1200):
        evidence.claim_nothing("a")
        if number < 800:
            evidence.claim_nothing("b")
        evidence.pass_ms(10)
    evidence.claim_nothing("b")
    assert evidence.judge(Patience).verdict == "invalid"
    still = [(9_000_000_000, 10_500_000_000)]
    found = evidence.judge(Patience, still=still)
    assert found.verdict == "unknown"
    assert "b starves" in found.reason
    assert "the machine let nobody work" in found.reason


@pytest.mark.parametrize("end_of", ["first", "last"])
def test_l1_a_stretch_at_the_beginning_or_the_end(end_of: str) -> None:
    evidence = Evidence()
    for number in range(1000):
        evidence.claim_nothing("a")
        if (number >= 400) == (end_of == "first"):
            evidence.claim_nothing("b")
        evidence.pass_ms(10)
    assert evidence.judge(Patience).verdict == "valid"
    end = 10_000_000_000
    found = evidence.judge(Patience, lives={"b": Life(0, end, end)})
    assert "b starves: nothing for" in found.reason


def test_l1_percentiles_are_good_to_two_per_cent() -> None:
    evidence = Evidence()
    for ms in range(1, 101):
        evidence.invoke("a", "runs.claim_next", runner_id="a", claim_token=f"{ms}", lease_ms=LEASE)
        evidence.pass_ms(ms * 10)
        evidence.clock("a")
        evidence.ok("a", None)
    found = evidence.judge(Patience).details
    for percent in (50, 95, 99):
        assert found[f"p{percent}_ms"] == pytest.approx(percent * 10, rel=0.02)
