"""What was built, and environments to install it into. `make dist-test` runs these from a copy.

Nothing of fencepost is on the path of these tests themselves, and pip finds only what is
in `dist/` and in the wheelhouse: what an installation asks for beyond that makes it fail.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from environments import Environment, create

NewEnvironment = Callable[..., Environment]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--dist-folder", type=Path, required=True, help="what `make dist` built")
    parser.addoption("--wheelhouse", type=Path, required=True, help="what builds may install")


def _only(config: pytest.Config, pattern: str) -> Path:
    found = sorted(config.getoption("--dist-folder").glob(pattern))
    assert len(found) == 1, f"{pattern}: {found}; `make dist` builds exactly one"
    return Path(found[0])


@pytest.fixture(scope="session")
def native_wheel(pytestconfig: pytest.Config) -> Path:
    return _only(pytestconfig, "fencepost-*-cp311-abi3-*.whl")


@pytest.fixture(scope="session")
def pure_wheel(pytestconfig: pytest.Config) -> Path:
    return _only(pytestconfig, "fencepost-*-py3-none-any.whl")


@pytest.fixture(scope="session")
def sdist(pytestconfig: pytest.Config) -> Path:
    return _only(pytestconfig, "fencepost-*.tar.gz")


@pytest.fixture(scope="session")
def stress_wheel(pytestconfig: pytest.Config) -> Path:
    return _only(pytestconfig, "fencepost_stress-*.whl")


@pytest.fixture(scope="session")
def stress_sdist(pytestconfig: pytest.Config) -> Path:
    return _only(pytestconfig, "fencepost_stress-*.tar.gz")


@pytest.fixture(scope="session")
def wheelhouse(pytestconfig: pytest.Config) -> Path:
    folder: Path = pytestconfig.getoption("--wheelhouse")
    return folder


@pytest.fixture(scope="session")
def source(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution, to be read only."""
    folder = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (inner,) = folder.iterdir()
    return inner


@pytest.fixture(scope="session")
def example(source: Path) -> str:
    """The code of the README."""
    blocks = re.findall(r"```python\n(.*?)```", (source / "README.md").read_text("utf-8"), re.S)
    assert blocks
    return "\n".join(blocks)


@pytest.fixture
def new_environment(tmp_path: Path, example: str) -> NewEnvironment:
    """Makes a fresh virtual environment, of another Python where one is named."""
    made = 0

    def make(python: str | None = None) -> Environment:
        nonlocal made
        made += 1
        return create(tmp_path / f"environment-{made}", example, python)

    return make


@pytest.fixture
def environment(new_environment: NewEnvironment) -> Environment:
    return new_environment()
