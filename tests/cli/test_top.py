"""The live view, in a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import fencepost
from fencepost.cli.top.readings import Readings
from fencepost.clock import system_clock
from tests.cli.support import PATIENCE, Cli
from tests.processes.remote import Child
from tests.support import sql

pytest.importorskip("rich", reason="fencepost[cli] is not installed")

from rich.console import Console

from fencepost.cli.top import screen


class Terminal:
    """A terminal with a process in it."""

    def __init__(self, cli: Cli, *arguments: str, columns: int = 120) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.process = subprocess.Popen(
            cli.argv(*arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=cli.environment(TERM="xterm-256color"),
        )
        self.text = ""

    def until(self, text: str) -> None:
        """Read what is shown until the text comes."""
        end = time.monotonic() + PATIENCE
        while text not in self.text:
            left = end - time.monotonic()
            assert left > 0, f"{text!r} did not come: {self.text[-3000:]}"
            if select.select([self._ours], [], [], left)[0]:
                self.text += os.read(self._ours, 65536).decode("utf-8", "replace")

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def end(self) -> int:
        """Read the rest; the exit code."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self._ours], [], [], 0.05)[0]:
                self.text += os.read(self._ours, 65536).decode("utf-8", "replace")
        return self.process.wait(1)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self.theirs)


def test_it_follows_the_store(
    cli: Cli, start: Callable[..., Child], engine: str, filled: str
) -> None:
    worker = start().open(Path(filled), engine)
    terminal = Terminal(cli, "top")
    try:
        terminal.until("claimed runs (2)")
        terminal.until("alice")
        for number in range(3):
            worker.call(
                "runs.enqueue",
                run_id=f"new-{number}",
                workflow_name="w",
                workflow_source_ref="/w",
                runner_id="bob",
                lease_ms=20_000,
            )
            worker.call("feed.record", run_id="new", workflow_ref="w", type="started")
            terminal.until(f"new-{number}")
        terminal.until("workers (2)")
        terminal.until("started")
        terminal.press(b"xq")
        assert terminal.end() == 0
        assert termios.tcgetattr(terminal.theirs) == terminal.before
        assert "Traceback" not in terminal.text
        # The alternate screen is left, and the cursor is back.
        assert terminal.text.rindex("\x1b[?1049l") > terminal.text.rindex("\x1b[?1049h")
    finally:
        terminal.close()
    assert worker.finish() == 0


def test_ctrl_c_ends_it_too(cli: Cli, filled: str) -> None:
    terminal = Terminal(cli, "top")
    try:
        terminal.until("claimed runs (2)")
        terminal.process.send_signal(2)
        assert terminal.end() == 0
        assert termios.tcgetattr(terminal.theirs) == terminal.before
        assert "Traceback" not in terminal.text
    finally:
        terminal.close()


def test_without_a_terminal(cli: Cli, filled: str) -> None:
    done = cli("top")
    assert (done.code, done.out) == (254, "")
    assert "--once" in done.err
    once = cli("top", "--once")
    assert once.code == 0
    assert "claimed runs (2)" in once.out
    assert "\x1b" not in once.out


def test_as_json(cli: Cli, filled: str) -> None:
    one = cli("top", "--json").json()
    assert {claim["run_id"] for claim in one["run_claims"]} == {"r0", "r1"}
    assert one["workers"] == [
        {"runner_id": "alice", "runs": 2, "first_left_ms": one["workers"][0]["first_left_ms"]}
    ]
    assert one["stats"]["runs"]["claimed"] == 2
    assert one["feed_seq"] == 4


WITHOUT_RICH = """
import sys
from importlib.abc import MetaPathFinder

class NotThere(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "rich":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotThere())
from fencepost.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_without_rich_it_says_how_to_get_it(cli: Cli, filled: str) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", WITHOUT_RICH, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=cli.environment(),
        )

    done = run("top", "--once")
    assert done.returncode == 254
    assert "pip install 'fencepost[cli]'" in done.stderr
    assert run("top", "--json").returncode == 0
    assert run("runs").returncode == 0


@pytest.mark.parametrize("width, height", [(80, 24), (120, 40), (100, 30)])
def test_it_fits_the_terminal(filled: str, engine: str, width: int, height: int) -> None:
    """Also with more claims than fit, and a long path, of which the end is shown."""
    with fencepost.open(filled, engine=engine, synchronous="off") as store:
        for number in range(40):
            store.runs.enqueue(
                run_id=f"more-{number}",
                workflow_name="w",
                workflow_source_ref="/w",
                runner_id=f"a-runner-with-a-long-name-{number}",
                lease_ms=20_000,
            )
        reading = Readings(store).take(system_clock())
    console = Console(width=width, height=height)
    lines = console.render_lines(screen.frame(reading, width, height))
    shown = ["".join(segment.text for segment in line) for line in lines]
    assert len(shown) <= height
    assert {len(line) for line in shown} == {width}
    assert "/store.sqlite  " in shown[0]
    counts = "\n".join(shown[1 : 10 if height > 32 else 7])
    for word in ("claimed", "parked", "done", "waiting", "expired"):
        assert word in counts
    assert sum("more-" in line for line in shown) >= 6


def test_long_messages_break_between_words(cli: Cli, filled: str) -> None:
    sql(filled, "UPDATE workflow_run_queue SET claim_expires_at = NULL WHERE run_id = 'r0'")
    piped = cli("doctor", filled, NO_COLOR="1").out
    terminal = Terminal(cli, "doctor", filled, columns=64)
    try:
        terminal.end()
        terminal.until("1 error")
    finally:
        terminal.close()
    text = re.sub(r"\x1b\[\d*m", "", terminal.text)
    lines = text.splitlines()
    assert max(len(line) for line in piped.splitlines()) > 64
    assert all(len(line) <= 64 for line in lines[1:])
    assert text.split() == piped.split()
