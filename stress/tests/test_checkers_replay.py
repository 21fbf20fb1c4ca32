"""R1: the reference model explains every result, and objects to what no correct store gives."""

from __future__ import annotations

from evidence import LEASE, Evidence, drained, objecting

from fencepost_stress.checkers.r1_replay import Replay
from fencepost_stress.history import Ok
from fencepost_stress.rows import RUNS


def test_r1_an_empty_claim_while_a_run_is_claimable() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.end("a", "runs.park", "r1", token)
    evidence.claim_nothing("b")
    assert objecting(evidence) == {"R1", "S1"}


def test_r1_says_what_is_wrong_in_words() -> None:
    evidence = Evidence()
    for run_id in ("r1", "r2"):
        token = evidence.enqueue("a", run_id)
        evidence.end("a", "runs.park", run_id, token)
        evidence.now += 1
    token = evidence.claim("b", "r2")
    evidence.refused("a", "runs.verify", "r1", "a/r1", result=True)
    evidence.end("b", "runs.complete", "r2", token)
    evidence.claim_nothing("a")
    messages = [violation.message for violation in evidence.judge(Replay).violations]
    assert len(messages) == 3
    assert not [message for message in messages if "Row(" in message or len(message) > 600]
    wrong, verified, nothing = messages
    assert wrong.startswith(
        "runs.claim_next did what it should not: workflow_run_queue r1 should have been changed "
        "(status 'parked' -> 'claimed', runner_id nothing -> 'b'"
    )
    assert "workflow_run_queue r2 was changed" in wrong
    assert verified.startswith("runs.verify was told True, which is right nowhere between")
    assert verified.endswith("at first due was False")
    assert nothing.startswith("runs.claim_next was told nothing, which is right nowhere between")
    assert "due was workflow_run_queue r1 changed (status 'parked' -> 'claimed'" in nothing


def test_r1_an_empty_claim_that_overlaps_the_parking_is_explained() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.invoke("b", "runs.claim_next", runner_id="b", claim_token="b/1", lease_ms=LEASE)
    evidence.clock("b")
    evidence.end("a", "runs.park", "r1", token)
    evidence.ok("b", None)
    assert evidence.judge(Replay).verdict == "valid"


def test_r1_the_wrong_run_first() -> None:
    evidence = Evidence()
    for run_id in ("r1", "r2"):
        token = evidence.enqueue("a", run_id)
        evidence.end("a", "runs.park", run_id, token)
        evidence.now += 1
    evidence.claim("a", "r2")
    assert evidence.judge(Replay).verdict == "invalid"


def test_r1_affinity_comes_before_age() -> None:
    evidence = Evidence()
    for process, run_id in (("a", "r1"), ("b", "r2")):
        token = evidence.enqueue(process, run_id)
        evidence.end(process, "runs.park", run_id, token)
        evidence.now += 1
    evidence.claim("b", "r2")
    assert evidence.judge(Replay).verdict == "valid"


def test_r1_a_result_that_is_not_what_was_committed() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    records = evidence.records["a"]
    told = records[-1]
    assert isinstance(told, Ok)
    records[-1] = Ok(told.mono, 1, {**told.result, "status": "parked"})
    assert objecting(evidence) >= {"R1"}


def test_r1_a_refusal_that_changed_something() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1", parent="p")
    evidence.records["a"].pop()
    evidence.fail("a", "continuation_exists")
    assert {"R1", "C1"} <= objecting(evidence)


def test_r1_a_busy_answer_explains_itself() -> None:
    evidence = drained()
    evidence.invoke("a", "runs.claim_next", runner_id="a", claim_token="a/9", lease_ms=LEASE)
    evidence.fail("a", "busy")
    assert objecting(evidence) == {"L1"}


def test_r1_an_unknown_outcome_is_resolved_either_way() -> None:
    for committed in (True, False):
        evidence = drained()
        evidence.enqueue("b", "r2")
        evidence.records["b"].pop()
        if not committed:
            evidence.changes.pop()
            del evidence.tables[RUNS][("r2",)]
        else:
            evidence.now += LEASE
            token = evidence.claim("a", "r2")
            evidence.end("a", "runs.complete", "r2", token)
        assert objecting(evidence) == set()


def test_a_killed_claim_of_a_key_is_found_by_its_expiry() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    evidence.claim_key("b", "k")
    evidence.records["b"].pop()
    evidence.now += LEASE
    claim = evidence.claim_key("a", "k")
    evidence.settle("a", claim)
    evidence.claim_no_key("a")
    assert objecting(evidence) == set()
