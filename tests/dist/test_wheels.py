"""The wheels: each installs, works, says what it is, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from environments import Environment

from conftest import NewEnvironment

PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def test_the_native_wheel(environment: Environment, native_wheel: Path) -> None:
    environment.install(native_wheel)
    environment.works_with("native")
    assert environment.info()["reason"] == "its extension is installed"
    assert environment.info(FENCEPOST_ENGINE="python")["engine"] == "python"


def test_the_pure_wheel(environment: Environment, pure_wheel: Path) -> None:
    environment.install(pure_wheel)
    environment.works_with("python")
    info = environment.info()
    assert info["reason"] == "the native extension is not installed: this is the pure build"
    refusal = environment.code(
        "import fencepost; fencepost.open('store.sqlite', engine='native')", ok=False
    ).stderr
    assert "EngineUnavailableError" in refusal
    assert "install a wheel for this platform" in refusal


@pytest.mark.parametrize("python", PYTHONS)
def test_each_python_takes_both_wheels(
    python: str, new_environment: NewEnvironment, native_wheel: Path, pure_wheel: Path
) -> None:
    """One native wheel serves them all: its extension keeps to the stable ABI."""
    environment = new_environment(python)
    environment.install(native_wheel)
    environment.works_with("native")
    environment.install(pure_wheel)
    environment.works_with("python")


def test_pip_prefers_the_native_wheel(
    environment: Environment, native_wheel: Path, pure_wheel: Path
) -> None:
    environment.install("fencepost", wheels=native_wheel.parent)
    environment.works_with("native")


def test_from_pure_to_native_and_back(
    environment: Environment, native_wheel: Path, pure_wheel: Path
) -> None:
    environment.install(pure_wheel)
    pure = environment.files()
    environment.works_with("python")

    environment.install(native_wheel)
    assert environment.files() == pure - {"_build.txt"} | {"_native.abi3.so"}
    environment.works_with("native")

    environment.install(pure_wheel)
    assert environment.files() == pure
    environment.works_with("python")


def test_nothing_is_left_after_an_uninstallation(
    environment: Environment, native_wheel: Path
) -> None:
    before = set(environment.site_packages.iterdir())
    environment.install(native_wheel)
    environment.works_with("native")
    environment.run(environment.python, "-m", "pip", "uninstall", "--yes", "fencepost")
    assert set(environment.site_packages.iterdir()) == before


def test_types_and_sql_come_along(
    environment: Environment, native_wheel: Path, pure_wheel: Path
) -> None:
    for wheel in (native_wheel, pure_wheel):
        environment.install(wheel)
        assert {"py.typed", "_native.pyi", "sql/schema.sql", "sql/runs.sql"} <= environment.files()


def test_it_runs_as_a_module(environment: Environment, pure_wheel: Path) -> None:
    environment.install(pure_wheel)
    version = pure_wheel.name.split("-")[1]
    done = environment.run(environment.python, "-m", "fencepost", "--version")
    assert done.stdout == f"fencepost {version}\n"


@pytest.mark.parametrize("engine", ["native", "python"])
def test_both_engines_reproduce_the_recorded_behaviour(
    engine: str, environment: Environment, native_wheel: Path, source: Path
) -> None:
    environment.install(native_wheel)
    vectors = sorted((source / "tests" / "vectors").glob("*.jsonl"))
    assert vectors
    environment.run(
        environment.folder / "bin" / "fencepost", "conformance", *vectors, "--engine", engine
    )
