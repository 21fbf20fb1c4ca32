"""Joining where one call changes several rows, or several calls can have changed one."""

from __future__ import annotations

from evidence import LEASE, Evidence
from tables import SESSION, UID, Tables

from fencepost_stress.checkers.r1_replay import Replay
from fencepost_stress.operations import Commit, Seen
from fencepost_stress.rows import (
    EFFECTS,
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

TOKEN = "0b1c2d3e-4f50-4617-8899-aabbccddeeff"


def owners(evidence: Evidence) -> list[tuple[str, int] | None]:
    return [
        (event.op.process, event.op.n) if event.op else None
        for event in evidence.events()
        if isinstance(event, Commit)
    ]


def resource(evidence: Evidence, key: str) -> ResourceRow:
    row = evidence.tables[RESOURCES]["c", key]
    assert isinstance(row, ResourceRow)
    return row


def mark(evidence: Evidence, process: str, key: str) -> None:
    """The two rows of a first request for deletion."""
    row = resource(evidence, key)
    stamp = text_of(evidence.now)
    evidence.change(
        RESOURCES,
        ("c", key),
        row._replace(
            deletion_timestamp=stamp, resource_version=row.resource_version + 1, updated_at=stamp
        ),
    )
    evidence.wake(key)


def test_a_first_request_for_deletion_has_the_change_before_its_queue_row() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    evidence.invoke("b", "queue.enqueue", controller="c", key="k")
    evidence.invoke("a", "resources.request_deletion", controller="c", key="k")
    evidence.clock("a")
    evidence.clock("b")
    evidence.wake("k")
    mark(evidence, "a", "k")
    evidence.ok("a", None)
    evidence.ok("b", None)
    assert owners(evidence) == [("a", 1), ("a", 1), ("b", 1), ("a", 2), ("a", 2)]


def test_requests_for_deletion_are_told_apart_by_their_times() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    for process in "bc":
        evidence.invoke(process, "resources.request_deletion", controller="c", key="k")
    evidence.clock("b")
    evidence.now += 5
    evidence.clock("c")
    mark(evidence, "c", "k")
    evidence.wake("k")
    evidence.ok("b", None)
    evidence.ok("c", None)
    assert owners(evidence) == [("a", 1), ("a", 1), ("c", 1), ("c", 1), ("b", 1)]


def test_what_goes_with_a_deleted_resource_is_its_deleters() -> None:
    evidence = Tables()
    evidence.put("a", "k", "s1")
    evidence.reserve("a", "e", "fp")
    evidence.invoke("b", "resources.delete", controller="c", key="k", expected_resource_version=1)
    evidence.change(RESOURCES, ("c", "k"), None)
    evidence.change(QUEUE, ("c", "k"), None)
    evidence.change(EFFECTS, ("e", UID), None)
    evidence.ok("b", True)
    assert owners(evidence)[3:] == [("b", 1)] * 3


def test_a_killed_deleter_is_found() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    evidence.invoke("b", "resources.delete", controller="c", key="k", expected_resource_version=1)
    evidence.change(RESOURCES, ("c", "k"), None)
    evidence.change(QUEUE, ("c", "k"), None)
    evidence.put("a", "k", "s2")
    assert owners(evidence) == [("a", 1)] * 2 + [("b", 1)] * 2 + [("a", 2)] * 2


def test_two_deletions_of_one_version_keep_their_order() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    name = {"controller": "c", "key": "k", "expected_resource_version": 1}
    evidence.invoke("b", "resources.delete", **name)
    for process, token in (("b", "s2"), ("c", "")):
        evidence.change(RESOURCES, ("c", "k"), None)
        evidence.change(QUEUE, ("c", "k"), None)
        if token:
            evidence.put("a", "k", token)
            evidence.invoke("c", "resources.delete", **name)
        else:
            evidence.ok("b", True)
            evidence.ok(process, True)
    assert owners(evidence) == [
        *[("a", 1)] * 2,
        *[("b", 1)] * 2,
        *[("a", 2)] * 2,
        *[("c", 1)] * 2,
    ]


def claimed(run: RunRow, token: str, now: int) -> RunRow:
    return run._replace(
        status="claimed",
        runner_id="b",
        claim_token=token,
        claim_expires_at=now + LEASE,
        updated_at=text_of(now),
    )


def test_a_killed_claim_of_many_has_all_its_rows() -> None:
    evidence = Evidence()
    for run_id in ("r1", "r2"):
        token = evidence.enqueue("a", run_id)
        evidence.end("a", "runs.park", run_id, token)
    evidence.invoke("b", "runs.claim_many", runner_id="b", lease_ms=LEASE, limit=2)
    evidence.clock("b")
    for number, run_id in enumerate(("r1", "r2")):
        row = claimed(evidence.run(run_id), f"{TOKEN[:-1]}{number}", evidence.now)
        evidence.change(RUNS, (run_id,), row)
    evidence.claim_nothing("a")
    commits = [event for event in evidence.events() if isinstance(event, Commit)]
    assert commits[-1].op is commits[-2].op
    assert commits[-1].op is not None
    assert len(commits[-1].op.rows) == 2
    assert evidence.judge(Replay).verdict == "valid"


def test_a_batch_renewal_is_found_by_its_expiries() -> None:
    evidence = Evidence()
    tokens = [(run_id, evidence.enqueue("a", run_id)) for run_id in ("r1", "r2")]
    evidence.invoke(
        "a", "runs.renew_many", claims=[list(one) for one in tokens], lease_ms=LEASE + 1
    )
    evidence.clock("a")
    for run_id, _ in tokens:
        row = evidence.run(run_id)._replace(claim_expires_at=evidence.now + LEASE + 1)
        evidence.change(RUNS, (run_id,), row)
    evidence.ok("a", [True, True])
    assert owners(evidence) == [("a", 1), ("a", 2), ("a", 3), ("a", 3)]
    assert evidence.judge(Replay).verdict == "valid"


def test_watermarks_are_shared_out_by_place_and_time() -> None:
    evidence = Tables()
    for process, seq in (("b", 3), ("c", 5)):
        evidence.invoke(process, "feed.set_watermark", session_id=SESSION, seq=seq)
        evidence.clock(process)
    for seq in (5, 5):
        evidence.change(WATERMARKS, (SESSION,), WatermarkRow(SESSION, seq, text_of(evidence.now)))
    evidence.ok("b", None)
    evidence.ok("c", None)
    assert owners(evidence) == [("c", 1), ("b", 1)]


def test_a_read_after_an_acknowledged_enqueue_sees_it() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    evidence.enqueue_key("b", "k")
    evidence.claim_no_key("c")
    (seen,) = [event for event in evidence.events() if isinstance(event, Seen)]
    assert seen.op.low == 3


def test_a_queue_row_of_another_call_is_no_part() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    claim = evidence.claim_key("b", "k")
    evidence.put("a", "k", "s2")
    row = evidence.tables[QUEUE]["c", "k"]
    assert isinstance(row, QueueRow)
    evidence.settle("b", claim, evidence.lift("k"))
    assert owners(evidence) == [("a", 1)] * 2 + [("b", 1)] + [("a", 2)] * 2 + [("b", 2)]
