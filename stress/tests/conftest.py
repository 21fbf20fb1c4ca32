"""Makes the helpers beside the tests importable, and has the runs that several tests read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fencepost_stress import cli

sys.path.insert(0, str(Path(__file__).parent))

import saved


@pytest.fixture(scope="session")
def saved_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a short real run with faults; to be read only."""
    return saved.real_run(tmp_path_factory.mktemp("saved"))


@pytest.fixture(scope="session")
def planted_run(
    saved_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """The same with a planted violation, and the call that lies; replayed once."""
    copy, call = saved.planted(saved_run, tmp_path_factory.mktemp("planted"))
    assert cli.main(["replay", str(copy)]) == 1
    return copy, call
