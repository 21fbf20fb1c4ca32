"""The harness: its wheel beside either wheel of the core, and its source distribution."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from environments import Environment


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "python"])
def test_it_decides_a_run(
    engine: str,
    environment: Environment,
    native_wheel: Path,
    pure_wheel: Path,
    stress_wheel: Path,
    wheelhouse: Path,
) -> None:
    core = native_wheel if engine == "native" else pure_wheel
    environment.install(core, stress_wheel, wheels=wheelhouse / "stress")
    done = environment.run(
        *(environment.folder / "bin" / "fencepost", "stress", "--json", "--engine", engine),
        *("--processes", "3", "--seconds", "2", "--faults", "none", "--seed", "7"),
    )
    assert json.loads(done.stdout)["verdict"] == "valid"


def test_the_extra_brings_it(
    environment: Environment, native_wheel: Path, wheelhouse: Path
) -> None:
    environment.run(
        *(environment.python, "-m", "pip", "install", "--no-index", "fencepost[stress]"),
        *("--find-links", native_wheel.parent, "--find-links", wheelhouse / "stress"),
    )
    done = environment.run(environment.folder / "bin" / "fencepost", "stress", "--help")
    assert "--faults" in done.stdout
    listed = environment.run(environment.python, "-m", "pip", "list", "--format", "json").stdout
    assert {"fencepost", "fencepost-stress"} <= {entry["name"] for entry in json.loads(listed)}


def test_its_source_distribution(
    environment: Environment,
    native_wheel: Path,
    stress_sdist: Path,
    stress_wheel: Path,
    wheelhouse: Path,
) -> None:
    environment.install(native_wheel)
    environment.install("--no-deps", stress_sdist, wheels=wheelhouse / "pure")
    package = environment.site_packages / "fencepost_stress"
    from_sdist = {file.relative_to(package) for file in package.rglob("*") if file.is_file()}
    environment.install("--no-deps", stress_wheel)
    from_wheel = {file.relative_to(package) for file in package.rglob("*") if file.is_file()}
    assert from_sdist == from_wheel
