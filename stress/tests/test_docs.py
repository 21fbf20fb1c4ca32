"""The documents say what is so: the example runs, and the format is told member by member."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from deciding import until_decided

from fencepost_stress import verdict
from fencepost_stress.checkers import CHECKERS
from fencepost_stress.faults import FAULTS
from fencepost_stress.mutants import MUTANTS, SOMETIMES
from fencepost_stress.operations import Op
from fencepost_stress.profiles import PROFILES
from fencepost_stress.shrink import Shrunk
from fencepost_stress.workloads import WORKLOADS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_example_of_a_scenario_runs(tmp_path: Path) -> None:
    text = (DOCS / "stress-your-code.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "test_invoices.py").write_text(example)

    def run(seconds: float, name: str) -> tuple[subprocess.CompletedProcess[str], str]:
        options = ["-q", "-p", "no:cacheprovider", "--stress-seconds", f"{seconds:g}"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "--basetemp", name],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        (found,) = (tmp_path / name).rglob("verdict.json")
        return done, verdict.read(found).verdict

    done, found = until_decided(run, lambda result: result[1] == "unknown", 3)
    assert (done.returncode, found) == (0, "valid"), done.stdout


@pytest.mark.parametrize(
    "members",
    [
        verdict.Verdicts.__struct_fields__,
        verdict.RunVerdict.__struct_fields__,
        verdict.Property.__struct_fields__,
        verdict.Sometime.__struct_fields__,
        Shrunk.__struct_fields__,
        tuple(Op("p", 1, "n", {}, 1, "ok", 2, clock=[(1, 1)]).describe()),
    ],
)
def test_every_member_is_told(members: tuple[str, ...]) -> None:
    text = (DOCS / "verdict-json.md").read_text()
    assert [member for member in members if f"`{member}`" not in text] == []


def rows(text: str, heading: str) -> dict[str, str]:
    """The lines of the tables below a heading, by their first cell."""
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return {line.split("|")[1].strip().split(" ")[0].strip("`"): line for line in lines}


def test_the_page_of_the_harness_tells_all_there_is() -> None:
    text = (DOCS / "stress-harness.md").read_text()
    assert set(FAULTS) <= set(rows(text, "Faults"))
    assert set(WORKLOADS) <= set(rows(text, "Workloads"))
    assert {checker.id for checker in CHECKERS} <= set(rows(text, "Properties"))  # type: ignore[attr-defined]
    told = rows(text, "Mutants")
    for name, mutant in MUTANTS.items():
        assert mutant.bug in told[name]
        assert all(id in told[name] or id == SOMETIMES for id in mutant.killers)
        assert all(fault in told[name] for fault in mutant.faults)
    for name, profile in PROFILES.items():
        line = rows(text, "Profiles")[name]
        assert f"| {profile.seconds:g} s |" in line or f"{profile.seconds:g} s |" in line
        assert f"| {profile.processes} |" in line


def test_the_version_is_told() -> None:
    assert verdict.SCHEMA in (DOCS / "verdict-json.md").read_text()
