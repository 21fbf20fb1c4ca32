"""No room: a typed error, no open transaction, and the same store works on afterwards."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.errors import FencepostError, StoreFullError, StoreIOError
from tests.processes.remote import Child, check_file

RUN: dict[str, Any] = {
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "runner_id": "runner",
    "lease_ms": 60_000,
}
LARGE = "x" * 100_000


def _fill(store: fencepost.Store, made: list[str], most: int = 1000) -> FencepostError:
    """Write until the store refuses; the refusal."""
    for _ in range(most):
        run_id = f"run-{len(made)}"
        try:
            store.runs.enqueue(run_id=run_id, input=LARGE, **RUN)
        except FencepostError as error:
            return error
        made.append(run_id)
    raise AssertionError("there was no end of the room")


def hit_a_limit(*, path: str, engine: str) -> dict[str, Any]:
    """A limit on the size of files; past it, writing fails as on a broken disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    made: list[str] = []
    with fencepost.open(path, engine=engine, busy_timeout_ms=200) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
        errors = [_fill(store, made) for _ in range(3)]
        present = sorted(run.run_id for run in store.runs.iterate())
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        store.runs.enqueue(run_id="after", input=LARGE, **RUN)
        after = sorted(run.run_id for run in store.runs.iterate())
    return {
        "errors": errors,
        "made": sorted(made),
        "present": present,
        "after": after,
    }


def _judge(result: dict[str, Any], kinds: tuple[type[FencepostError], ...]) -> None:
    assert len(result["made"]) > 2
    for error in result["errors"]:
        assert isinstance(error, kinds), repr(error)
        assert error.sqlite_code is not None
        assert not error.retryable
    assert result["present"] == result["made"]
    assert result["after"] == sorted([*result["made"], "after"])


def test_a_write_that_fails_changes_nothing(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    result = start().run(hit_a_limit, path=str(path), engine=engine)

    _judge(result, (StoreIOError, StoreFullError))
    check_file(start(), path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes, where the tests may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("a small file system can be mounted by root only")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"a small file system can't be mounted here: {made.stderr.strip()}")
    yield folder
    # Lazily, because children of a failed test may have files open on it.
    subprocess.run([umount, "--lazy", str(folder)], check=True)


def fill_the_disk(*, path: str, engine: str) -> dict[str, Any]:
    """Fill the disk, free some of it, and go on with the same store."""
    ballast = f"{path}.ballast"
    with open(ballast, "wb") as file:
        file.write(b"x" * 500_000)
    made: list[str] = []
    with fencepost.open(path, engine=engine, busy_timeout_ms=200) as store:
        errors = [_fill(store, made) for _ in range(3)]
        present = sorted(run.run_id for run in store.runs.iterate())
        os.unlink(ballast)
        store.runs.enqueue(run_id="after", input=LARGE, **RUN)
        after = sorted(run.run_id for run in store.runs.iterate())
    return {"errors": errors, "made": sorted(made), "present": present, "after": after}


def test_a_full_disk_changes_nothing(
    start: Callable[..., Child], small_disk: Path, engine: str
) -> None:
    path = small_disk / "store.sqlite"
    filler = start()
    result = filler.run(fill_the_disk, path=str(path), engine=engine)

    _judge(result, (StoreFullError,))
    checker = start()
    check_file(checker, path)
    assert filler.finish() == checker.finish() == 0


def test_a_new_store_on_a_full_disk(
    start: Callable[..., Child], small_disk: Path, engine: str
) -> None:
    with pytest.raises(OSError, match="space"):
        (small_disk / "ballast").write_bytes(b"x" * (3 * 1024 * 1024))
    path = small_disk / "store.sqlite"
    child = start()
    with pytest.raises((StoreFullError, StoreIOError)):
        child.open(path, engine)
    (small_disk / "ballast").unlink()

    child.open(path, engine)
    child.call("runs.enqueue", run_id="run", **RUN)
    child.close()
    assert child.finish() == 0
