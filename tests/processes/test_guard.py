"""The watch on whoever opens a live database past its store."""

from __future__ import annotations

import os
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import GuardWarning
from fencepost.errors import EngineConflictError

Opening = Callable[[Path], None]


def _open(path: Path) -> None:
    with open(path, "rb"):
        pass


def _open_bytes(path: Path) -> None:
    with open(os.fsencode(path), "rb"):
        pass


def _os_open(path: Path) -> None:
    os.close(os.open(path, os.O_RDONLY))


def _read_bytes(path: Path) -> None:
    path.read_bytes()


def _relative(path: Path) -> None:
    _open(Path(os.path.relpath(path)))


def _symlink(path: Path) -> None:
    link = path.with_name(f"link-{path.name}")
    link.unlink(missing_ok=True)
    link.symlink_to(path)
    _open(link)


def _hard_link(path: Path) -> None:
    link = path.with_name(f"hard-{path.name}")
    link.unlink(missing_ok=True)
    os.link(path, link)
    try:
        _open(link)
    finally:
        link.unlink()


def _symlinked_folder(path: Path) -> None:
    link = path.parent.with_name(f"{path.parent.name}-link")
    link.unlink(missing_ok=True)
    link.symlink_to(path.parent)
    _open(link / path.name)


def _copy(path: Path) -> None:
    import shutil

    shutil.copyfile(path, path.with_name("copy"))


PLAIN = [
    _open,
    _open_bytes,
    _os_open,
    _read_bytes,
    _relative,
    _symlink,
    _hard_link,
    _symlinked_folder,
    _copy,
]


def _connect(path: Path) -> None:
    sqlite3.connect(path).close()


def _connect_bytes(path: Path) -> None:
    sqlite3.connect(os.fsencode(path)).close()


def _connect_uri(path: Path) -> None:
    sqlite3.connect(f"file:{path}?mode=ro", uri=True).close()


def _connect_escaped_uri(path: Path) -> None:
    name = path.name.replace("s", "%73")
    sqlite3.connect(f"file://{path.parent}/{name}?mode=ro#x", uri=True).close()


def _connect_symlink(path: Path) -> None:
    link = path.with_name("connect-link")
    link.unlink(missing_ok=True)
    link.symlink_to(path)
    sqlite3.connect(link).close()


CONNECT = [_connect, _connect_bytes, _connect_uri, _connect_escaped_uri, _connect_symlink]


@pytest.fixture
def opened(engine: str, path: Path) -> Iterator[Callable[..., fencepost.Store]]:
    """Opens the store, and writes, so that its `-wal` and `-shm` are there."""
    stores: list[fencepost.Store] = []

    def open_store(**options: Any) -> fencepost.Store:
        store = fencepost.open(path, engine=engine, **options)
        store.feed.record(run_id="r", workflow_ref="w", type="t")
        stores.append(store)
        return store

    yield open_store
    for store in stores:
        store.close()


def _reaction(action: Opening, path: Path) -> str:
    """What an opening meets: "error", "warn" or "off"."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            action(path)
        except EngineConflictError:
            return "error"
    kinds = {warning.category for warning in heard} - {ResourceWarning}
    assert kinds <= {GuardWarning}
    return "warn" if kinds else "off"


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("action", PLAIN, ids=lambda action: action.__name__[1:])
@pytest.mark.parametrize("guard", ["error", "warn", "off", None])
def test_a_plain_opening(
    opened: Callable[..., fencepost.Store],
    path: Path,
    guard: str | None,
    action: Opening,
    suffix: str,
) -> None:
    opened(guard=guard)
    target = path.with_name(path.name + suffix)
    assert target.exists()

    assert _reaction(action, target) == (guard or "warn")


@pytest.mark.parametrize("action", CONNECT, ids=lambda action: action.__name__[1:])
@pytest.mark.parametrize("guard", ["error", "warn", "off", None])
def test_a_connection_of_the_interpreters_sqlite(
    opened: Callable[..., fencepost.Store],
    path: Path,
    engine: str,
    guard: str | None,
    action: Opening,
) -> None:
    opened(guard=guard)

    # The Python engine shares the library, which knows its own locks.
    expected = "off" if engine == "python" else guard or "error"
    assert _reaction(action, path) == expected


def test_an_error_comes_before_the_file_is_opened(
    opened: Callable[..., fencepost.Store], path: Path
) -> None:
    opened(guard="error")
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    with pytest.raises(EngineConflictError, match="store"):
        _open(path)
    after = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    assert len(after) == len(before)


def test_the_strictest_of_two_stores_counts(
    opened: Callable[..., fencepost.Store], path: Path
) -> None:
    opened(guard="off")
    strict = opened(guard="error")
    assert _reaction(_open, path) == "error"
    strict.close()
    assert _reaction(_open, path) == "off"


def test_nobody_is_bothered_by_what_does_no_harm(
    opened: Callable[..., fencepost.Store], path: Path
) -> None:
    opened(guard="error")
    other = path.with_name("other")
    other.write_bytes(b"1")
    other.read_bytes()
    sqlite3.connect(path.with_name("other.sqlite")).close()
    sqlite3.connect(":memory:").close()
    os.stat(path)
    os.stat(f"{path}-shm")
    os.access(path, os.R_OK)
    assert path.exists()
    assert list(path.parent.iterdir())
    with open(os.open(other, os.O_RDONLY), "rb") as by_number:
        by_number.read()
    assert not path.with_name("missing").exists()
    with pytest.raises(FileNotFoundError):
        path.with_name("missing-wal").open()
    other.with_name("other-wal").write_bytes(b"")
    with pytest.raises(ValueError, match="null"):
        _open(Path("a\0b"))


def test_the_watch_ends_with_the_store(opened: Callable[..., fencepost.Store], path: Path) -> None:
    opened(guard="error").close()
    for action in PLAIN + CONNECT:
        assert _reaction(action, path) == "off"


def _cost_of_opening(path: Path, times: int = 3000) -> float:
    began = time.perf_counter()
    for _ in range(times):
        os.close(os.open(path, os.O_RDONLY))
    return (time.perf_counter() - began) / times


def test_the_watch_costs_nothing_while_no_store_is_open(
    opened: Callable[..., fencepost.Store], tmp_path: Path
) -> None:
    """A call of the hook is well under a microsecond; opening a file costs several."""
    file = tmp_path / "plain"
    file.write_bytes(b"")
    opened().close()
    from fencepost import guard

    arguments = (str(file), "r", 0)
    best = min(_hook_cost(guard._audit, arguments) for _ in range(5))
    assert best < 0.000_002
    assert best < min(_cost_of_opening(file) for _ in range(3))


def _hook_cost(hook: Callable[[str, tuple[Any, ...]], None], arguments: tuple[Any, ...]) -> float:
    times = 20_000
    began = time.perf_counter()
    for _ in range(times):
        hook("open", arguments)
    return (time.perf_counter() - began) / times
