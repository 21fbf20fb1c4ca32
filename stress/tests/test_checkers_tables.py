"""E1, W1, O1, S2, A1 and C2 pass what is right, and object to what breaks just them."""

from __future__ import annotations

import pytest
from evidence import LEASE, Evidence, objecting
from tables import Tables

from fencepost_stress.checkers.a1_refused import Refused
from fencepost_stress.checkers.c2_freed import Freed
from fencepost_stress.checkers.e1_once import Once
from fencepost_stress.checkers.o1_order import Order
from fencepost_stress.checkers.s2_takeover import BOUND_MS, Takeover
from fencepost_stress.checkers.w1_feed import Feed
from fencepost_stress.operations import Op, Seen
from fencepost_stress.rows import RUNS

# E1


def test_e1_one_creates_and_the_others_find() -> None:
    evidence = Tables()
    evidence.put("a", "k", "s1")
    evidence.reserve("a", "e", "fp")
    evidence.reserve("b", "e", "fp")
    evidence.update_effect("a", "e", "applied", "ref-1")
    evidence.update_effect("b", "e", "applied", "ref-2")
    evidence.update_effect("b", "e", "pending", "ref-3", refusal="effect_terminal")
    found = evidence.judge(Once)
    assert (found.verdict, found.exercised) == ("valid", 4)
    assert objecting(evidence) == set()


def test_e1_two_are_told_that_they_created_it() -> None:
    evidence = Tables()
    evidence.put("a", "k", "s1")
    evidence.reserve("a", "e", "fp")
    evidence.reserve("b", "e", "fp", created=True)
    assert evidence.judge(Once).verdict == "invalid"


def test_e1_nobody_is_told_that_he_created_it() -> None:
    evidence = Tables()
    evidence.put("a", "k", "s1")
    evidence.reserve("a", "e", "fp", created=False, insert=True)
    assert {"R1"} <= objecting(evidence)


def test_e1_a_final_state_that_changes() -> None:
    evidence = Tables()
    evidence.put("a", "k", "s1")
    evidence.reserve("a", "e", "fp")
    evidence.update_effect("a", "e", "applied", "ref-1")
    evidence.update_effect("b", "e", "rejected", "ref-2")
    assert evidence.judge(Once).verdict == "invalid"
    assert objecting(evidence) == {"E1", "R1"}


def test_e1_a_killed_reservation_is_found_by_its_row() -> None:
    evidence = Tables()
    evidence.put("a", "k", "s1")
    evidence.reserve("b", "e", "fp")
    evidence.records["b"].pop()
    evidence.reserve("a", "e", "fp")
    assert objecting(evidence) == set()


# W1


def test_w1_pages_and_watermarks() -> None:
    evidence = Tables()
    for number in range(5):
        evidence.record("a", f"t{number}")
    evidence.read("b", 0, 3, [1, 2, 3])
    evidence.watermark("b", 3)
    evidence.read("b", 3, 3, [4, 5])
    evidence.watermark("c", 2)
    evidence.read_watermark("b", 3)
    found = evidence.judge(Feed)
    assert (found.verdict, found.exercised) == ("valid", 5)
    assert objecting(evidence) == set()


@pytest.mark.parametrize("page", [[1, 3], [2, 1], [1, 1, 2], [2, 3], []])
def test_w1_a_page_with_a_gap_or_a_repeat(page: list[int]) -> None:
    evidence = Tables()
    for number in range(3):
        evidence.record("a", f"t{number}")
    evidence.read("b", 0, 5, page)
    assert evidence.judge(Feed).verdict == "invalid"
    assert objecting(evidence) == {"W1", "R1"}


def test_w1_a_page_that_overlaps_a_commit_may_end_before_it() -> None:
    evidence = Tables()
    evidence.record("a", "t1")
    evidence.invoke("b", "feed.after", seq=0, limit=5)
    evidence.record("a", "t2")
    evidence.ok("b", [evidence.event(1)])
    assert evidence.judge(Feed).verdict == "valid"


def test_w1_numbers_that_do_not_grow_with_the_commits() -> None:
    evidence = Tables()
    evidence.record("a", "t1", seq=2)
    evidence.record("a", "t2", seq=1)
    assert evidence.judge(Feed).verdict == "invalid"


def test_w1_a_watermark_that_moves_back() -> None:
    evidence = Tables()
    evidence.record("a", "t1")
    evidence.watermark("a", 1)
    evidence.watermark("b", 0, shown=0)
    assert evidence.judge(Feed).verdict == "invalid"


