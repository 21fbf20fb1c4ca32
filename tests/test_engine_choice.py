"""Which engine runs: what was asked for, or the native one; a failure is never swallowed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import sqlite_versions
from tests.support import refused

ROOT = Path(__file__).parent.parent

# Stands in `sitecustomize.py`: the extension is absent, broken, or another version's.
FINDER = """
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

class Native(MetaPathFinder, Loader):
    def find_spec(self, name, path=None, target=None):
        if name == "fencepost._native":
            if {how!r} == "absent":
                raise ModuleNotFoundError("No module named 'fencepost._native'", name=name)
            return ModuleSpec(name, self)

    def exec_module(self, module):
        if {how!r} == "broken":
            raise ImportError("undefined symbol: sqlite3_open")
        if {how!r} == "misses a module":
            raise ModuleNotFoundError("No module named 'other'", name="other")
        if {how!r} == "of another build":
            from fencepost import _version
            module.__version__ = _version.__version__
            module.sources = lambda: {{"runs": "-- name: claim"}}
        else:
            module.__version__ = "0.0.1"

sys.meta_path.insert(0, Native())
"""

ASK = """
import json, sys, warnings
import fencepost
warnings.simplefilter("ignore")
answer = {}
for engine in (None, "auto", "native", "python"):
    try:
        with fencepost.open(sys.argv[1], engine=engine) as store:
            info = fencepost.engine_info(engine)
            assert info.engine == store.engine_name
            answer[str(engine)] = [store.engine_name, info.reason, info.native_sqlite]
    except Exception as error:
        answer[str(engine)] = [type(error).__name__, getattr(error, "code", ""), str(error)]
print(json.dumps(answer))
"""


def environment(tmp_path: Path, how: str, **more: str) -> dict[str, str]:
    site = tmp_path / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(FINDER.format(how=how) if how else "")
    return {**os.environ, "PYTHONPATH": str(site), **more}


def asked(tmp_path: Path, how: str, **more: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(tmp_path / "store.sqlite")],
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path, how, **more),
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_where_both_are_there(tmp_path: Path, both_engines: tuple[str, ...]) -> None:
    answer = asked(tmp_path, "", FENCEPOST_ENGINE="auto")
    assert answer["None"][:2] == ["native", "its extension is installed"]
    assert answer["auto"][:2] == ["native", "its extension is installed"]
    assert answer["native"][:2] == ["native", "the engine argument asks for it"]
    assert answer["python"][:2] == ["python", "the engine argument asks for it"]
    assert answer["native"][2]


@pytest.mark.parametrize("name", ["native", "python"])
def test_the_variable_chooses(name: str, tmp_path: Path, both_engines: tuple[str, ...]) -> None:
    answer = asked(tmp_path, "", FENCEPOST_ENGINE=name)
    assert answer["None"][:2] == [name, "FENCEPOST_ENGINE asks for it"]
    assert answer["python"][0] == "python"
    assert answer["native"][0] == "native"


def test_a_wrong_variable_is_refused(tmp_path: Path) -> None:
    answer = asked(tmp_path, "", FENCEPOST_ENGINE="rust")
    assert answer["None"] == [
        "InvalidArgumentError",
        "invalid",
        "FENCEPOST_ENGINE: 'rust' is none of auto, native, python",
    ]
    assert answer["python"][0] == "python"


def test_an_absent_extension_leads_to_the_python_engine(tmp_path: Path) -> None:
    answer = asked(tmp_path, "absent", FENCEPOST_ENGINE="auto")
    name, reason, native_sqlite = answer["auto"]
    assert (name, native_sqlite) == ("python", None)
    assert reason.startswith("the native extension is not installed")  # A pure wheel adds why.
    assert answer["None"] == answer["auto"]
    assert answer["native"][:2] == ["EngineUnavailableError", "engine_unavailable"]
    assert answer["python"][0] == "python"


@pytest.mark.parametrize(
    "how, said",
    [
        ("broken", "undefined symbol: sqlite3_open"),
        ("stale", "is of version 0.0.1"),
        ("of another build", "requests, resources, runs, schema, stats differ"),
    ],
)
def test_a_broken_or_stale_extension_is_said_not_skipped(
    how: str, said: str, tmp_path: Path
) -> None:
    answer = asked(tmp_path, how, FENCEPOST_ENGINE="auto")
    for engine in ("None", "auto", "native"):
        assert answer[engine][:2] == ["EngineUnavailableError", "engine_unavailable"]
        assert said in answer[engine][2]


def test_a_module_that_the_extension_misses_is_not_its_absence(tmp_path: Path) -> None:
    answer = asked(tmp_path, "misses a module", FENCEPOST_ENGINE="auto")
    assert answer["auto"][0] == "ModuleNotFoundError"
    assert "'other'" in answer["auto"][2]


@pytest.mark.parametrize("given", ["", "Native", "rust", 5, b"python", ["python"]])
def test_wrong_names(path: str, given: Any) -> None:
    with refused("invalid"):
        fencepost.open(path, engine=given)
    with refused("invalid"):
        fencepost.engine_info(given)


@pytest.mark.parametrize("demanded, outcome", [("0", "1 skipped"), ("1", "1 error")])
def test_the_tests_say_when_the_native_engine_is_not_tested(
    demanded: str, outcome: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
            "tests/test_feed.py::test_the_latest_seq",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment(tmp_path, "absent", FENCEPOST_REQUIRE_NATIVE=demanded),
    )
    assert f"1 passed, {outcome}" in done.stdout
    assert done.returncode == int(demanded)
    assert "engines: native (not tested: the native extension is not installed), " in done.stdout
    assert "native: the native extension is not installed" in done.stdout


def test_the_warning_of_an_old_sqlite_points_at_who_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_versions, "can_lose_commits", lambda _version: True)
    monkeypatch.setattr(sqlite_versions, "_warned", False)
    with pytest.warns(fencepost.SQLiteVersionWarning) as warned:
        fencepost.open(tmp_path / "store.sqlite", engine="python").close()
    assert [warning.filename for warning in warned] == [__file__]
