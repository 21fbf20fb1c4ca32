"""The children of the tests themselves: none outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Stopped, a child would never learn that its pipe has closed.
PARENT = """
import os, signal, sys
from tests.processes.remote import Child
child = Child()
child.sql(sys.argv[1], "SELECT 1")
os.kill(child.pid, signal.SIGSTOP)
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_stopped_child_ends_with_its_parent(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "x")],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    try:
        # The child has the same stdout, which ends with the last of the two.
        parent.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        os.kill(child, signal.SIGKILL)
        raise
