"""No statement is left at work: where cursors live on, as on PyPy, it would hold up the commits."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fencepost
from tests.support import sql


class KeepsCursors(sqlite3.Connection):
    """Lets no cursor go; CPython alone ends its statement with the last reference to it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.kept: list[sqlite3.Cursor] = []

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self.kept.append(super().execute(*arguments))
        return self.kept[-1]


def test_the_python_engine_ends_its_statements(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=KeepsCursors))
    path = str(tmp_path / "store.sqlite")
    with (
        fencepost.open(path, engine="python") as store,
        fencepost.open(path, engine="python") as other,
    ):
        run = store.runs.enqueue(
            run_id="a",
            workflow_name="w",
            workflow_source_ref="r",
            input=1,
            runner_id="x",
            lease_ms=5_000,
        )
        store.resources.put(controller="c", key="k", spec={}, initial_status=None)
        assert store.runs.complete(run_id="a", claim_token=str(run.claim_token))
        assert other.queue.claim_next(controllers=["c"], lease_ms=5_000) is not None
        assert other.runs.claim_next(runner_id="y", lease_ms=5_000) is None
        store.checkpoint()
        assert store.stats().runs["done"] == 1


def test_a_statement_ends_with_its_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Text that is no text ends the reading of a row, in the middle of a statement."""
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=KeepsCursors))
    path = str(tmp_path / "store.sqlite")
    with (
        fencepost.open(path, engine="python") as store,
        fencepost.open(path, engine="python") as other,
    ):
        store.feed.record(run_id="bad", workflow_ref="w", type="t")
        sql(path, "UPDATE run_events SET run_id = CAST(x'ff' AS TEXT)")
        with pytest.raises(fencepost.errors.CorruptRowError):
            store.feed.after(seq=0)
        other.feed.record(run_id="good", workflow_ref="w", type="t")
        assert other.checkpoint("truncate").complete, "a read mark of the failed reading is left"
        assert [event.run_id for event in store.feed.after(seq=1)] == ["good"]
