"""Joining: every change finds its call, and windows hold the place where a call took effect."""

from __future__ import annotations

import random

import pytest
from evidence import LEASE, Evidence

from fencepost_stress.operations import NEVER, Commit, Seen
from fencepost_stress.rows import QUEUE, RUNS, QueueRow, RunRow
from fencepost_stress.times import text_of


def test_changes_come_in_commit_order_with_their_calls() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.renew("a", "r1", token, LEASE + 1)
    evidence.renew("a", "r1", token, LEASE + 2)
    evidence.put("b", "k", "s1")
    events = evidence.events()
    commits = [event for event in events if isinstance(event, Commit)]
    assert [commit.change.seq for commit in commits] == [1, 2, 3, 4, 5]
    assert [(commit.op.process, commit.op.n) for commit in commits if commit.op] == [
        ("a", 1),
        ("a", 2),
        ("a", 3),
        ("b", 1),
        ("b", 1),
    ]


def test_a_call_between_two_commits_has_exactly_that_window() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.claim_nothing("b")
    evidence.end("a", "runs.park", "r1", token)
    (seen,) = [event for event in evidence.events() if isinstance(event, Seen)]
    assert (seen.op.low, seen.op.high) == (1, 1)


def test_a_call_that_overlaps_a_commit_can_be_on_either_side() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.invoke("b", "runs.claim_next", runner_id="b", claim_token="t", lease_ms=LEASE)
    evidence.end("a", "runs.park", "r1", token)
    evidence.ok("b", None)
    (seen,) = [event for event in evidence.events() if isinstance(event, Seen)]
    assert (seen.op.low, seen.op.high) == (1, 2)


def test_a_stopped_process_keeps_later_events_back_until_its_window_is_known() -> None:
    evidence = Evidence()
    evidence.invoke("b", "runs.claim_next", runner_id="b", claim_token="t", lease_ms=LEASE)
    for number in range(5):
        evidence.enqueue("a", f"r{number}")
    evidence.ok("b", None)
    events = evidence.events()
    assert isinstance(events[0], Seen)
    assert (events[0].op.low, events[0].op.high) == (0, 5)


def test_a_killed_call_with_its_change_is_found() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.records["a"].pop()
    (commit,) = evidence.events()
    assert isinstance(commit, Commit)
    assert commit.op is not None
    assert (commit.op.status, commit.op.returned) == ("unknown", NEVER)


def test_a_killed_call_without_a_change_is_seen_as_unknown() -> None:
    evidence = Evidence()
    evidence.enqueue("a", "r1")
    evidence.records["a"].pop()
    evidence.changes.clear()
    (seen,) = evidence.events()
    assert isinstance(seen, Seen)
    assert seen.op.status == "unknown"


def test_a_killed_renewal_is_found_by_its_expiry() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    evidence.renew("a", "r1", token, LEASE + 1)
    evidence.records["a"].pop()
    commits = [event for event in evidence.events() if isinstance(event, Commit)]
    assert commits[1].op is not None
    assert (commits[1].op.name, commits[1].op.status) == ("runs.renew", "unknown")


def test_changes_that_no_call_explains_do_not_stop_the_join() -> None:
    evidence = Evidence()
    token = evidence.enqueue("a", "r1")
    ghost = evidence.run("r1")._replace(run_id="ghost", claim_token="ghost")
    evidence.change("workflow_run_queue", ("ghost",), ghost)
    evidence.end("a", "runs.complete", "r1", token)
    commits = [event for event in evidence.events() if isinstance(event, Commit)]
    assert [commit.op is None for commit in commits] == [False, True, False]


def test_anonymous_enqueues_are_shared_out_by_their_windows() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    # b and c overlap; c returns first, and only the first change can be its own.
    evidence.invoke("b", "queue.enqueue", controller="c", key="k")
    evidence.invoke("c", "queue.enqueue", controller="c", key="k")
    evidence.wake("k")
    evidence.ok("c", None)
    evidence.enqueue("a", "r1")
    evidence.wake("k")
    evidence.ok("b", None)
    owners = [
        event.op.process
        for event in evidence.events()
        if isinstance(event, Commit) and event.op and event.change.table == QUEUE
    ]
    assert owners == ["a", "c", "b"]


