"""An interpreter without `sqlite3`, with one that does not load, and with an old SQLite."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from environments import Environment

OPEN = "import fencepost; fencepost.open('store.sqlite').close()"

# A crate that carries each SQLite: a library of that version is compiled from it.
CRATES = {"3.31.1": "0.18.0", "3.33.0": "0.20.1", "3.35.4": "0.22.2"}
PROJECT = """\
[package]
name = "sqlite"
version = "0.0.0"
edition = "2021"

[dependencies]
libsqlite3-sys = "={crate}"

[workspace]
"""

OldSQLite = Callable[..., dict[str, str]]


@pytest.fixture(params=["absent", "broken"])
def without_sqlite3(
    request: pytest.FixtureRequest, environment: Environment, tmp_path: Path
) -> Environment:
    """The standard library, but `_sqlite3` is not in it, as in Debian's minimal Python, or
    is a file that does not load, as where libsqlite3 was removed."""
    prefix = Path(sysconfig.get_config_var("installed_base"))
    real = Path(sysconfig.get_path("stdlib"))
    copy = tmp_path / "python" / real.relative_to(prefix)
    extensions = copy / "lib-dynload"
    extensions.mkdir(parents=True)
    for entry in real.iterdir():
        if entry.name not in ("lib-dynload", "site-packages"):
            (copy / entry.name).symlink_to(entry)
    for entry in (real / "lib-dynload").iterdir():
        if not entry.name.startswith("_sqlite3."):
            (extensions / entry.name).symlink_to(entry)
        elif request.param == "broken":
            (extensions / entry.name).write_bytes(b"no library")
    environment.variables = {
        "PYTHONHOME": str(tmp_path / "python"),
        "PYTHONPATH": str(environment.site_packages),
    }
    environment.code("import sqlite3", ok=False)
    return environment


def test_without_sqlite3_the_pure_wheel_says_what_it_lacks(
    without_sqlite3: Environment, pure_wheel: Path
) -> None:
    without_sqlite3.install(pure_wheel)
    said = without_sqlite3.code(OPEN, ok=False).stderr
    assert "EngineUnavailableError: the Python engine needs sqlite3, which does not load" in said
    assert "install a wheel with the native engine, or a Python with sqlite3" in said
    assert without_sqlite3.info()["python_sqlite"] is None


def test_without_sqlite3_the_native_wheel_works(
    without_sqlite3: Environment, native_wheel: Path
) -> None:
    without_sqlite3.install(native_wheel)
    without_sqlite3.works_with("native")
    assert without_sqlite3.info()["python_sqlite"] is None
    said = without_sqlite3.code(OPEN, ok=False, FENCEPOST_ENGINE="python").stderr
    assert "the Python engine needs sqlite3, which does not load in this Python" in said


@pytest.fixture
def old_sqlite(environment: Environment, wheelhouse: Path, tmp_path: Path) -> OldSQLite:
    """Makes the interpreter of the environment link this version of SQLite, so built."""

    def old(version: str, *options: str) -> dict[str, str]:
        folder = wheelhouse / "-".join(["sqlite", version, *options])
        library = folder / "libsqlite3.so.0"
        if not library.exists():
            folder.mkdir(exist_ok=True)
            _compile(_amalgamation(CRATES[version], tmp_path), library, options)
        variables = {"LD_LIBRARY_PATH": str(folder)}
        linked = environment.code("import sqlite3; print(sqlite3.sqlite_version)", **variables)
        if linked.stdout.strip() != version:
            pytest.skip("this Python has its SQLite built in")
        return variables

    return old


def _amalgamation(crate: str, folder: Path) -> Path:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("no cargo here to get an old SQLite with")
    (folder / "src").mkdir()
    (folder / "src" / "lib.rs").touch()
    (folder / "Cargo.toml").write_text(PROJECT.format(crate=crate))
    subprocess.run([cargo, "vendor", "--quiet", "vendor"], cwd=folder, check=True)
    return folder / "vendor" / "libsqlite3-sys" / "sqlite3" / "sqlite3.c"


def _compile(source: Path, library: Path, options: Sequence[str]) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here to build an old SQLite with")
    unfinished = library.with_suffix(f".{os.getpid()}")
    subprocess.run(
        [
            *(compiler, "-O1", "-fPIC", "-shared", "-w", "-Wl,-soname,libsqlite3.so.0"),
            *("-DSQLITE_ENABLE_DESERIALIZE", "-DSQLITE_ENABLE_COLUMN_METADATA"),
            *(f"-DSQLITE_{option}" for option in options),
            *("-o", str(unfinished), str(source), "-lm", "-ldl", "-lpthread"),
        ],
        check=True,
    )
    unfinished.rename(library)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.31.1", "3.33.0"])
def test_an_old_sqlite_is_refused(
    version: str,
    environment: Environment,
    pure_wheel: Path,
    native_wheel: Path,
    old_sqlite: OldSQLite,
) -> None:
    variables = old_sqlite(version)
    environment.install(pure_wheel)
    said = environment.code(OPEN, ok=False, **variables).stderr
    assert "EngineUnavailableError: the Python engine needs SQLite 3.35 or newer" in said
    assert f"this Python links {version}; install a wheel with the native engine" in said
    assert not (environment.folder / "store.sqlite").exists()

    environment.install(native_wheel)
    environment.variables = variables
    environment.works_with("native")
    assert environment.info()["python_sqlite"] == version


@pytest.mark.slow
def test_a_sqlite_without_json_is_refused(
    environment: Environment, pure_wheel: Path, old_sqlite: OldSQLite
) -> None:
    """Its JSON functions were an option of the build before 3.38."""
    variables = old_sqlite("3.35.4")
    environment.install(pure_wheel)
    said = environment.code(OPEN, ok=False, **variables).stderr
    assert "EngineUnavailableError: the Python engine needs SQLite's JSON functions" in said
    assert not (environment.folder / "store.sqlite").exists()


@pytest.mark.slow
def test_the_oldest_sqlite_that_is_taken_does_all(
    environment: Environment, pure_wheel: Path, source: Path, old_sqlite: OldSQLite
) -> None:
    environment.variables = old_sqlite("3.35.4", "ENABLE_JSON1")
    environment.install(pure_wheel)
    environment.works_with("python")
    environment.run(
        *(environment.folder / "bin" / "fencepost", "conformance"),
        *sorted((source / "tests" / "vectors").glob("*.jsonl")),
    )
