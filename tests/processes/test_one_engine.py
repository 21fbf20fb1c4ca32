"""One engine a file a process, whatever name the file goes by."""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.errors import EngineConflictError, StoreIOError
from tests.conftest import require
from tests.processes.remote import Child, check_file


def _symlink(path: Path) -> Path:
    link = path.with_name("symlink.sqlite")
    link.symlink_to(path)
    return link


def _symlinked_folder(path: Path) -> Path:
    link = path.parent.with_name(path.parent.name + "-link")
    link.symlink_to(path.parent)
    return link / path.name


def _hard_link(path: Path) -> Path:
    link = path.with_name("hard.sqlite")
    os.link(path, link)
    return link


def _roundabout(path: Path) -> Path:
    return path.parent / "." / "nothing" / ".." / path.name


def _relative(path: Path) -> Path:
    return Path(os.path.relpath(path))


NAMES = [lambda path: path, _symlink, _symlinked_folder, _hard_link, _roundabout, _relative]
NAME_IDS = ["same", "symlink", "symlinked-folder", "hard-link", "roundabout", "relative"]


@pytest.mark.parametrize("name", NAMES, ids=NAME_IDS)
@pytest.mark.parametrize("read_only", [False, True], ids=["write", "read-only"])
def test_a_second_engine_is_refused_until_the_first_has_closed(
    path: Path, engine: str, other_engine: str, name: Callable[[Path], Path], read_only: bool
) -> None:
    with fencepost.open(path, engine=engine) as store:
        other_name = name(path)
        with pytest.raises(EngineConflictError, match=engine) as refused:
            fencepost.open(other_name, engine=other_engine, read_only=read_only)
        assert refused.value.code == "engine_conflict"
        assert store.feed.latest_seq() == 0
    with fencepost.open(other_name, engine=other_engine, read_only=read_only) as store:
        assert store.engine_name == other_engine
        with pytest.raises(EngineConflictError):
            fencepost.open(path, engine=engine)


def test_the_same_engine_may_open_twice(path: Path, engine: str, other_engine: str) -> None:
    first = fencepost.open(path, engine=engine, guard="error")
    second = fencepost.open(path, engine=engine, guard="error")
    second.feed.record(run_id="r", workflow_ref="w", type="t")
    assert first.feed.latest_seq() == 1
    first.close()
    with pytest.raises(EngineConflictError):
        fencepost.open(path, engine=other_engine)
    second.close()
    fencepost.open(path, engine=other_engine).close()


def test_other_files_may_have_the_other_engine(path: Path, engine: str, other_engine: str) -> None:
    with (
        fencepost.open(path, engine=engine),
        fencepost.open(path.with_name("other.sqlite"), engine=other_engine),
    ):
        pass


def test_a_refused_opening_leaves_no_claim_on_the_file(
    tmp_path: Path, engine: str, other_engine: str
) -> None:
    rubbish = tmp_path / "rubbish.sqlite"
    rubbish.write_bytes(b"no database at all, by any means" * 64)
    with pytest.raises(fencepost.errors.CorruptStoreError):
        fencepost.open(rubbish, engine=engine)
    with pytest.raises(fencepost.errors.CorruptStoreError):
        fencepost.open(rubbish, engine=other_engine)
    with rubbish.open("rb"):
        pass


_LOCK_SCRIPT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
else:
    print("taken")
connection.close()
"""


def _others_attempt(path: str) -> str:
    """What another process hears that wants the write lock now."""
    command = [sys.executable, "-c", _LOCK_SCRIPT, path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def drop_a_lock(*, path: str, how: str) -> list[str]:
    """Pass by the native engine while it holds the write lock, with the guard off."""
    heard: list[str] = []
    armed = False

    def clock() -> int:
        if armed:
            heard.append(_others_attempt(path))
            if how == "open":
                with open(f"{path}-shm", "rb") as index:
                    index.read(1)
            else:
                connection = sqlite3.connect(path)
                connection.execute("SELECT * FROM schema_info").fetchall()
                connection.close()
            heard.append(_others_attempt(path))
        return 1_785_834_000_000

    with fencepost.open(path, engine="native", guard="off", clock=clock) as store:
        armed = True
        store.feed.record(run_id="r", workflow_ref="w", type="t")
        armed = False
    return heard


@pytest.mark.parametrize("how", ["open", "sqlite3.connect"])
def test_why_one_library_a_process(start: Callable[..., Child], path: Path, how: str) -> None:
    """No promise but the reason for ours: the write lock is gone, and nobody is told.

    In WAL mode the lock is one on the `-shm`, and closing any descriptor of a file drops
    all locks that the process has on it.
    """
    require("native")
    heard = start().run(drop_a_lock, path=str(path), how=how)

    assert heard == ["database is locked", "taken"]
    check_file(start(), path)


def test_a_second_name_for_the_file_is_refused(path: Path, engine: str) -> None:
    """Two hard links to a database get a log each, and overwrite each other's pages."""
    with fencepost.open(path, engine=engine) as store:
        with pytest.raises(StoreIOError, match="two names"):
            fencepost.open(_hard_link(path), engine=engine)
        for name in (_symlink(path), _symlinked_folder(path), _roundabout(path), _relative(path)):
            with fencepost.open(name, engine=engine) as again:
                again.feed.record(run_id="r", workflow_ref="w", type="t")
        assert store.feed.latest_seq() == 4


def _forget(stores: list[Any]) -> None:
    stores.clear()
    gc.collect()


def test_what_is_left_of_a_forgotten_store_keeps_its_file(
    path: Path, engine: str, other_engine: str
) -> None:
    facets = [fencepost.open(path, engine=engine).runs]
    gc.collect()
    with pytest.raises(EngineConflictError):
        fencepost.open(path, engine=other_engine)
    fencepost.open(path, engine=engine).close()
    assert facets[0].list() == []
    with pytest.warns(ResourceWarning, match="never closed"):
        _forget(facets)


def test_a_forgotten_store_frees_its_file(path: Path, engine: str, other_engine: str) -> None:
    stores = [fencepost.open(path, engine=engine)]
    stores[0].feed.record(run_id="r", workflow_ref="w", type="t")
    with pytest.warns(ResourceWarning, match="store"):
        _forget(stores)
    with fencepost.open(path, engine=other_engine) as store:
        assert store.feed.latest_seq() == 1


@pytest.mark.parametrize("guard", [None, "error", "warn", "off"])
def test_a_file_that_is_open_already(path: Path, guard: str | None) -> None:
    """The native engine notices whoever opened the file before it came."""
    require("native")
    fencepost.open(path, engine="python").close()
    connection = sqlite3.connect(path)
    connection.execute("SELECT count(*) FROM schema_info").fetchall()
    if guard in (None, "error"):
        with pytest.raises(EngineConflictError):
            fencepost.open(path, engine="native", guard=guard)
    elif guard == "warn":
        with pytest.warns(fencepost.GuardWarning):
            fencepost.open(path, engine="native", guard=guard).close()
    else:
        fencepost.open(path, engine="native", guard=guard).close()
    connection.close()
    fencepost.open(path, engine="native").close()
