"""The run queue: one live claim a run, fenced, taken over, continued once."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost import Run, Store
from fencepost.conformance.operations import dump
from tests.support import at, enqueue, park, readable, refused, unchanged


def claim(store: Store, now: int = 0, **more: Any) -> Run | None:
    return store.runs.claim_next(
        **{"runner_id": "bob", "lease_ms": 1000, "claim_token": "t", "now": at(now), **more}
    )


def claimed(store: Store, now: int = 0, **more: Any) -> Run:
    run = claim(store, now, **more)
    assert run is not None
    return run


def get(store: Store, run_id: str = "r") -> Run:
    run = store.runs.get(run_id=run_id)
    assert run is not None
    return run


def row(store: Store, run_id: str = "r") -> dict[str, Any]:
    (found,) = [row for row in dump(store)["workflow_run_queue"] if row["run_id"] == run_id]
    return found


UNCLAIMED = (None, None, None)


def claim_of(run: Run) -> tuple[Any, ...]:
    return run.runner_id, run.claim_token, run.claim_expires_at


def test_a_new_run_is_claimed_by_its_runner(store: Store) -> None:
    run = enqueue(store, input={"a": [1]}, lease_ms=10, now=at(5))
    assert run == Run(
        "r", "w", "/w.py", {"a": [1]}, "claimed", "alice", "t-r", at(15),
        "alice", None, at(5), at(5), run.fence,
    )  # fmt: skip
    assert run.fence is not None
    assert get(store) == run


def test_affinity_may_be_anothers(store: Store) -> None:
    assert enqueue(store, affinity_runner_id="carol").affinity_runner_id == "carol"


def test_tokens_are_made_when_left_out(store: Store) -> None:
    tokens = {enqueue(store, f"r{n}", claim_token=None).claim_token for n in range(10)}
    park(store, "p")
    got = store.runs.claim_next(runner_id="bob", lease_ms=5, now=at())
    assert got is not None
    tokens.add(got.claim_token)
    assert None not in tokens
    assert len(tokens) == 11


def test_a_used_id_is_refused(store: Store) -> None:
    enqueue(store)
    store.runs.complete(run_id="r", claim_token="t-r", now=at())
    with unchanged(store), refused("run_exists") as caught:
        enqueue(store, runner_id="bob", claim_token="other")
    assert (caught[0].table, caught[0].key) == ("workflow_run_queue", "r")


def test_a_parent_is_continued_once(store: Store) -> None:
    enqueue(store, "parent")
    store.runs.complete(run_id="parent", claim_token="t-parent", now=at())
    child = enqueue(store, "child", parent_run_id="parent")
    assert child.parent_run_id == "parent"
    with unchanged(store), refused("continuation_exists") as caught:
        enqueue(store, "second", parent_run_id="parent")
    assert caught[0].key == "parent"
    assert "child" in str(caught[0])
    enqueue(store, "grandchild", parent_run_id="child")


def test_the_continuation_is_named_before_the_id(store: Store) -> None:
    """Both are wrong: the recorded behaviour speaks of the parent."""
    enqueue(store, "parent")
    enqueue(store, "child", parent_run_id="parent")
    with refused("continuation_exists"):
        enqueue(store, "child", parent_run_id="parent")


def test_the_parent_need_not_be_there(store: Store) -> None:
    assert enqueue(store, "child", parent_run_id="nobody").parent_run_id == "nobody"


def test_runs_are_listed_by_age_and_insertion(store: Store) -> None:
    for run_id, ms in [("c", 5), ("z", 1), ("a", 5), ("b", 5)]:
        enqueue(store, run_id, now=at(ms))
    assert [run.run_id for run in store.runs.list()] == ["z", "c", "a", "b"]


def test_runs_of_a_status(store: Store) -> None:
    enqueue(store, "claimed")
    park(store, "parked")
    enqueue(store, "done")
    store.runs.complete(run_id="done", claim_token="t-done", now=at())
    for status in ("claimed", "parked", "done"):
        assert [run.run_id for run in store.runs.list(status=status)] == [status]
    with refused("invalid"):
        store.runs.list(status="other")


def test_a_live_claim_is_nobody_elses(store: Store) -> None:
    enqueue(store, lease_ms=10)
    with unchanged(store):
        assert claim(store, now=9) is None
        assert claim(store, now=9, runner_id="alice", claim_token="t-r") is None


def test_a_parked_run_is_claimed(store: Store) -> None:
    park(store, input=[1])
    got = claimed(store, now=7, lease_ms=5, claim_token="mine")
    assert claim_of(got) == ("bob", "mine", at(12))
    assert (got.status, got.input, got.created_at, got.updated_at) == ("claimed", [1], at(), at(7))
    assert got.affinity_runner_id == "alice"
    assert get(store) == got


def test_an_expired_claim_is_taken_over_at_its_end(store: Store) -> None:
    enqueue(store, lease_ms=10)
    assert claim(store, now=9) is None
    got = claimed(store, now=10)
    assert claim_of(got) == ("bob", "t", at(1010))


def test_a_done_run_is_never_claimed(store: Store) -> None:
    enqueue(store)
    store.runs.complete(run_id="r", claim_token="t-r", now=at())
    assert claim(store, now=10**9) is None


def test_affinity_comes_first_then_age_then_insertion(store: Store) -> None:
    park(store, "old")
    park(store, "mine-late", affinity_runner_id="bob", now=at(9))
    park(store, "mine", affinity_runner_id="bob", now=at(5))
    park(store, "same-age")
    enqueue(store, "mine-expired", affinity_runner_id="bob", lease_ms=1, now=at(2))
    order = []
    while got := claim(store, now=9):
        order.append(got.run_id)
    assert order == ["mine-expired", "mine", "mine-late", "old", "same-age"]


def test_expired_and_parked_runs_share_one_order(store: Store) -> None:
    for number in range(6):
        if number % 2:
            park(store, f"r{number}", now=at(number))
        else:
            enqueue(store, f"r{number}", lease_ms=1, now=at(number))
    order = []
    while got := claim(store, now=100, runner_id="carol"):
        order.append(got.run_id)
    assert order == [f"r{number}" for number in range(6)]


@pytest.mark.parametrize("affine", ["alice", "bob"])
def test_many_expired_claims_come_in_claim_order(store: Store, affine: str) -> None:
    """More of them than are compared one by one; leases end in the reverse order."""
    names = [f"r{number:03d}" for number in range(130)]
    for number, name in enumerate(names):
        enqueue(store, name, now=at(number), lease_ms=1000 - number * 2, affinity_runner_id=affine)
    got = readable(store.runs.claim_many(runner_id="bob", lease_ms=1, limit=500, now=at(5000)))
    assert [run.run_id for run in got] == names


def test_excluded_runs_are_left_out(store: Store) -> None:
    park(store, "a", affinity_runner_id="bob")
    enqueue(store, "b", lease_ms=1, affinity_runner_id="bob")
    park(store, "c")
    assert claimed(store, now=5, exclude_run_ids=["a", "b", "other"]).run_id == "c"
    with unchanged(store):
        assert claim(store, now=5, exclude_run_ids={"a", "b", "c"}) is None
    assert claimed(store, now=5, exclude_run_ids=("b",)).run_id == "a"


def test_renewal_is_for_the_live_claim_only(store: Store) -> None:
    enqueue(store, lease_ms=10)

    def renew(now: int, token: str = "t-r") -> bool:
        return store.runs.renew(run_id="r", claim_token=token, lease_ms=10, now=at(now))

    assert renew(9) is True
    assert get(store).claim_expires_at == at(19)
    assert get(store).updated_at == at()
    with unchanged(store):
        assert renew(18, "other") is False
        assert renew(19) is False
    assert store.runs.park(run_id="r", claim_token="t-r", now=at(19))
    with unchanged(store):
        assert renew(18) is False


def test_verifying_changes_nothing(store: Store) -> None:
    enqueue(store, lease_ms=10)
    with unchanged(store):
        assert store.runs.verify(run_id="r", claim_token="t-r", now=at(9)) is True
        assert store.runs.verify(run_id="r", claim_token="t-r", now=at(10)) is False
        assert store.runs.verify(run_id="r", claim_token="other", now=at(9)) is False
        assert store.runs.verify(run_id="none", claim_token="t-r", now=at(9)) is False
    store.runs.complete(run_id="r", claim_token="t-r", now=at())
    assert store.runs.verify(run_id="r", claim_token="t-r", now=at()) is False


@pytest.mark.parametrize("ending", ["park", "complete"])
def test_endings_take_the_token_and_clear_the_claim(store: Store, ending: str) -> None:
    enqueue(store, lease_ms=10)
    end = getattr(store.runs, ending)
    with unchanged(store):
        assert end(run_id="r", claim_token="other", now=at(1)) is False
        assert end(run_id="none", claim_token="t-r", now=at(1)) is False
    assert end(run_id="r", claim_token="t-r", now=at(10**6)) is True
    run = get(store)
    assert run.status == {"park": "parked", "complete": "done"}[ending]
    assert claim_of(run) == UNCLAIMED
    assert (run.fence, run.updated_at, run.affinity_runner_id) == (None, at(10**6), "alice")
    with unchanged(store):
        assert end(run_id="r", claim_token="t-r", now=at(10**6)) is False


@pytest.mark.parametrize("ending", ["park", "complete"])
def test_who_comes_too_late_is_refused(store: Store, ending: str) -> None:
    enqueue(store, lease_ms=10)
    claimed(store, now=10)
    with unchanged(store):
        assert getattr(store.runs, ending)(run_id="r", claim_token="t-r", now=at(11)) is False
        assert store.runs.renew(run_id="r", claim_token="t-r", lease_ms=5, now=at(5)) is False
        assert store.runs.delete(run_id="r", claim_token="t-r") is False


def test_a_restarted_worker_does_not_inherit_its_claim(store: Store) -> None:
    """The name alone is worth nothing: only the token counts."""
    enqueue(store, runner_id="alice", claim_token="before")
    with unchanged(store):
        assert not store.runs.complete(run_id="r", claim_token="after", now=at())
        assert claim(store, runner_id="alice", claim_token="after") is None


def test_deleting_frees_the_parents_slot(store: Store) -> None:
    enqueue(store, "parent")
    enqueue(store, "child", parent_run_id="parent")
    with unchanged(store):
        assert store.runs.delete(run_id="child", claim_token="other") is False
        assert store.runs.delete(run_id="none", claim_token="t-child") is False
    assert store.runs.delete(run_id="child", claim_token="t-child") is True
    assert store.runs.get(run_id="child") is None
    enqueue(store, "again", parent_run_id="parent")
    enqueue(store, "child", parent_run_id="other")


def test_unclaimed_runs_are_not_deleted(store: Store) -> None:
    park(store)
    with unchanged(store):
        assert store.runs.delete(run_id="r", claim_token="t-r") is False


def repair(store: Store, now: int = 0, **more: Any) -> Any:
    given = {
        "run_id": "r",
        "workflow_name": "new",
        "workflow_source_ref": "/new.py",
        "runner_id": "bob",
        "claim_token": "t",
        "lease_ms": 1000,
        "now": at(now),
        **more,
    }
    return store.runs.repair_source(**given)


def test_repairing_a_parked_run(store: Store) -> None:
    park(store)
    assert repair(store, 3) == "claimed"
    run = get(store)
    assert (run.workflow_name, run.workflow_source_ref, run.status) == ("new", "/new.py", "claimed")
    assert claim_of(run) == ("bob", "t", at(1003))
    assert run.updated_at == at(3)


def test_repairing_what_is_right_already(store: Store) -> None:
    park(store, workflow_source_ref="/new.py")
    with unchanged(store):
        assert repair(store) == "unchanged"


def test_repairing_what_is_not_claimable(store: Store) -> None:
    assert repair(store) is False
    enqueue(store, lease_ms=10)
    with unchanged(store):
        assert repair(store, 9) is False
    assert repair(store, 10) == "claimed"
    assert store.runs.complete(run_id="r", claim_token="t", now=at(10))
    with unchanged(store):
        assert repair(store, 20) is False


def test_repairing_under_the_same_live_token(store: Store) -> None:
    enqueue(store)
    assert repair(store, 1, claim_token="t-r", lease_ms=5) == "claimed"
    assert claim_of(get(store)) == ("bob", "t-r", at(6))


def claim_legacy(store: Store, now: int = 0, **more: Any) -> bool:
    given = {
        "run_id": "r",
        "workflow_name": "new",
        "old_workflow_path": "/w.py",
        "workflow_source_ref": "/new.py",
        "runner_id": "bob",
        "claim_token": "t",
        "lease_ms": 1000,
        "now": at(now),
        **more,
    }
    return store.runs.claim_legacy_source(**given)


@pytest.mark.parametrize("source", ["/w.py", "/new.py"])
def test_claiming_a_legacy_source(store: Store, source: str) -> None:
    park(store, workflow_source_ref=source)
    assert claim_legacy(store, 2) is True
    run = get(store)
    assert (run.workflow_name, run.workflow_source_ref) == ("new", "/new.py")
    assert claim_of(run) == ("bob", "t", at(1002))


def test_another_source_is_not_claimed(store: Store) -> None:
    assert claim_legacy(store) is False
    park(store, workflow_source_ref="/third.py")
    with unchanged(store):
        assert claim_legacy(store) is False


def test_a_legacy_source_must_be_claimable(store: Store) -> None:
    enqueue(store, lease_ms=10)
    with unchanged(store):
        assert claim_legacy(store, 9) is False
    assert claim_legacy(store, 9, claim_token="t-r", lease_ms=1) is True
    assert claim_legacy(store, 10) is True
    store.runs.complete(run_id="r", claim_token="t", now=at(10))
    with unchanged(store):
        assert claim_legacy(store, 11) is False


def test_a_run_gives_its_claim_as_arguments(store: Store) -> None:
    run = enqueue(store)
    assert run.claim == {"run_id": "r", "claim_token": "t-r"}
    assert store.runs.renew(**run.claim, lease_ms=1000, now=at())
    assert store.runs.complete(**run.claim, now=at())
    done = store.runs.get(run_id="r")
    assert done is not None
    with refused("invalid"):
        print(done.claim)
