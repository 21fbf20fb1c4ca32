"""The source distribution: with a Rust toolchain, without one, and what is said then."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from environments import Environment

RUST = "(Rust 1.88 or newer is needed)"


@pytest.fixture
def only_pure(wheelhouse: Path) -> Path:
    """What a pure build may install: hatchling and its dependencies."""
    return wheelhouse / "pure"


@pytest.fixture
def only_native(wheelhouse: Path) -> Path:
    """What a native build may install: maturin."""
    return wheelhouse / "native"


def _cargo_that(folder: Path, does: str | None) -> str:
    """A search path with a cargo that is a script; None for one that no system can run."""
    folder.mkdir()
    cargo = folder / "cargo"
    cargo.write_bytes(b"\xa5" * 4096 if does is None else f"#!/bin/sh\n{does}\n".encode())
    cargo.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_without_cargo_the_pure_build_is_installed_and_says_so(
    environment: Environment, sdist: Path, only_pure: Path
) -> None:
    said = environment.install(sdist, wheels=only_pure)
    why = f"built from source, where no cargo was found {RUST}"
    assert f"fencepost: no native engine: {why}." in said
    assert "maturin" not in said
    assert "py3-none-any.whl" in said
    environment.works_with("python")
    assert environment.info()["reason"] == f"the native extension is not installed: {why}"


@pytest.mark.parametrize(
    "does, why",
    [
        ("echo 'cargo 1.65.0 (4bc8f24d3 2022-10-20)'", f"cargo is 1.65 {RUST}"),
        (
            "echo 'error: rustup could not choose a version of cargo to run' >&2; exit 1",
            "does not run: error: rustup could not choose a version of cargo to run",
        ),
        ('test "$RUSTUP_AUTO_INSTALL" = 0 && echo no toolchain >&2; exit 1', "no toolchain"),
        (None, "does not run: Exec format error"),
    ],
    ids=["old", "without a toolchain", "that would fetch one", "of another machine"],
)
def test_a_cargo_that_can_not_build_is_as_none(
    does: str | None, why: str, environment: Environment, sdist: Path, only_pure: Path, tmp_path: Path
) -> None:
    path = _cargo_that(tmp_path / "cargo", does)
    said = environment.install(sdist, wheels=only_pure, PATH=path)
    assert why in said
    environment.works_with("python")
    assert why in environment.info()["reason"]

    said = environment.install(
        sdist, wheels=only_pure, ok=False, PATH=path, FENCEPOST_BUILD="native"
    )
    assert "FENCEPOST_BUILD=native can't be done" in said
    assert why in said


def test_native_never_degrades(environment: Environment, sdist: Path, wheelhouse: Path) -> None:
    for wheels in ("pure", "native"):
        said = environment.install(
            sdist, wheels=wheelhouse / wheels, ok=False, FENCEPOST_BUILD="native"
        )
        assert f"FENCEPOST_BUILD=native can't be done: no cargo was found {RUST}" in said
        assert "Traceback" not in said
    assert not (environment.site_packages / "fencepost").exists()


def test_pure_asks_for_no_cargo(
    environment: Environment, sdist: Path, only_pure: Path, tmp_path: Path
) -> None:
    path = _cargo_that(tmp_path / "cargo", "echo it was asked; exit 1")
    said = environment.install(sdist, wheels=only_pure, FENCEPOST_BUILD="pure", PATH=path)
    assert "no native engine" not in said
    assert "it was asked" not in said
    environment.works_with("python")
    assert environment.info()["reason"].endswith(": this is the pure build")


@pytest.mark.parametrize("value", ["", "rust", "Pure"])
def test_a_wrong_choice_is_refused(
    value: str, environment: Environment, sdist: Path, only_pure: Path
) -> None:
    said = environment.install(sdist, wheels=only_pure, ok=False, FENCEPOST_BUILD=value)
    assert f"FENCEPOST_BUILD: {value!r} is none of auto, native, pure" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_with_cargo_the_native_engine_is_built(
    environment: Environment, sdist: Path, only_native: Path
) -> None:
    """Nothing but maturin is installed for it; the crates come from where cargo has them."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("no cargo here")
    real = {name: os.environ[name] for name in ("CARGO_TARGET_DIR",) if name in os.environ}
    home = Path(os.environ["HOME"])
    environment.variables = {
        "PATH": os.environ["PATH"],
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(home / ".cargo")),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(home / ".rustup")),
        **real,
        **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), ""),
    }
    said = environment.install(sdist, wheels=only_native)
    assert "hatchling" not in said
    environment.works_with("native")


def test_an_editable_pure_installation(
    environment: Environment, source: Path, only_pure: Path, tmp_path: Path
) -> None:
    """A binary of an earlier build is taken away: it would be imported."""
    tree = tmp_path / "tree"
    shutil.copytree(source, tree)
    stale = tree / "python" / "fencepost" / "_native.abi3.so"
    stale.write_bytes(b"of an earlier build")
    said = environment.install("--editable", tree, wheels=only_pure)
    assert "removing python/fencepost/_native.abi3.so, of an earlier build" in said
    assert not stale.exists()
    info = environment.info()
    assert (info["engine"], info["reason"]) == ("python", "the native extension is not installed")
    where = environment.code("import fencepost; print(fencepost.__file__)").stdout.strip()
    assert Path(where).is_relative_to(tree)


def test_the_source_distribution_makes_itself_again(
    environment: Environment, sdist: Path, source: Path, tmp_path: Path
) -> None:
    """A packager's patch and rebuild: the same files, byte for byte, without cargo."""
    tree = tmp_path / "tree"
    shutil.copytree(source, tree)
    environment.run(
        *(sys.executable, "-m", "build", "--sdist", "--no-isolation"), "--outdir", tmp_path, tree
    )
    assert (tmp_path / sdist.name).read_bytes() == sdist.read_bytes()
