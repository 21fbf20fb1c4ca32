"""The documents say what is so: the example runs, and the format is told member by member."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost_stress import verdict
from fencepost_stress.operations import Op
from fencepost_stress.shrink import Shrunk

DOCS = Path(__file__).parents[2] / "docs"


def test_the_example_of_a_scenario_runs(tmp_path: Path) -> None:
    text = (DOCS / "stress-your-code.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "test_invoices.py").write_text(example)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--stress-seconds", "3"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout


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


def test_the_version_is_told() -> None:
    assert verdict.SCHEMA in (DOCS / "verdict-json.md").read_text()
