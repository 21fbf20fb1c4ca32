"""Histories joined to calls: what is known of when each can have taken effect."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fencepost_stress.blackbox.calls import ENDED, Call, Calls, deaths, join
from fencepost_stress.blackbox.models import ItemModel
from fencepost_stress.blackbox.q1_empty import Empty
from fencepost_stress.blackbox.search import explainable
from fencepost_stress.blackbox.terms import Evidence, Terms
from fencepost_stress.checkers.base import Finding
from fencepost_stress.history import Begin, Fail, Info, Invoke, Note, Ok, Record
from fencepost_stress.operations import NEVER


def begin(process: str, host: str) -> Record:
    return Begin(0, process, {"host": host})


def call(n: int, at: int, name: str, result: object = None, **args: object) -> list[Record]:
    return [Invoke(at, n, name, dict(args)), Ok(at + 1, n, result)]


def only(calls: Calls, run: str) -> list[Call]:
    return calls.by_run[run]


def test_a_call_that_never_returned_ends_with_its_process() -> None:
    killed = deaths([Note(50, "pause", {"process": "b"}), Note(90, "kill", {"process": "b"})])
    assert killed == {"b": 90}
    history = [begin("b-t1", "b"), Invoke(80, 1, "complete", {"run_id": "x", "claim": "c"})]
    (found,) = only(join([history], killed), "x")
    assert (found.unknown, found.low, found.high, found.died) == (True, 80, 90, 90)


def test_an_error_leaves_open_until_when() -> None:
    history = [begin("a", "a"), Invoke(10, 1, "claim", {}), Info(20, 1, "OperationalError", "?")]
    calls = join([history], {})
    (ghost,) = calls.ghosts
    assert (ghost.low, ghost.high, ghost.died) == (10, NEVER, NEVER)


def test_a_refused_claim_is_not_an_empty_one() -> None:
    history = [begin("a", "a"), Invoke(1, 1, "claim", {}), Fail(2, 1, "busy", "")]
    calls = join([[*history, *call(2, 3, "claim")]], {})
    assert [(one.low, one.high) for one in calls.empty] == [(3, 4)]
    assert calls.count == 2


def test_a_child_that_was_deleted_counts_for_its_parent() -> None:
    history = [
        begin("a", "a"),
        *call(1, 1, "enqueue", run_id="x", parent_run_id="p"),
        *call(2, 3, "delete", True, run_id="x", claim="c"),
    ]
    assert [one.name for one in join([history], {}).by_parent["p"]] == ["enqueue", "delete"]


def test_who_ended_well_holds_nothing_any_more() -> None:
    """A queue that frees claims when it is opened anew frees those of the ended, too."""
    first = [
        begin("a", "a"),
        *call(1, 1, "enqueue", run_id="x"),
        *call(2, 3, "claim", {"run_id": "x"}),
        Invoke(5, 3, "complete", {"run_id": "x", "claim": "a/2"}),
        Info(6, 3, "OperationalError", "database is locked"),
    ]
    second = [begin("b", "b"), *call(1, 20, "claim", {"run_id": "x"})]
    model = ItemModel(Terms("session", 0, 0), strict=False)
    assert not explainable(only(join([first, second], {}), "x"), model)
    ended = [*first, Note(10, ENDED, {})]
    assert explainable(only(join([ended, second], {}), "x"), model)


def slept(
    wait_ms: int,
    put_at_ms: int,
    got_at_ms: int,
    *others: list[Record],
    still: Sequence[tuple[int, int]] = (),
) -> Finding:
    """Of a claim from 0 on that got what was put while it waited; the first finding of Q1."""
    second = 1_000_000
    getter = [begin("b", "b"), Invoke(0, 1, "claim", {"wait_ms": wait_ms})]
    getter.append(Ok(got_at_ms * second, 1, {"run_id": "x", "handle": None}))
    putter = [begin("a", "a"), *call(1, put_at_ms * second - 1, "enqueue", run_id="x")]
    evidence = Evidence(join([putter, getter, *others], {}), Terms("session", 0, 0), [], still)
    (found,) = Empty().check(evidence)
    return found


@pytest.mark.parametrize(
    "put_at_ms, verdict", [(2400, "valid"), (1100, "valid"), (900, "invalid"), (1, "invalid")]
)
def test_q1_a_claim_that_sleeps_beside_an_item(put_at_ms: int, verdict: str) -> None:
    found = slept(2500, put_at_ms, 2500)
    assert (found.verdict, found.exercised) == (verdict, 1)
    if verdict == "invalid":
        assert found.reason == f"b slept for {2500 - put_at_ms} ms beside 'x', for which it waited"
        assert {op.name for op in found.violations[0].ops} == {"enqueue", "claim"}
    assert found.details["woken_late"] == (put_at_ms < 1250)


def test_q1_a_machine_that_stood_still_wakes_nobody() -> None:
    assert slept(2500, 1, 2500, still=[(1_000_000_000, 1_500_000_000)]).verdict == "invalid"
    found = slept(2500, 1, 2500, still=[(1_000_000_000, 2_400_000_000)])
    assert (found.verdict, "the machine let nobody work" in found.reason) == ("unknown", True)


def test_q1_an_item_that_somebody_else_may_have_had_is_held_against_nobody() -> None:
    killed = [begin("c", "c"), Invoke(5, 1, "claim", {})]
    assert slept(2500, 1, 2500, killed).violation_count == 0
    forgot = [begin("c", "c"), *call(1, 2_000_000, "claim", {"run_id": "x"})]
    assert slept(2500, 1, 2500, forgot).violation_count == 0
