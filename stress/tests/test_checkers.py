"""Each checker passes what is right, and objects to exactly what breaks its promise."""

from __future__ import annotations

import pytest
from evidence import LEASE, Evidence, drained, objecting

from fencepost_stress.checkers import CHECKERS
from fencepost_stress.checkers.base import Checker
from fencepost_stress.checkers.c1_continuation import Continuation
from fencepost_stress.checkers.d1_durable import Durable
from fencepost_stress.checkers.f1_overlap import Overlap
from fencepost_stress.checkers.f2_stale import Stale
from fencepost_stress.checkers.f3_expired import Expired
from fencepost_stress.checkers.f4_fences import Fences
from fencepost_stress.checkers.i1_integrity import Integrity
from fencepost_stress.checkers.q1_wakeups import Wakeups
from fencepost_stress.checkers.q2_events import Events
from fencepost_stress.checkers.s1_drained import Drained
from fencepost_stress.rows import QUEUE, RUNS, Change
from fencepost_stress.times import text_of


def test_a_correct_run_is_valid_for_every_property_that_it_exercises() -> None:
    findings = {found.id: found for found in map(drained().judge, CHECKERS)}
    reasons = {id: found.reason for id, found in findings.items() if found.verdict != "valid"}
    assert reasons == dict.fromkeys(("F4", "C1", "C2", "Q3", "E1", "W1", "P1"), "never exercised")


@pytest.mark.parametrize("make", CHECKERS)
def test_a_property_that_was_never_exercised_is_unknown(make: type[Checker]) -> None:
    found = Evidence().judge(make, wal_samples=0)
    assert (found.verdict, found.exercised, found.reason) == ("unknown", 0, "never exercised")


# F1


def test_f1_a_claim_of_a_run_that_is_live() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.now += LEASE - 1
    evidence.claim("b", "r1")
    assert evidence.judge(Overlap).verdict == "invalid"


def test_f1_a_lease_that_ends_now_is_over() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.now += LEASE
    evidence.claim("b", "r1")
    assert evidence.judge(Overlap).verdict == "valid"


def test_f1_a_claim_of_a_key_that_is_live() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s")
    evidence.claim_key("a", "k")
    evidence.claim_key("b", "k")
    assert evidence.judge(Overlap).verdict == "invalid"


def test_f1_a_killed_claimer_is_judged_by_its_row() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.claim("b", "r1")
    evidence.records["b"].pop()
    assert evidence.judge(Overlap).verdict == "invalid"


# F2


@pytest.mark.parametrize(
    "name", ["runs.renew", "runs.verify", "runs.park", "runs.complete", "runs.delete"]
)
def test_f2_a_lost_token_that_succeeds(name: str) -> None:
    evidence = Evidence()
    first = evidence.enqueue("a", "r1")
    evidence.now += LEASE
    evidence.claim("b", "r1")
    evidence.refused("a", name, "r1", first, result=True)
    assert evidence.judge(Stale).verdict == "invalid"


def test_f2_a_lost_token_that_ends_another_claim() -> None:
    evidence = Evidence()
    first = evidence.enqueue("a", "r1")
    evidence.now += LEASE
    evidence.claim("b", "r1")
    evidence.end("a", "runs.complete", "r1", first)
    assert evidence.judge(Stale).verdict == "invalid"


def test_f2_a_call_that_overlaps_the_loss_may_have_come_first() -> None:
    evidence = Evidence()
    first = evidence.enqueue("a", "r1")
    evidence.now += LEASE - 1
    evidence.invoke("a", "runs.verify", run_id="r1", claim_token=first)
    evidence.clock("a")
    evidence.now += 1
    evidence.claim("b", "r1")
    evidence.ok("a", True)
    found = evidence.judge(Stale)
    assert found.violation_count == 0
    assert not objecting(evidence) & {"F2", "F3", "R1"}


# F3


