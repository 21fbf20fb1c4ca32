"""The command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import fencepost
from fencepost.cli import main


def cli(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fencepost", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", **environment},
    )


def test_the_version() -> None:
    done = cli("--version")
    assert (done.returncode, done.stdout) == (0, f"fencepost {fencepost.__version__}\n")


def test_help_names_the_commands() -> None:
    done = cli("--help")
    assert done.returncode == 0
    for command in ("info", "conformance", "stress"):
        assert command in done.stdout


@pytest.mark.parametrize(
    "arguments", [[], ["unheard-of"], ["--unheard-of"], ["info", "x", "y"]], ids=str
)
def test_bad_usage(arguments: list[str]) -> None:
    done = cli(*arguments)
    assert done.returncode == 254
    assert "usage: fencepost" in done.stderr
    assert done.stdout == ""


def test_info(engine: str) -> None:
    done = cli("info", "--json", FENCEPOST_ENGINE=engine)
    info = json.loads(done.stdout)
    assert (done.returncode, info["engine"]) == (0, engine)
    assert info["reason"] == "FENCEPOST_ENGINE asks for it"
    assert info["python_sqlite"]
    assert isinstance(info["python_sqlite_can_lose_commits"], bool)
    words = cli("info", FENCEPOST_ENGINE=engine).stdout
    assert words.startswith(f"engine         {engine} (FENCEPOST_ENGINE asks for it)\n")
    assert info["python_sqlite"] in words
    assert str(info["native_sqlite"] or "not installed") in words


def test_info_says_when_the_library_can_lose_commits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    fault = fencepost.engine_info("python").python_sqlite_can_lose_commits
    assert ("can lose commits" in capsys.readouterr().out) is fault


def test_a_wrong_engine_is_said_in_one_line() -> None:
    done = cli("info", FENCEPOST_ENGINE="rust")
    assert done.returncode == 1
    assert done.stderr == ("fencepost: FENCEPOST_ENGINE: 'rust' is none of auto, native, python\n")


def test_the_module_and_the_script_are_one(tmp_path: Path) -> None:
    script = Path(sys.executable).parent / "fencepost"
    if not script.exists():
        pytest.skip("the package is not installed with its script")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == cli("--version").stdout


WITHOUT_HARNESS = """
import sys
from importlib.abc import MetaPathFinder

class NotThere(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "fencepost_stress":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotThere())
from fencepost.cli import main
sys.exit(main(["stress", "--seed", "7"]))
"""


def test_stress_without_the_harness_says_how_to_get_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_HARNESS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 254
    assert "pip install 'fencepost[stress]'" in done.stderr