def test_w1_a_reader_who_is_told_an_old_watermark() -> None:
    evidence = Tables()
    evidence.watermark("a", 4)
    evidence.read_watermark("b", 3)
    assert objecting(evidence) == {"W1", "R1"}


# O1


def parked(evidence: Evidence, *runs: tuple[str, str]) -> None:
    for process, run_id in runs:
        token = evidence.enqueue(process, run_id)
        evidence.end(process, "runs.park", run_id, token)
        evidence.now += 1


def test_o1_age_then_affinity() -> None:
    evidence = Evidence()
    parked(evidence, ("a", "r1"), ("b", "r2"), ("a", "r3"))
    evidence.claim("b", "r2")
    evidence.claim("b", "r1")
    evidence.claim("c", "r3")
    found = evidence.judge(Order)
    assert (found.verdict, found.exercised) == ("valid", 3)


@pytest.mark.parametrize("process, run_id", [("c", "r2"), ("b", "r1"), ("a", "r3")])
def test_o1_the_wrong_run(process: str, run_id: str) -> None:
    evidence = Evidence()
    parked(evidence, ("a", "r1"), ("b", "r2"), ("a", "r3"))
    evidence.claim(process, run_id)
    assert evidence.judge(Order).verdict == "invalid"
    assert objecting(evidence) == {"O1", "R1"}


def test_o1_the_wrong_key() -> None:
    evidence = Evidence()
    evidence.put("a", "k1", "s1")
    evidence.now += 1
    evidence.put("a", "k2", "s2")
    evidence.claim_key("a", "k2")
    assert evidence.judge(Order).verdict == "invalid"


# S2


def test_s2_a_takeover_in_time() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.now += LEASE + 40
    evidence.claim("b", "r1")
    found = evidence.judge(Takeover)
    assert (found.verdict, found.exercised, found.details["max_ms"]) == ("valid", 1, 40)


