"""Paths that lead to no store: refused, and nothing made on the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import fencepost
from tests.conftest import OpenStore
from tests.support import enqueue, refused


@pytest.mark.parametrize(
    "where", ["", ".", "sub", "file/under"], ids=["empty", "the folder", "a folder", "below a file"]
)
def test_paths_that_are_no_files(open_store: OpenStore, tmp_path: Path, where: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "file").write_text("x")
    target = "" if where == "" else str(tmp_path / where)
    with refused("invalid" if where == "" else "io"):
        open_store(target)
    assert sorted(os.listdir(tmp_path)) == ["file", "sub"]
    assert os.listdir(tmp_path / "sub") == []


@pytest.mark.parametrize(
    "given",
    [None, 5, b"/tmp/x", "a\x00b", "/tmp/x\ud800", ["a"], 1.5, object()],  # noqa: S108
    ids=lambda value: repr(value)[:12],
)
def test_what_is_no_path(engine: str, given: Any) -> None:
    with refused("invalid"):
        fencepost.open(given, engine=engine)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(open_store: OpenStore, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with refused("io"):
        open_store(tmp_path / "store.sqlite")
    tmp_path.chmod(0o700)


def test_a_very_long_name(open_store: OpenStore, tmp_path: Path) -> None:
    with refused("io"):
        open_store(tmp_path / ("x" * 5000))


def test_a_dangling_link_is_no_file(open_store: OpenStore, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "missing" / "target")
    with refused("io"):
        open_store(tmp_path / "link")
    assert os.listdir(tmp_path) == ["link"]


def test_a_link_leads_to_the_store(open_store: OpenStore, tmp_path: Path, path: str) -> None:
    with open_store() as store:
        enqueue(store)
    (tmp_path / "link").symlink_to(path)
    with open_store(tmp_path / "link") as store:
        assert store.runs.get(run_id="r")
