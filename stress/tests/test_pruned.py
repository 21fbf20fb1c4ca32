"""What pruning may take without a witness, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from evidence import Evidence
from tables import Tables

from fencepost_stress.checkers.d1_durable import Durable
from fencepost_stress.checkers.p1_pruned import Pruned
from fencepost_stress.checkers.s1_drained import Drained
from fencepost_stress.rows import FEED, RUNS, WATERMARKS
from fencepost_stress.times import text_of


def pruned() -> Tables:
    """Two events, of which the consumer has passed the first, and a run that is done."""
    evidence = Tables()
    token = evidence.enqueue("a", "r1")
    evidence.end("a", "runs.complete", "r1", token)
    evidence.record("a", "e1")
    evidence.record("a", "e2")
    evidence.watermark("b", 1)
    return evidence


@pytest.mark.parametrize(
    "table, key, left_out, verdict",
    [
        (FEED, (1,), True, "valid"),
        (FEED, (2,), True, "invalid"),
        (RUNS, ("r1",), True, "valid"),
        (FEED, (1,), False, "invalid"),
        (WATERMARKS, ("session",), True, "invalid"),
    ],
)
def test_d1_what_pruning_may_take(table: str, key: Any, left_out: bool, verdict: str) -> None:
    evidence = pruned()
    row = evidence.tables[table].pop(key)
    taken = [(9, row)] if table == RUNS and left_out else []
    assert evidence.judge(Durable, pruned=left_out, taken=taken).verdict == verdict


def test_s1_a_done_run_may_be_pruned_and_no_other() -> None:
    evidence = pruned()
    evidence.enqueue("a", "r2")
    row = evidence.tables[RUNS].pop(("r1",))
    assert evidence.judge(Drained, pruned=True).verdict == "invalid"
    found = evidence.judge(Drained, pruned=True, taken=[(9, row)])
    assert (found.verdict, "r2 is not done" in found.reason) == ("unknown", True)


def family() -> tuple[Evidence, str]:
    """A parent and its continuation, both done, and a mark of who prunes then; and when."""
    evidence = Evidence()
    parent, child = evidence.enqueue("a", "parent"), evidence.enqueue("a", "child", "parent")
    for run, token in ("parent", parent), ("child", child):
        evidence.now += 10
        evidence.end("a", "runs.complete", run, token)
    evidence.now += 10
    evidence.enqueue("a", "mark")
    return evidence, text_of(evidence.now)


@pytest.mark.parametrize(
    "taken, ms, limit, reason",
    [
        (["parent"], 0, 1, ""),
        (["parent", "child"], 0, 2, ""),
        (["child"], 0, 1, "child was pruned before parent"),
        (["child", "parent"], 0, 2, "child was pruned before parent"),
        (["parent"], 20, 1, "parent was pruned: done at"),
        (["parent", "child"], 10, 2, "child was pruned: done at"),
        (["parent", "child"], 0, 1, "child was pruned, one more than the limit of 1"),
        (["mark"], 0, 1, "mark was pruned, and is claimed"),
    ],
)
def test_p1_what_pruning_may_take(taken: list[str], ms: int, limit: int, reason: str) -> None:
    evidence, _ = family()
    prunings = {"mark": (text_of(evidence.now - ms), limit)}
    rows = [(len(evidence.changes), evidence.run(run)) for run in taken]
    found = evidence.judge(Pruned, pruned=True, prunings=prunings, taken=rows)
    assert found.verdict == ("invalid" if reason else "valid")
    assert found.reason.startswith(reason)
    assert found.violation_count == bool(reason)


def test_p1_a_run_that_goes_and_nobody_prunes() -> None:
    evidence, now = family()
    rows = [(len(evidence.changes) - 1, evidence.run("parent"))]
    prunings = {"mark": (now, 9), "never made": (now, 9)}
    assert evidence.judge(Pruned, prunings=prunings, taken=rows).verdict == "invalid"
    assert evidence.judge(Pruned, prunings=prunings).verdict == "unknown"
