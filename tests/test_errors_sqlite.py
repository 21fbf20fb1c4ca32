"""Failures that SQLite reports: their classes, and that they leave nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import fencepost
from fencepost import errors, failures
from fencepost.errors import FencepostError
from tests.conftest import OpenStore
from tests.support import SetClock, enqueue, outcome, refused, sql, without_ids


def test_a_foreign_trigger_that_aborts(engines_here: tuple[str, ...], tmp_path: Path) -> None:
    said = []
    for engine in engines_here:
        path = str(tmp_path / f"{engine}.sqlite")
        fencepost.open(path, engine=engine).close()
        sql(
            path,
            "CREATE TRIGGER foreign_one AFTER INSERT ON workflow_run_queue "
            "WHEN NEW.run_id = 'x' BEGIN SELECT raise(ABORT, 'no'); END",
        )
        with fencepost.open(path, engine=engine, synchronous="off", clock=SetClock()) as store:
            failed = outcome(lambda: enqueue(store, "x"))
            said.append(without_ids(failed, path))
            assert store.runs.get(run_id="x") is None
            enqueue(store, "y")
    assert said == [said[0]] * len(engines_here)
    assert said[0]["fields"]["sqlite_code"] == 1811


LIMITED_DISK = """
import json, resource, sys
import fencepost
from fencepost.conformance.operations import dump

engine, path = sys.argv[1:]
run = dict(workflow_name="w", workflow_source_ref="s", runner_id="a", lease_ms=9, claim_token="t")
with fencepost.open(path, engine=engine, clock=lambda: 0) as store:
    store.runs.enqueue(run_id="before", **run)
    before = dump(store)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, unlimited[1]))
    try:
        store.runs.enqueue(run_id="large", input="x" * 1_000_000, **run)
        failure = None
    except fencepost.FencepostError as error:
        failure = [type(error).__name__, error.code, error.sqlite_code, str(error)]
    unchanged = dump(store) == before
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    after = store.runs.enqueue(run_id="after", **run).run_id
print(json.dumps([failure, unchanged, after]))
"""


def test_a_disk_that_takes_no_more(engines_here: tuple[str, ...], tmp_path: Path) -> None:
    said = []
    for engine in engines_here:
        path = str(tmp_path / f"{engine}.sqlite")
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LIMITED_DISK, engine, path],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said.append(without_ids(json.loads(done.stdout), path))
    assert said == [said[0]] * len(engines_here)
    failure, kept, after = said[0]
    assert failure[1] in ("io", "full")
    assert (kept, after) == (True, "after")


def test_unknown_refusals_are_no_codes() -> None:
    with pytest.raises(KeyError):
        errors.refusal("no such code")


@pytest.mark.parametrize(
    "code, cls",
    [
        (5, errors.StoreBusyError),
        (517, errors.StoreBusyError),
        (6, errors.StoreBusyError),
        (13, errors.StoreFullError),
        (10, errors.StoreIOError),
        (778, errors.StoreIOError),
        (14, errors.StoreIOError),
        (8, errors.ReadOnlyStoreError),
        (1544, errors.ReadOnlyStoreError),
        (11, errors.CorruptStoreError),
        (267, errors.CorruptStoreError),
        (26, errors.CorruptStoreError),
        (18, errors.ValueTooLargeError),
        (1, errors.InternalError),
        (21, errors.InternalError),
    ],
)
def test_sqlites_codes(code: int, cls: type[FencepostError]) -> None:
    error = failures.sqlite_failure(code, "/a/b.sqlite", "detail")
    assert type(error) is cls
    assert error.sqlite_code == code
    assert "/a/b.sqlite" in str(error)
    assert str(code) in str(error)


def test_rows_that_a_missing_index_would_refuse(open_store: OpenStore, path: str) -> None:
    with open_store(path) as store:
        for run_id, parent in [("parent", None), ("a", "parent"), ("b", None)]:
            enqueue(store, run_id, parent_run_id=parent)
    sql(
        path,
        "DROP INDEX workflow_run_queue_parent",
        "UPDATE workflow_run_queue SET parent_run_id = 'parent' WHERE run_id = 'b'",
    )
    with refused("corrupt") as caught:
        open_store(path)
    assert "a unique index is missing" in str(caught[0])
    assert "workflow_run_queue.parent_run_id" in str(caught[0])
