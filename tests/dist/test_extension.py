"""An extension that is broken, another project's, or older than the source beside it."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest
from environments import Environment

OPEN = """
import fencepost, sys
try:
    fencepost.open("store.sqlite", engine=sys.argv[1] if sys.argv[1:] else None).close()
except fencepost.errors.EngineUnavailableError as error:
    print(error.code, error)
"""


def refusal(environment: Environment) -> str:
    """What `auto` says; neither it nor `native` goes on with the Python engine."""
    said = environment.code(OPEN).stdout
    assert said.startswith("engine_unavailable the native extension is "), said
    assert "install fencepost again" in said
    assert environment.code(OPEN, FENCEPOST_ENGINE="native").stdout == said
    assert environment.code(OPEN, FENCEPOST_ENGINE="python").stdout == ""
    done = environment.run(environment.folder / "bin" / "fencepost", "info", ok=False)
    assert done.returncode == 1
    assert "install fencepost again" in done.stderr
    assert "Traceback" not in done.stderr
    return said


@pytest.fixture
def installed(environment: Environment, native_wheel: Path) -> Environment:
    environment.install(native_wheel)
    environment.works_with("native")
    return environment


@pytest.mark.parametrize("broken", ["empty", "text", "of another machine"])
def test_a_broken_one_is_said(broken: str, installed: Environment) -> None:
    content = bytearray(installed.extension().read_bytes())
    content[18:20] = b"\xff\x7f"  # The machine in an ELF header.
    contents = {"empty": b"", "text": b"no library\n" * 1000, "of another machine": content}
    # Another file: what a process has mapped may not be written to.
    installed.extension().unlink()
    installed.extension().write_bytes(contents[broken])
    assert "is broken: " in refusal(installed)


def test_another_extension_under_our_name_is_said(installed: Environment) -> None:
    """A library that loads, and defines no module of this name."""
    foreign = importlib.util.find_spec("_csv")
    assert foreign is not None
    if not foreign.has_location or foreign.origin is None:
        pytest.skip("this Python has its extensions built in")
    shutil.copy(foreign.origin, installed.extension())
    assert "is broken: dynamic module does not define" in refusal(installed)


def test_another_project_s_module_under_our_name_is_said(installed: Environment) -> None:
    installed.extension().unlink()
    installed.extension().with_name("_native.py").write_text("answer = 42\n")
    assert "is of version unknown" in refusal(installed)


def test_an_older_one_beside_newer_source_is_said(installed: Environment) -> None:
    version = installed.site_packages / "fencepost" / "_version.py"
    old = installed.run(installed.folder / "bin" / "fencepost", "--version").stdout.split()[1]
    version.write_text('__version__ = "99.0.0"\n')
    assert f"is of version {old}, fencepost of 99.0.0" in refusal(installed)


@pytest.mark.parametrize("changed", ["sql/runs.sql", "_native.pyi"])
def test_one_of_an_earlier_build_of_the_same_version_is_said(
    changed: str, installed: Environment
) -> None:
    file = installed.site_packages / "fencepost" / changed
    file.write_text(f"{file.read_text('utf-8')}\n-- more\n", "utf-8")
    assert f"({file.stem} differ)" in refusal(installed)


def test_installing_again_repairs_it(
    installed: Environment, native_wheel: Path, pure_wheel: Path
) -> None:
    installed.extension().write_bytes(b"")
    refusal(installed)
    installed.install(native_wheel)
    installed.works_with("native")
    installed.extension().write_bytes(b"")
    installed.install(pure_wheel)
    installed.works_with("python")
