"""Joining where a call is refused, or nobody knows how it ended, and is made once more."""

from __future__ import annotations

import pytest
from evidence import LEASE, Evidence, objecting

from fencepost_stress.checkers.a1_refused import Refused
from fencepost_stress.checkers.r1_replay import Replay
from fencepost_stress.identity import OWNED
from fencepost_stress.operations import Commit
from fencepost_stress.rows import (
    QUEUE,
    RESOURCES,
    RUNS,
    WATERMARKS,
    QueueRow,
    ResourceRow,
    RunRow,
    WatermarkRow,
)
from fencepost_stress.times import text_of

KEY = (OWNED, "k")


def owners(evidence: Evidence) -> list[tuple[str, int] | None]:
    return [
        (event.op.process, event.op.n) if event.op else None
        for event in evidence.events()
        if isinstance(event, Commit)
    ]


def with_key() -> Evidence:
    """The worker `a` has a key of its own, which is not in the queue."""
    evidence = Evidence()
    spec = {"token": "s1"}
    evidence.invoke("a", "resources.put", controller=OWNED, key="k", spec=spec, initial_status={})
    evidence.clock("a")
    status = '{"conditions":[],"controllerStatus":{},"observedGeneration":0}'
    stamp = text_of(evidence.now)
    row = ResourceRow(*KEY, "uid", 1, 1, '{"token":"s1"}', status, None, "[]", stamp)
    evidence.change(RESOURCES, KEY, row)
    wake(evidence)
    result = {
        "metadata": {
            "uid": "uid",
            "controller": OWNED,
            "key": "k",
            "resource_version": 1,
            "generation": 1,
            "finalizers": [],
        },
        "spec": spec,
        "status": {"observed_generation": 0, "conditions": [], "controller_status": {}},
    }
    evidence.ok("a", result)
    leave(evidence)
    return evidence


def wake(evidence: Evidence) -> None:
    before = evidence.tables[QUEUE].get(KEY)
    row = QueueRow(*KEY, evidence.now, 1, 0, None, None, None, None)
    if isinstance(before, QueueRow):
        due = min(before.available_at, evidence.now)
        row = before._replace(version=before.version + 1, available_at=due)
    evidence.change(QUEUE, KEY, row)


def leave(evidence: Evidence) -> None:
    """The key is claimed and settled: it leaves the queue."""
    token = f"token-{len(evidence.changes)}"
    row = evidence.tables[QUEUE][KEY]
    assert isinstance(row, QueueRow)
    expires = evidence.now + LEASE
    evidence.invoke("z", "queue.claim_next", controllers=[OWNED], lease_ms=LEASE)
    evidence.clock("z")
    claimed = row._replace(claim_token=token, claim_version=row.version, claim_expires_at=expires)
    evidence.change(QUEUE, KEY, claimed)
    claim = {
        "controller": OWNED,
        "key": "k",
        "token": token,
        "queue_version": row.version,
        "consecutive_errors": 0,
        "expires_at": text_of(expires),
    }
    evidence.ok("z", claim)
    evidence.invoke("z", "queue.settle", claim=claim)
    evidence.clock("z")
    evidence.change(QUEUE, KEY, None)
    evidence.ok("z", True)


def call(evidence: Evidence) -> None:
    """`a` enqueues its key; how it ends is for the test to say."""
    evidence.now += 10
    evidence.invoke("a", "queue.enqueue_many", items=[list(KEY)])
    evidence.clock("a")


def refused(evidence: Evidence) -> None:
    call(evidence)
    evidence.fail("a", "full")


def lost(evidence: Evidence, *, took_effect: bool) -> None:
    call(evidence)
    if took_effect:
        wake(evidence)
    evidence.info("a", "io")


def accepted(evidence: Evidence) -> None:
    call(evidence)
    wake(evidence)
    evidence.ok("a", [None])