def test_f3_an_expired_lease_that_is_renewed() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.now += LEASE
    evidence.renew("a", "r1", token)
    assert evidence.judge(Expired).verdict == "invalid"


def test_f3_an_expired_lease_that_is_verified() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.now += LEASE
    evidence.refused("a", "runs.verify", "r1", token, result=True)
    assert evidence.judge(Expired).verdict == "invalid"


# F4


@pytest.mark.parametrize("later, verdict", [(8, "valid"), (7, "invalid"), (3, "invalid")])
def test_f4_fences_grow(later: int, verdict: str) -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.now += LEASE
    evidence.claim("b", "r1", fence=7)
    evidence.now += LEASE
    evidence.claim("a", "r1", fence=later)
    assert evidence.judge(Fences).verdict == verdict


# C1


def refused_continuation(evidence: Evidence, process: str, code: str, parent: str = "p") -> None:
    evidence.invoke(
        process,
        "runs.enqueue",
        run_id=f"{process}-late",
        workflow_name="w",
        workflow_source_ref="s",
        input=None,
        runner_id=process,
        claim_token=f"{process}/late",
        lease_ms=LEASE,
        parent_run_id=parent,
    )
    evidence.clock(process)
    evidence.fail(process, code)


def test_c1_one_continuation_and_refused_racers() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "c1", parent="p")
    refused_continuation(evidence, "b", "continuation_exists")
    found = evidence.judge(Continuation)
    assert (found.verdict, found.exercised) == ("valid", 1)


def test_c1_two_continuations() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "c1", parent="p")
    evidence.enqueue("b", "c2", parent="p")
    assert evidence.judge(Continuation).verdict == "invalid"


def test_c1_a_deleted_continuation_frees_the_slot() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "c1", parent="p")
    evidence.end("a", "runs.delete", "c1", token)
    evidence.enqueue("b", "c2", parent="p")
    assert evidence.judge(Continuation).violation_count == 0


def test_c1_a_refusal_without_reason() -> None:
    evidence = Evidence()
    refused_continuation(evidence, "b", "continuation_exists")
    assert evidence.judge(Continuation).verdict == "invalid"


def test_c1_a_refusal_that_overlaps_the_winner_is_founded() -> None:
    evidence = Evidence()
    evidence.invoke(
        "b",
        "runs.enqueue",
        run_id="c2",
        workflow_name="w",
        workflow_source_ref="s",
        input=None,
        runner_id="b",
        claim_token="b/c2",
        lease_ms=LEASE,
        parent_run_id="p",
    )
    evidence.enqueue("a", "c1", parent="p")
    evidence.clock("b")
    evidence.fail("b", "continuation_exists")
    assert evidence.judge(Continuation).verdict == "valid"
    assert "R1" not in objecting(evidence)


def test_c1_a_refusal_of_another_kind() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "c1", parent="p")
    refused_continuation(evidence, "b", "internal")
    assert evidence.judge(Continuation).verdict == "invalid"


# S1


def test_s1_a_stranded_run() -> None:
    evidence = drained()
    evidence.enqueue("a", "r2")
    evidence.now += LEASE
    evidence.claim_nothing("b")
    assert evidence.judge(Drained).verdict == "invalid"


def test_s1_a_run_that_nobody_asked_for_is_unknown() -> None:
    evidence = drained()
    evidence.enqueue("a", "r2")
    evidence.claim_nothing("b")
    assert evidence.judge(Drained).verdict == "unknown"


def test_s1_a_run_done_twice() -> None:
    evidence = drained()
    token = evidence.claim("a", "r1")
    evidence.end("a", "runs.complete", "r1", token)
    assert evidence.judge(Drained).verdict == "invalid"


def test_s1_a_run_that_is_gone() -> None:
    evidence = drained()
    del evidence.tables[RUNS][("r1",)]
    assert {"S1", "D1"} <= objecting(evidence)