def late_takeover(*, somebody_asks: bool, older: bool = False) -> Evidence:
    """The lease of r1 ends, and r0 is claimed again and again."""
    evidence = Evidence()
    if older:
        parked(evidence, ("a", "r0"))
        evidence.now += 1
        evidence.enqueue("a", "r1")
    else:
        evidence.enqueue("a", "r1")
        evidence.now += 1
        parked(evidence, ("a", "r0"))
    evidence.now += LEASE
    token = evidence.claim("b", "r0")
    for _ in range(BOUND_MS // 200 + 1):
        evidence.now += 200
        if somebody_asks:
            evidence.end("b", "runs.park", "r0", token)
            token = evidence.claim("b", "r0")
    evidence.claim("b", "r1")
    return evidence


def test_s2_a_takeover_that_comes_too_late() -> None:
    assert late_takeover(somebody_asks=True).judge(Takeover).verdict == "invalid"


def test_s2_a_takeover_is_too_late_however_many_ask() -> None:
    """8,000 calls a second: more than are kept one by one."""
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    ended = evidence.now + LEASE
    evidence.now = ended + 15_000
    evidence.claim("b", "r1")
    first, *rest = evidence.events()
    checker = Takeover()
    checker.feed([first])
    for number in range(120_000):
        # Each may have asked after the takeover, so none is wrong by itself.
        op = Op("b", number, "runs.claim_next", {}, 0, "ok", low=1, high=2)
        op.clock = [(0, ended + number // 8)]
        checker.feed([Seen(op)])
    checker.feed(rest)
    assert "15000 ms after its lease had ended" in checker.finish(evidence.ending()).reason


def test_s2_what_is_older_goes_first_however_often() -> None:
    evidence = late_takeover(somebody_asks=True, older=True)
    assert evidence.judge(Takeover).verdict == "valid"


def test_s2_whoever_is_refused_for_want_of_room_takes_nothing_over() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.now += LEASE
    for number in range(BOUND_MS // 200 + 1):
        evidence.now += 200
        wanted = {"runner_id": "b", "claim_token": f"t{number}", "lease_ms": LEASE}
        evidence.invoke("b", "runs.claim_next", **wanted)
        evidence.clock("b")
        evidence.fail("b", "full")
    evidence.claim("b", "r1")
    assert evidence.judge(Takeover).verdict == "valid"


def test_s2_nobody_takes_over_when_nobody_asks() -> None:
    assert late_takeover(somebody_asks=False).judge(Takeover).verdict == "valid"


@pytest.mark.parametrize("past, verdict", [(-1, "unknown"), (0, "invalid")])
def test_s2_a_worker_that_is_told_there_is_nothing(past: int, verdict: str) -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.now += LEASE + past
    evidence.claim_nothing("b")
    assert evidence.judge(Takeover).verdict == verdict


# A1


def test_a1_a_refused_call_that_changed_a_row() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.end("a", "runs.park", "r1", token)
    evidence.records["a"].pop()
    evidence.fail("a", "busy")
    assert evidence.judge(Refused).verdict == "invalid"


def test_a1_a_lost_token_that_changed_a_row() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.end("a", "runs.park", "r1", token)
    evidence.records["a"].pop()
    evidence.ok("a", False)
    assert evidence.judge(Refused).verdict == "invalid"
    assert objecting(evidence) == {"A1", "R1"}


def test_a1_a_refused_renewal_that_renewed() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.renew("a", "r1", token, LEASE + 1)
    evidence.records["a"].pop()
    evidence.fail("a", "busy")
    assert evidence.judge(Refused).verdict == "invalid"


def test_a1_another_change_of_the_row_is_not_what_a_renewal_asked_for() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.invoke("a", "runs.renew", run_id="r1", claim_token=token, lease_ms=LEASE + 1)
    evidence.clock("a")
    row = evidence.run("r1")._replace(claim_expires_at=evidence.now + 7)
    evidence.change(RUNS, ("r1",), row)
    evidence.ok("a", False)
    assert evidence.judge(Refused).verdict == "valid"


def test_a1_a_claim_that_found_nothing_and_took_a_key() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s")
    evidence.claim_key("b", "k")
    evidence.records["b"].pop()
    evidence.ok("b", None)
    found = evidence.judge(Refused)
    assert found.verdict == "invalid"
    assert "made by nobody else" in found.reason


def test_a1_a_refused_reservation_that_is_there() -> None:
    evidence = Tables()
    evidence.reserve("a", "e", "f")
    evidence.records["a"].pop()
    evidence.fail("a", "unknown_resource")
    assert evidence.judge(Refused).verdict == "invalid"


def test_a1_what_nobody_asked_for_is_another_property() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.enqueue("b", "r2")
    evidence.renew("a", "r1", token, LEASE + 1)
    del evidence.records["a"][-3:]
    evidence.invoke("b", "runs.renew", run_id="r2", claim_token="b/r2", lease_ms=LEASE + 2)
    evidence.clock("b")
    evidence.fail("b", "busy")
    assert evidence.judge(Refused).verdict == "valid"
    assert "R1" in objecting(evidence)


def test_a1_a_batch_that_changed_more_than_it_says() -> None:
    evidence = Tables()
    tokens = [(run_id, evidence.enqueue("a", run_id)) for run_id in ("r1", "r2")]
    evidence.complete_many("a", tokens, [True, False], [True, True])
    assert evidence.judge(Refused).verdict == "invalid"


def test_a1_a_batch_that_is_refused_in_part() -> None:
    evidence = Tables()
    tokens = [(run_id, evidence.enqueue("a", run_id)) for run_id in ("r1", "r2")]
    evidence.complete_many("a", [tokens[0], ("r2", "old")], [True, False], [True, False])
    assert objecting(evidence) == set()


# C2


def freed_slot() -> Evidence:
    evidence = Evidence()
    token = evidence.enqueue("a", "c1", parent="p")
    evidence.end("a", "runs.delete", "c1", token)
    return evidence


def refused_continuation(evidence: Evidence, process: str) -> None:
    evidence.invoke(
        process,
        "runs.enqueue",
        run_id="late",
        workflow_name="w",
        workflow_source_ref="s",
        input=None,
        runner_id=process,
        claim_token=f"{process}/late",
        lease_ms=LEASE,
        parent_run_id="p",
    )
    evidence.clock(process)
    evidence.fail(process, "continuation_exists")


def test_c2_one_other_takes_the_slot() -> None:
    evidence = freed_slot()
    evidence.enqueue("b", "c2", parent="p")
    refused_continuation(evidence, "c")
    found = evidence.judge(Freed)
    assert (found.verdict, found.exercised) == ("valid", 1)
    assert objecting(evidence) == set()


def test_c2_two_others_take_it() -> None:
    evidence = freed_slot()
    evidence.enqueue("b", "c2", parent="p")
    evidence.enqueue("c", "c3", parent="p")
    assert evidence.judge(Freed).verdict == "invalid"


def test_c2_nobody_gets_it() -> None:
    evidence = freed_slot()
    refused_continuation(evidence, "b")
    assert evidence.judge(Freed).verdict == "invalid"
