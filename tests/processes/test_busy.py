"""A lock that somebody else holds too long."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import (
    ResourceConflictError,
    ResourceNotReadyError,
    RunExistsError,
    StoreBusyError,
)
from tests.processes import calls
from tests.processes.remote import Child, check_file

RUN: dict[str, Any] = {
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "runner_id": "runner",
    "lease_ms": 60_000,
}
READS = {
    target
    for target in calls.CALLS
    if target.split(".")[1] in {"get", "get_by_uid", "get_by_id", "list", "after", "verify"}
} | {"feed.latest_seq", "feed.watermark"}
WRITES = sorted(
    target for target in calls.CALLS if target not in READS and not target.endswith(".iterate")
)


def test_a_lock_held_past_the_timeout(start: Callable[..., Child], path: Path, engine: str) -> None:
    child, holder = start().open(path, engine, busy_timeout_ms=300), start()
    child.call("runs.enqueue", run_id="before", **RUN)
    before = child.ask("dump", name="store")
    holder.sql(path, "BEGIN IMMEDIATE")

    began = time.monotonic()
    with pytest.raises(StoreBusyError) as refused:
        child.call("runs.enqueue", run_id="run", **RUN)
    waited = time.monotonic() - began

    assert (refused.value.code, refused.value.retryable) == ("busy", True)
    assert refused.value.sqlite_code == 5
    assert str(path) in str(refused.value)
    assert 0.3 <= waited < 5
    holder.sql(path, "COMMIT")
    assert child.ask("dump", name="store") == before
    child.call("runs.enqueue", run_id="run", **RUN)
    check_file(holder, path)


def test_every_write_is_refused_and_every_read_answered(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    child, holder = start().open(path, engine, busy_timeout_ms=0), start()
    holder.sql(path, "BEGIN IMMEDIATE")

    for target in WRITES:
        with pytest.raises(StoreBusyError):
            child.call(target, **calls.CALLS[target])
    for target in sorted(READS):
        child.call(target, **calls.CALLS[target])

    holder.sql(path, "ROLLBACK")
    # Nothing stayed open: all writes work or are refused for reasons of their own.
    for target in WRITES:
        with suppress(LookupError, RunExistsError, ResourceConflictError, ResourceNotReadyError):
            child.call(target, **calls.CALLS[target])
    holder.sql(path, "BEGIN IMMEDIATE", "ROLLBACK")


def test_the_wait_ends_when_the_lock_is_free(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    child, holder = start().open(path, engine, busy_timeout_ms=30_000), start()
    holder.sql(path, "BEGIN IMMEDIATE")
    child.begin_call("runs.enqueue", run_id="run", **RUN)
    assert not child.answered(0.2)
    released = time.monotonic()
    holder.sql(path, "COMMIT")
    assert child.end().run_id == "run"
    assert time.monotonic() - released < 5


def test_a_busy_file_can_be_opened_and_is_refused_when_new(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    """Opening a finished store needs no lock; making the schema does, within the timeout."""
    holder = start()
    holder.sql(path, "BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusyError):
        start().open(path, engine, busy_timeout_ms=200)
    holder.sql(path, "ROLLBACK")
    start().open(path, engine).close()

    holder.sql(path, "BEGIN IMMEDIATE")
    child = start().open(path, engine, busy_timeout_ms=200)
    assert child.call("runs.list") == []


def test_a_reader_of_the_past_holds_up_nobody(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    child, reader = start().open(path, engine, busy_timeout_ms=0), start()
    child.call("runs.enqueue", run_id="old", **RUN)
    reader.sql(path, "BEGIN", "SELECT count(*) FROM workflow_run_queue")
    child.call("runs.enqueue", run_id="new", **RUN)
    assert reader.sql(path, "SELECT count(*) FROM workflow_run_queue") == [[(1,)]]
    reader.sql(path, "ROLLBACK")
    assert reader.sql(path, "SELECT count(*) FROM workflow_run_queue") == [[(2,)]]
