"""What docs/findings.md says of other queues is shown by its scripts, without the harness."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"
SCRIPTS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def run(marker: str, module: str) -> str:
    pytest.importorskip(module)
    (script,) = (one for one in SCRIPTS if marker in one)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=250
    )
    return done.stdout


def test_every_script_is_run() -> None:
    assert len(SCRIPTS) == 6


def test_a_finished_message_is_handed_out_again() -> None:
    assert "handed out again: pay the invoice" in run("handed out again", "litequeue")


def test_two_who_recover_get_the_same_message() -> None:
    assert run("first, second = LiteQueue", "litequeue").count("pay the invoice") == 2


def test_who_is_late_finishes_it_for_the_other() -> None:
    said = run("second worker is at work", "litequeue")
    assert said.strip().endswith(("2", "MessageStatus.DONE"))


def test_a_getter_sleeps_beside_an_item() -> None:
    (seconds,) = re.findall(r"sleeping for ([\d.]+) s", run("went on sleeping", "persistqueue"))
    assert float(seconds) > 1


@pytest.mark.slow
def test_processes_get_the_same_item() -> None:
    # By chance none may be, more so where the processes take turns at few cores.
    runs = (run("handed out more than once", "persistqueue") for _ in range(40))
    assert any(int(said.split()[0]) for said in runs)


def test_opening_gives_the_items_of_others_away() -> None:
    said = run("second works on", "persistqueue")
    assert said.count("pay the invoice") == 2
