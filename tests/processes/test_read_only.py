"""Files that may only be read, and readers beside writers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.errors import ReadOnlyStoreError, StoreIOError
from tests.processes.remote import Child, check_file

RUN: dict[str, Any] = {
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "runner_id": "runner",
    "lease_ms": 60_000,
}
NOBODY = 65534


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may enter and write to."""
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def drop_privileges(*, engine: str) -> None:
    """Become nobody, after loading what a nobody may not be allowed to load."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        for read_only in (False, True):
            with fencepost.open(path, engine=engine, read_only=read_only) as store:
                store.runs.list()
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


@pytest.fixture
def unprivileged(start: Callable[..., Child], engine: str) -> Callable[[], Child]:
    """Starts children that permissions mean something to."""

    def start_unprivileged() -> Child:
        child = start()
        if os.geteuid() == 0:
            child.run(drop_privileges, engine=engine)
        return child

    return start_unprivileged


def _make(start: Callable[..., Child], path: Path, engine: str) -> None:
    with_runs = start().open(path, engine)
    with_runs.call("runs.enqueue", run_id="run", **RUN)
    assert with_runs.finish() == 0


def test_a_file_without_write_permission(
    start: Callable[..., Child], unprivileged: Callable[[], Child], public: Path, engine: str
) -> None:
    path = public / "store.sqlite"
    _make(start, path, engine)
    path.chmod(0o444)
    before = path.read_bytes()

    with pytest.raises(ReadOnlyStoreError):
        unprivileged().open(path, engine)
    reader = unprivileged().open(path, engine, read_only=True)
    assert [run.run_id for run in reader.call("runs.list")] == ["run"]
    with pytest.raises(ReadOnlyStoreError):
        reader.call("runs.enqueue", run_id="other", **RUN)
    assert reader.finish() == 0

    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_file_without_read_permission(
    start: Callable[..., Child], unprivileged: Callable[[], Child], public: Path, engine: str
) -> None:
    path = public / "store.sqlite"
    _make(start, path, engine)
    path.chmod(0)
    for read_only in (False, True):
        with pytest.raises(StoreIOError):
            unprivileged().open(path, engine, read_only=read_only)


def test_a_folder_without_write_permission(
    start: Callable[..., Child], unprivileged: Callable[[], Child], public: Path, engine: str
) -> None:
    folder = public / "folder"
    folder.mkdir()
    folder.chmod(0o555)
    with pytest.raises(StoreIOError):
        unprivileged().open(folder / "store.sqlite", engine)
    with pytest.raises(StoreIOError):
        unprivileged().open(folder / "more" / "store.sqlite", engine)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("before", ["at rest", "in use"])
def test_a_reader_sees_what_writers_commit(
    start: Callable[..., Child], path: Path, engine: str, before: str
) -> None:
    """Also a reader that was there first, when nobody else had the file open."""
    _make(start, path, engine)
    writer = start()
    if before == "in use":
        writer.open(path, engine)
    reader = start().open(path, engine, read_only=True)
    assert [run.run_id for run in reader.call("runs.list")] == ["run"]
    if before == "at rest":
        writer.open(path, engine)

    for turn in range(30):
        writer.call("runs.enqueue", run_id=f"run-{turn}", input="x" * 20_000, **RUN)
        assert len(reader.call("runs.list")) == turn + 2
        with pytest.raises(ReadOnlyStoreError):
            reader.call("runs.claim_next", runner_id="reader", lease_ms=1000)
    assert writer.finish() == 0
    assert len(reader.call("runs.list")) == 31
    assert reader.finish() == 0
    check_file(start(), path)
