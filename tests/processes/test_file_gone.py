"""A file that is deleted, moved or replaced under a store.

The store refuses to write from then on: nobody would ever see it. What is at the path
afterwards stays whole: neither the old store's calls nor its close touch the new file,
its log or its index.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import StoreIOError
from tests.processes.remote import Child, check_file

RUN: dict[str, Any] = {
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "runner_id": "runner",
    "lease_ms": 60_000,
}


def _delete(path: Path) -> None:
    for file in list(path.parent.iterdir()):
        file.unlink()


def _move(path: Path) -> None:
    (path.parent / "moved").mkdir()
    for file in list(path.parent.glob("store.sqlite*")):
        file.rename(path.parent / "moved" / file.name)


def _move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.mkdir()


def _runs(child: Child) -> list[str]:
    return [run.run_id for run in child.call("runs.list")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder" / "store.sqlite"


@pytest.mark.parametrize("go", [_delete, _move, _move_folder])
def test_what_takes_the_place_stays_whole(
    start: Callable[..., Child], path: Path, engine: str, go: Callable[[Path], None]
) -> None:
    old = start().open(path, engine)
    old.call("runs.enqueue", run_id="old-1", **RUN)
    go(path)
    new = start().open(path, engine)
    new.call("runs.enqueue", run_id="new-1", **RUN)
    assert _runs(new) == ["new-1"]

    for count in range(30):
        with pytest.raises(StoreIOError, match="replaced") as refused:
            old.call("runs.enqueue", run_id=f"past-{count}", input="x" * 10_000, **RUN)
        new.call("runs.enqueue", run_id=f"more-{count}", input="x" * 10_000, **RUN)
    assert refused.value.code == "io"
    assert _runs(old) == ["old-1"]
    assert old.finish() == 0

    assert Path(f"{path}-wal").exists(), "the old store deleted the log of the new one"
    third = start().open(path, engine)
    third.call("runs.enqueue", run_id="third", **RUN)
    expected = ["new-1", *(f"more-{count}" for count in range(30)), "third"]
    assert sorted(_runs(new)) == sorted(_runs(third)) == sorted(expected)
    assert new.finish() == third.finish() == 0
    check_file(start(), path)


def test_a_moved_store_is_whole_where_it_is(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    old = start().open(path, engine)
    old.call("runs.enqueue", run_id="before", **RUN)
    _move_folder(path)
    with pytest.raises(StoreIOError):
        old.call("runs.enqueue", run_id="after", **RUN)

    moved = path.parent.with_name("moved") / path.name
    there = start().open(moved, engine)
    there.call("runs.enqueue", run_id="there", **RUN)
    assert old.finish() == 0
    assert _runs(there) == ["before", "there"]
    check_file(start(), moved)


def test_the_database_alone_is_deleted(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    """The log and the index still belong to the deleted file: refused until they are free."""
    old = start().open(path, engine)
    old.call("runs.enqueue", run_id="old", **RUN)
    path.unlink()

    new = start()
    with pytest.raises(StoreIOError):
        new.open(path, engine, busy_timeout_ms=200)
    with pytest.raises(StoreIOError):
        old.call("runs.enqueue", run_id="older", **RUN)
    assert _runs(old) == ["old"]
    assert old.finish() == 0

    new.open(path, engine)
    new.call("runs.enqueue", run_id="new", **RUN)
    assert _runs(new) == ["new"]
    check_file(start(), path)


def test_a_store_at_rest_is_replaced(start: Callable[..., Child], path: Path, engine: str) -> None:
    """The way to restore a backup: everybody has closed, then the file is put in place."""
    first = start().open(path, engine)
    first.call("runs.enqueue", run_id="backed-up", **RUN)
    first.close()
    shutil.copyfile(path, path.with_name("backup"))
    first.open(path, engine)
    first.call("runs.enqueue", run_id="lost", **RUN)
    first.close()
    assert [file.name for file in path.parent.glob("store.sqlite*")] == [path.name]

    path.with_name("backup").replace(path)

    first.open(path, engine)
    assert _runs(first) == ["backed-up"]
    first.call("runs.enqueue", run_id="new", **RUN)
    check_file(start(), path)


def test_the_file_is_replaced_while_a_write_waits_for_the_lock(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    """It is looked at after the wait, like the clock."""
    old, holder = start().open(path, engine), start()
    old.call("runs.enqueue", run_id="old", **RUN)
    holder.sql(path, "BEGIN IMMEDIATE")
    old.begin_call("runs.enqueue", run_id="late", **RUN)
    assert not old.answered(0.3)
    _move_folder(path)
    new = start().open(path, engine)
    holder.sql(path, "COMMIT")

    with pytest.raises(StoreIOError, match="replaced"):
        old.end()
    assert _runs(new) == []
