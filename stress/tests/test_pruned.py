"""What pruning may take without a witness, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from tables import Tables

from fencepost_stress.checkers.d1_durable import Durable
from fencepost_stress.checkers.s1_drained import Drained
from fencepost_stress.rows import FEED, RUNS, WATERMARKS


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
    del evidence.tables[table][key]
    assert evidence.judge(Durable, pruned=left_out).verdict == verdict


def test_s1_a_done_run_may_be_pruned_and_no_other() -> None:
    evidence = pruned()
    evidence.enqueue("a", "r2")
    del evidence.tables[RUNS][("r1",)]
    assert evidence.judge(Drained).verdict == "invalid"
    found = evidence.judge(Drained, pruned=True)
    assert (found.verdict, "r2 is not done" in found.reason) == ("unknown", True)
