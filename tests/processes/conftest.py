"""Children for the tests of many processes; none outlives its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import require
from tests.processes.remote import Child


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    """Starts a `Child`; all are gone after the test."""
    children: list[Child] = []

    def start_child(**options: Any) -> Child:
        child = Child(**options)
        children.append(child)
        return child

    yield start_child
    for child in children:
        child.kill()
        child.drop()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a new store goes."""
    return tmp_path / "store.sqlite"


@pytest.fixture
def other_engine(engine: str) -> str:
    """The engine that is not under test."""
    return require("python" if engine == "native" else "native")


@pytest.fixture(params=["native", "python", "mixed"])
def engines(request: pytest.FixtureRequest) -> list[str]:
    """What the processes of a test take turns with."""
    names = ["native", "python"] if request.param == "mixed" else [request.param]
    return [require(name) for name in names]
