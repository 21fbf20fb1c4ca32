"""Fixtures: every behaviour test gets each engine in turn."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fencepost
from fencepost.engine.select import native_module
from tests.node import Node
from tests.resting import fill
from tests.support import ENGINES, SetClock, absence, describe

# They need what `make dist` builds, and run by `make dist-test`.
collect_ignore = ["dist"]

OpenStore = Callable[..., fencepost.Store]


def pytest_configure(config: pytest.Config) -> None:
    # The SQLite of the interpreter is what it is; the header shows its version.
    config.addinivalue_line("filterwarnings", "ignore::fencepost.SQLiteVersionWarning")


def pytest_report_header() -> str:
    return f"engines: {', '.join(describe(engine) for engine in ENGINES)}"


def demanded() -> bool:
    """Whether a test fails where the native engine is not there."""
    return os.environ.get("FENCEPOST_REQUIRE_NATIVE") == "1"


def require(engine: str) -> str:
    """The engine; without it the test is skipped, or fails where the engine is demanded."""
    missing = absence(engine)
    if missing is not None:
        if demanded():
            pytest.fail(f"{engine}: {missing}, and FENCEPOST_REQUIRE_NATIVE=1 demands it")
        pytest.skip(f"{engine}: {missing}")
    return engine


@pytest.fixture(scope="session")
def native() -> ModuleType:
    """The extension itself, under the same rule."""
    require("native")
    module = native_module()
    assert module is not None
    return module


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return require(request.param)


@pytest.fixture
def both_engines() -> tuple[str, ...]:
    """For tests that compare the engines, each on a file of its own."""
    return tuple(require(engine) for engine in ENGINES)


@pytest.fixture
def engines_here() -> tuple[str, ...]:
    """For tests that say what is right, and that all engines do the same; both where demanded."""
    return tuple(require(engine) for engine in ENGINES if demanded() or absence(engine) is None)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "store.sqlite")


@pytest.fixture
def open_store(engine: str, path: str, clock: SetClock) -> Iterator[OpenStore]:
    """Opens stores (by default the test's one) with the engine; closes what is left open."""
    opened: list[fencepost.Store] = []

    def open_one(where: str | Path | None = None, **options: Any) -> fencepost.Store:
        given = {"engine": engine, "synchronous": "off", "clock": clock, **options}
        opened.append(fencepost.open(path if where is None else where, **given))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> fencepost.Store:
    return open_store()


@pytest.fixture
def resting(open_store: OpenStore, path: str) -> str:
    """The path of a database with something in it, which nobody has open."""
    with open_store() as store:
        fill(store)
    return path


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """A node process, for tests that compare with ECMAScript; without node they are skipped."""
    command = shutil.which("node")
    if command is None:
        pytest.skip("node is not here to compare with")
    process = Node(command)
    yield process
    process.end()