def test_an_enqueue_is_matched_by_its_due_time() -> None:
    """b's due time is the one that shows; it must not be spent on the change that shows none."""
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    soon, later = evidence.now - 10, evidence.now + 50
    evidence.invoke("b", "queue.enqueue", controller="c", key="k", available_at=text_of(soon))
    evidence.invoke("c", "queue.enqueue", controller="c", key="k", available_at=text_of(later))
    evidence.change(QUEUE, ("c", "k"), evidence.key("k")._replace(version=2))
    evidence.change(QUEUE, ("c", "k"), evidence.key("k")._replace(version=3, available_at=soon))
    evidence.ok("b", None)
    evidence.ok("c", None)
    owners = [event.op.process for event in evidence.events() if event.op]
    assert owners == ["a", "a", "c", "b"]


def test_a_later_change_takes_back_the_call_that_only_it_can_have() -> None:
    evidence = Evidence()
    evidence.put("a", "k", "s1")
    due = evidence.now + 50
    # b fits both changes and c the first alone, although b's window closes first.
    evidence.invoke("b", "queue.enqueue", controller="c", key="k", available_at=text_of(due))
    evidence.invoke("c", "queue.enqueue", controller="c", key="k", available_at=text_of(due - 20))
    evidence.change(QUEUE, ("c", "k"), evidence.key("k")._replace(version=2))
    claim = evidence.claim_key("d", "k")
    evidence.settle("d", claim)
    evidence.change(QUEUE, ("c", "k"), QueueRow("c", "k", due, 1, 0, None, None, None, None))
    evidence.ok("b", None)
    evidence.ok("c", None)
    owners = [
        event.op.process
        for event in evidence.events()
        if event.op and event.op.name == "queue.enqueue"
    ]
    assert owners == ["c", "b"]


@pytest.mark.parametrize("seed", range(30))
def test_windows_hold_the_true_place_whatever_the_schedule(seed: int) -> None:
    """Random overlaps: each call takes effect at a known moment between its two stamps."""
    schedule = Schedule(seed)
    for _ in range(300):
        schedule.step()
    seen = [event.op for event in schedule.evidence.events() if isinstance(event, Seen)]
    finished = [op for op in seen if op.status == "ok"]
    assert finished
    for op in finished:
        assert op.low <= schedule.places[op.process, op.n] <= op.high


class Schedule:
    """Four processes that call, take effect and return at random; half the calls write."""

    def __init__(self, seed: int) -> None:
        self.evidence = Evidence()
        self.evidence.enqueue("z", "r")
        self.places: dict[tuple[str, int], int] = {}
        self._random = random.Random(seed)
        self._phase = dict.fromkeys("abcd", 0)
        self._result: dict[str, object] = {}
        self._calls = 0

    def step(self) -> None:
        process = self._random.choice("abcd")
        (self._invoke, self._take_effect, self._return)[self._phase[process]](process)
        self._phase[process] = (self._phase[process] + 1) % 3

    def _invoke(self, process: str) -> None:
        self._calls += 1
        token = f"t{self._calls}"
        self._result[process] = token
        self.evidence.invoke(
            process, "runs.claim_next", runner_id=process, claim_token=token, lease_ms=LEASE
        )

    def _take_effect(self, process: str) -> None:
        n = self.evidence.records[process][-1].n  # type: ignore[union-attr]
        token, self._result[process] = str(self._result[process]), None
        if self._random.random() < 0.5:
            self.evidence.change(RUNS, ("r",), claimed_by(token))
            self._result[process] = {"claim_token": token}
        self.places[process, n] = len(self.evidence.changes)

    def _return(self, process: str) -> None:
        self.evidence.ok(process, self._result[process])


def claimed_by(token: str) -> RunRow:
    stamp = "2026-01-01T00:00:00.000Z"
    return RunRow("r", "w", "s", "null", "claimed", "x", token, 1, "x", None, stamp, stamp)
