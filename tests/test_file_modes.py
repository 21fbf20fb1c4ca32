"""Modes of files and folders: what is made is its owner's alone; what is there keeps its own."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OpenStore
from tests.support import enqueue


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def umask_0() -> Any:
    """The widest umask: modes are the store's own choice."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_new_file_is_for_its_owner_alone(open_store: OpenStore, path: str, umask_0: None) -> None:
    store = open_store()
    enqueue(store)
    assert mode(path) == 0o600
    for name in ("-wal", "-shm"):
        assert mode(path + name) == 0o600
    store.close()
    assert mode(path) == 0o600


def test_missing_folders_are_made_for_their_owner(
    open_store: OpenStore, tmp_path: Path, umask_0: None
) -> None:
    open_store(tmp_path / "a" / "b" / "store.sqlite").close()
    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o700, 0o700]


@pytest.mark.parametrize("given", [0o755, 0o777, 0o700])
def test_an_existing_folder_keeps_its_mode(
    open_store: OpenStore, tmp_path: Path, given: int
) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    folder.chmod(given)
    open_store(folder / "new" / "store.sqlite").close()
    open_store(folder / "store.sqlite").close()
    assert mode(folder) == given


def test_an_existing_file_keeps_its_mode(open_store: OpenStore, path: str) -> None:
    open_store().close()
    Path(path).chmod(0o640)
    enqueue(open_store())
    assert mode(path) == 0o640