def test_s1_a_run_that_nobody_enqueued() -> None:
    evidence = drained()
    row = evidence.run("r1")._replace(run_id="ghost", claim_token="ghost")
    evidence.change(RUNS, ("ghost",), row)
    assert {"S1", "R1"} <= objecting(evidence)


# Q1, Q2


def test_q1_a_settle_that_swallows_an_event() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    claim = evidence.claim_key("b", "k")
    evidence.put("a", "k", "s2")
    evidence.settle("b", claim)
    assert evidence.judge(Wakeups).verdict == "invalid"
    assert evidence.judge(Events).verdict == "invalid"


def test_q1_a_key_that_is_left_although_somebody_asked() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    evidence.claim_no_key("b")
    assert evidence.judge(Wakeups).verdict == "invalid"


def test_q1_a_key_that_nobody_asked_for_is_unknown() -> None:
    evidence = Evidence()
    evidence.claim_no_key("b")
    evidence.put("a", "k", "s1")
    assert evidence.judge(Wakeups).verdict == "unknown"


def test_q2_a_requeue_that_puts_an_event_off() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    claim = evidence.claim_key("b", "k")
    evidence.put("a", "k", "s2")
    later = evidence.now + 5000
    evidence.invoke("b", "queue.requeue", claim=claim, available_at=text_of(later))
    evidence.change(QUEUE, ("c", "k"), evidence.lift("k", available_at=later))
    evidence.ok("b", True)
    assert evidence.judge(Events).verdict == "invalid"
    assert "R1" in objecting(evidence)


def test_q2_two_rows_of_one_key() -> None:
    evidence = drained()
    evidence.put("a", "k", "s3")
    row = evidence.key("k")
    evidence.changes.append(Change(len(evidence.changes) + 1, QUEUE, None, row))
    assert evidence.judge(Events).verdict == "invalid"


# D1


def test_d1_an_acknowledged_call_without_a_commit() -> None:
    evidence = drained()
    evidence.enqueue("a", "r2")
    evidence.changes.pop()
    del evidence.tables[RUNS][("r2",)]
    assert evidence.judge(Durable).verdict == "invalid"


def test_d1_a_killed_call_without_a_commit_is_no_loss() -> None:
    evidence = drained()
    evidence.enqueue("b", "r2")
    evidence.records["b"].pop()
    evidence.changes.pop()
    del evidence.tables[RUNS][("r2",)]
    assert objecting(evidence) == set()


def test_d1_an_acknowledged_enqueue_of_a_key_without_a_commit() -> None:
    evidence = drained()
    evidence.invoke("a", "queue.enqueue", controller="c", key="k")
    evidence.clock("a")
    evidence.ok("a", None)
    assert evidence.judge(Durable).verdict == "invalid"


def test_d1_a_commit_that_was_lost_in_between() -> None:
    evidence = drained()
    lost = evidence.changes[1]
    evidence.changes = [
        change._replace(seq=number)
        for number, change in enumerate((c for c in evidence.changes if c is not lost), start=1)
    ]
    assert evidence.judge(Durable).verdict == "invalid"


def test_d1_a_gap_in_the_witness() -> None:
    evidence = drained()
    evidence.changes[-1] = evidence.changes[-1]._replace(seq=len(evidence.changes) + 1)
    assert evidence.judge(Durable).verdict == "invalid"


def test_d1_a_row_that_is_not_as_it_was_left() -> None:
    evidence = drained()
    evidence.tables[RUNS][("r1",)] = evidence.run("r1")._replace(status="parked")
    assert evidence.judge(Durable).verdict == "invalid"


# I1


@pytest.mark.parametrize(
    "found",
    [{"integrity": ["row 1 missing"]}, {"foreign_keys": ["queue 1"]}, {"wal_peak_bytes": 2}],
)
def test_i1_damage(found: dict[str, object]) -> None:
    assert Evidence().judge(Integrity, **found).verdict == "invalid"