@pytest.mark.parametrize("refusals", [1, 2])
def test_a_refused_enqueue_leaves_the_change_to_the_next_one(refusals: int) -> None:
    """The disk was full, so nobody committed in between: nothing else tells them apart."""
    evidence = with_key()
    for _ in range(refusals):
        refused(evidence)
    accepted(evidence)
    leave(evidence)
    accepted(evidence)
    leave(evidence)
    assert [owner for owner in owners(evidence)[4:] if owner and owner[0] == "a"] == [
        ("a", 2 + refusals),
        ("a", 3 + refusals),
    ]
    assert objecting(evidence) == set()


def test_changes_that_show_no_time_stay_in_order() -> None:
    """The row was there: its due time is an earlier one's, whoever enqueued it again."""
    evidence = with_key()
    accepted(evidence)
    refused(evidence)
    accepted(evidence)
    refused(evidence)
    accepted(evidence)
    assert owners(evidence)[4:] == [("a", 2), ("a", 4), ("a", 6)]
    leave(evidence)
    assert objecting(evidence) == set()


@pytest.mark.parametrize("took_effect", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_an_enqueue_whose_outcome_is_unknown_gets_what_is_left(
    there: bool, took_effect: bool
) -> None:
    evidence = with_key()
    if there:
        accepted(evidence)
    lost(evidence, took_effect=took_effect)
    if took_effect and not there:
        leave(evidence)
    accepted(evidence)
    leave(evidence)
    assert objecting(evidence) == set()
    assert (("a", 2 + there) in owners(evidence)) is took_effect
    assert None not in owners(evidence)


def test_an_enqueue_that_was_refused_and_left_a_trace_is_found() -> None:
    evidence = with_key()
    call(evidence)
    wake(evidence)
    evidence.fail("a", "full")
    leave(evidence)
    accepted(evidence)
    leave(evidence)
    finding = evidence.judge(Refused)
    assert finding.verdict == "invalid"
    assert finding.violations[0].ops[0].n == 2
    assert evidence.judge(Replay).verdict == "invalid"


def test_two_changes_for_one_success_are_one_too_many() -> None:
    """Which of the two was the refused call's does not show; that one was does."""
    evidence = with_key()
    accepted(evidence)
    call(evidence)
    wake(evidence)
    evidence.fail("a", "full")
    accepted(evidence)
    leave(evidence)
    assert evidence.judge(Replay).verdict == "invalid"


@pytest.mark.parametrize("ended", ["fail", "info"])
def test_a_token_that_is_used_once_more_after_a_failure(ended: str) -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.invoke("a", "runs.park", run_id="r1", claim_token=token)
    evidence.clock("a")
    if ended == "fail":
        evidence.fail("a", "full")
    else:
        evidence.info("a", "io")
    evidence.now += 10
    evidence.end("a", "runs.park", "r1", token)
    assert owners(evidence) == [("a", 1), ("a", 3)]
    assert evidence.judge(Replay).verdict == "valid"


def test_of_two_uses_that_are_lost_the_one_at_the_time_of_the_change_made_it() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    for took_effect in (False, True):
        evidence.now += 10
        evidence.invoke("a", "runs.park", run_id="r1", claim_token=token)
        evidence.clock("a")
        if took_effect:
            evidence.change(RUNS, ("r1",), parked(evidence))
        evidence.info("a", "io")
    assert owners(evidence) == [("a", 1), ("a", 3)]
    assert evidence.judge(Replay).verdict == "valid"


def test_a_refused_claim_that_holds_nevertheless_is_found() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.invoke("a", "runs.park", run_id="r1", claim_token=token)
    evidence.clock("a")
    evidence.change(RUNS, ("r1",), parked(evidence))
    evidence.ok("a", False)
    assert owners(evidence) == [("a", 1), ("a", 2)]
    assert evidence.judge(Refused).verdict == "invalid"


def parked(evidence: Evidence) -> RunRow:
    return evidence.run("r1")._replace(
        status="parked",
        runner_id=None,
        claim_token=None,
        claim_expires_at=None,
        updated_at=text_of(evidence.now),
    )


def test_a_change_of_two_rows_whose_call_is_lost_stays_together() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    evidence.records["a"].pop()
    evidence.info("a", "io")
    assert owners(evidence) == [("a", 1), ("a", 1)]
    assert evidence.judge(Replay).verdict == "valid"


def test_a_call_that_was_killed_before_it_read_the_clock_made_no_change() -> None:
    evidence = Evidence()
    for process in "ab":
        evidence.invoke(process, "feed.set_watermark", session_id="s", seq=0)
    evidence.clock("b")
    row = WatermarkRow("s", 0, text_of(evidence.now))
    evidence.change(WATERMARKS, ("s",), row)
    assert owners(evidence) == [("b", 1)]


def killed(evidence: Evidence, process: str) -> None:
    """A process enqueues the key, and does not come back."""
    evidence.now += 10
    evidence.invoke(process, "queue.enqueue_many", items=[list(KEY)])
    evidence.clock(process)


def test_what_a_refused_enqueue_left_is_no_killed_ones_that_can_not_have_made_it() -> None:
    evidence = with_key()
    killed(evidence, "a")
    evidence.now += 10
    evidence.invoke("a2", "queue.enqueue_many", items=[list(KEY)])
    evidence.clock("a2")
    wake(evidence)
    evidence.fail("a2", "full")
    leave(evidence)
    assert ("a2", 1) in owners(evidence)
    assert evidence.judge(Refused).verdict == "invalid"


def test_a_call_that_came_back_changes_nothing_afterwards() -> None:
    """Neither what bears its token, nor what several calls may have made."""
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.invoke("a", "feed.set_watermark", session_id="s", seq=0)
    evidence.clock("a")
    evidence.info("a", "io")
    evidence.invoke("a", "runs.park", run_id="r1", claim_token=token)
    evidence.clock("a")
    evidence.info("a", "io")
    row = parked(evidence)
    evidence.put("b", "k", "s1")
    evidence.change(RUNS, ("r1",), row)
    evidence.change(WATERMARKS, ("s",), WatermarkRow("s", 0, text_of(evidence.now)))
    assert owners(evidence)[-2:] == [None, None]
    assert evidence.judge(Replay).verdict == "invalid"


def test_claims_of_one_millisecond_by_two_runners_that_were_killed_are_told_apart() -> None:
    evidence = Evidence()
    for number in (1, 2):
        evidence.end("z", "runs.park", f"r{number}", evidence.enqueue("z", f"r{number}"))
    expires = evidence.now + LEASE
    for process in "bc":
        evidence.invoke(process, "runs.claim_many", runner_id=process, lease_ms=LEASE, limit=1)
        evidence.clock(process)
    for process, run in ("c", "r1"), ("b", "r2"):
        claimed = {"status": "claimed", "runner_id": process, "claim_token": process * 36}
        stamp = {"claim_expires_at": expires, "updated_at": text_of(evidence.now)}
        evidence.change(RUNS, (run,), evidence.run(run)._replace(**claimed, **stamp))
    assert owners(evidence)[-2:] == [("c", 1), ("b", 1)]
    assert evidence.judge(Replay).verdict == "valid"


def test_two_claims_of_one_millisecond_that_were_both_killed_have_a_row_each() -> None:
    evidence = Evidence()
    expires = evidence.now + LEASE
    for number in (1, 2):
        evidence.put("a", f"k{number}", f"s{number}")
    for number, process in enumerate("bc", 1):
        evidence.invoke(process, "queue.claim_next", controllers=["c"], lease_ms=LEASE)
        evidence.clock(process)
        row = evidence.key(f"k{number}")
        claimed = {"claim_token": f"t{number}", "claim_version": 1, "claim_expires_at": expires}
        evidence.change(QUEUE, ("c", f"k{number}"), row._replace(**claimed))
    assert owners(evidence)[-2:] == [("b", 1), ("c", 1)]
    assert evidence.judge(Replay).verdict == "valid"
