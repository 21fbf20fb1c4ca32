"""Queues under test from outside: shipped adapters, the page's example, and broken stores."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from deciding import decided

from fencepost_stress import cli

PAGE = Path(__file__).parents[2] / "docs" / "testing-your-queue.md"
SHORT = ("--processes", "3", "--seconds", "2", "--seed", "4")


def stress(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = cli.main([*arguments, "--json"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    return code, run


def decided_run(
    capsys: pytest.CaptureFixture[str], folder: Path, seconds: float, *arguments: str
) -> tuple[dict[str, Any], Path]:
    _, found, out = decided(capsys, folder, seconds, *arguments)
    (run,) = found["runs"]
    return run, out


def verdicts(run: dict[str, Any]) -> dict[str, str]:
    return {one["id"]: one["verdict"] for one in run["properties"]}


def example(folder: Path) -> Path:
    (code,) = re.findall(r"```javascript\n(.*?)```", PAGE.read_text(), re.DOTALL)
    adapter = folder / "adapter.mjs"
    adapter.write_text(code)
    return adapter


@pytest.fixture
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    return found


@pytest.mark.parametrize(
    "name, module, claimed",
    [
        ("huey", "huey", {"F1", "S1", "Q1"}),
        ("litequeue", "litequeue", {"F1", "S1", "Q1"}),
        ("litequeue-retry", "litequeue", {"Q1"}),
        ("persist-queue", "persistqueue", {"F1", "S1", "Q1"}),
    ],
)
def test_what_a_queue_promises_is_judged_and_nothing_else(
    name: str,
    module: str,
    claimed: set[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip(module)
    options = ("--sut", name, "--processes", "3", "--seed", "4", "--faults", "pause")
    run, out = decided_run(capsys, tmp_path, 2, *options)
    found = verdicts(run)
    assert {one for one in found if found[one] != "not claimed"} == claimed
    assert {found[one] for one in claimed} == {"valid"}
    for one in run["properties"]:
        assert one["details"]["promised"] if one["id"] in claimed else one["reason"]
    assert cli.main(["replay", str(out), "--json"]) == (0 if run["verdict"] == "valid" else 2)
    (again,) = json.loads(capsys.readouterr().out)["runs"]
    assert verdicts(again) == found


def test_nothing_claimed_is_nothing_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("persistqueue")
    out = ("--out", str(tmp_path / "out"))
    code, run = stress(capsys, "--sut", "persist-queue-processes", *SHORT, "--faults", "none", *out)
    assert (code, set(verdicts(run).values())) == (2, {"not claimed"})
    assert "it promises nothing that could be decided" in run["reasons"]


STOPPED = """
from fencepost_stress.sut.adapters.persist_queue import PersistAckQueue

class Stopped(PersistAckQueue):
    def __init__(self, place):
        super().__init__(place)
        event = self._queue.put_event
        clear = event.clear

        def late():
            event.wait(2)
            clear()

        event.clear = late
"""


def test_a_lost_wake_up_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of persist-queue, as docs/findings.md says; who waits is stopped where it happens."""
    pytest.importorskip("persistqueue")
    (tmp_path / "mine.py").write_text(STOPPED)
    monkeypatch.chdir(tmp_path)
    options = ("--workload", "wait", "--processes", "2", "--seconds", "5", "--faults", "none")
    _, run = stress(capsys, "--sut", "mine:Stopped", *options, "--out", "out")
    (broken,) = (one for one in run["properties"] if one["verdict"] == "invalid")
    assert broken["id"] == "Q1"
    assert "slept for" in broken["reason"]
    assert "--workload wait" in run["repeat"]


def test_whoever_waits_for_fencepost_is_woken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--workload", "wait", "--processes", "3", "--faults", "none")
    run, _ = decided_run(capsys, tmp_path, 3, "--sut", "fencepost-python", *options)
    assert (run["verdict"], run["reasons"]) == ("valid", [])
    assert verdicts(run) == dict.fromkeys(("F1", "S1", "Q1"), "valid")


def test_the_control_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, _ = decided_run(capsys, tmp_path, 5, "--sut", "fencepost-python", "--seed", "11")
    assert (run["verdict"], run["reasons"]) == ("valid", [])
    assert set(verdicts(run).values()) == {"valid"}
    assert run["faults"]["kill"] > 0


@pytest.mark.parametrize("engine", ["native", "python"])
def test_threads_that_share_a_store_are_valid(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    system = f"fencepost-{engine}-threads"
    run, out = decided_run(capsys, tmp_path, 5, "--sut", system, "--seed", "12")
    assert (run["verdict"], run["reasons"]) == ("valid", [])
    assert set(verdicts(run).values()) == {"valid"}
    assert run["faults"]["kill"] > 0
    threads = {path.stem[-3:] for path in out.glob("*/history/worker-00-*")}
    assert threads >= {"-t0", "-t1"}


CROSSED = """
from fencepost_stress.mutants.base import Mutant, open_as_store
from fencepost_stress.sut.adapters import fencepost_runs

class Crossed(Mutant):
    '''Of the calls that share a commit, each gets what its neighbour should have.'''
    def _join(self, others):
        outcomes = super()._join(others)
        return outcomes[1:] + outcomes[:1]

def crossed(engine, path, clock, **options):
    return open_as_store(Crossed, path, clock, None, options)

fencepost_runs.open_store = crossed
Shared = fencepost_runs.on("python-threads")
"""


def test_answers_that_go_to_the_wrong_thread_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(CROSSED)
    monkeypatch.chdir(tmp_path)
    options = ("--processes", "6", "--seconds", "3", "--faults", "none", "--out", "out")
    _, run = stress(capsys, "--sut", "mine:Shared", *options)
    assert run["verdict"] == "invalid"
    assert "invalid" in (verdicts(run)["F1"], verdicts(run)["F2"])


@pytest.mark.parametrize(
    "mutant, killer",
    [
        ("no-unique-parent", "C1"),
        ("expired-never-reclaimable", "S1"),
        ("renew-without-expiry-check", "F2"),
    ],
)
def test_broken_stores_are_caught_from_outside(
    mutant: str, killer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A race is a matter of luck, so a broken store has some chances to show itself.
    for seed in range(8):
        options = ("--seconds", "4", "--faults", "none", "--seed", str(seed))
        out = ("--out", str(tmp_path / str(seed)))
        _, run = stress(capsys, "--sut", f"fencepost-mutant:{mutant}", *options, *out)
        if verdicts(run)[killer] == "invalid":
            (broken,) = (one for one in run["properties"] if one["id"] == killer)
            assert broken["violations"][0]["calls"]
            return
    pytest.fail(f"{killer} never objected")


def test_the_example_of_the_page_works(
    node: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"{node} {example(tmp_path)}"
    run, _ = decided_run(capsys, tmp_path, 4, "--command", command, "--seed", "3")
    assert (run["verdict"], run["reasons"]) == ("valid", [])
    assert verdicts(run) == {
        "F1": "valid",
        "F2": "valid",
        "C1": "not claimed",
        "S1": "valid",
        "Q1": "valid",
    }


def test_the_example_fails_as_the_page_says(
    node: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    adapter = example(tmp_path)
    lines = adapter.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.rstrip().endswith("continue;")]
    assert len(kept) == len(lines) - 1
    adapter.write_text("".join(kept))
    out = ("--faults", "none", "--out", str(tmp_path / "out"))
    code, run = stress(capsys, "--command", f"{node} {adapter}", *SHORT, *out)
    assert (code, verdicts(run)["F1"]) == (1, "invalid")


BROKEN = """
from fencepost_stress.sut.adapter import Adapter
from fencepost_stress.sut.capabilities import Capabilities

class Idle(Adapter):
    capabilities = Capabilities(name="idle", lease="taken", promises={"F1": "x", "S1": "x"})
    def __init__(self, place): pass
    def enqueue(self, run, parent): pass
    def claim(self, wait_ms): return None
    def dump(self): return []
    def close(self): pass

class Odd(Idle):
    capabilities = Capabilities(name="odd", operations=("fly",), lease="taken")

class Lacking(Idle):
    capabilities = Capabilities(name="lacking", operations=("complete",), lease="kept")

class Failing(Idle):
    def claim(self, wait_ms): raise KeyError("no such column")

class Half(Adapter):
    capabilities = Idle.capabilities
    def __init__(self, place): pass
    def enqueue(self, run, parent): pass
    def close(self): pass
"""


def test_a_queue_of_ones_own_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    short = ("--processes", "2", "--seconds", "1", "--faults", "none")
    code, run = stress(capsys, "--sut", "mine:Idle", *short, "--out", "out")
    assert code == 1
    assert verdicts(run)["S1"] == "invalid"
    assert any("never happened: claimed" in reason for reason in run["reasons"])
    _, run = stress(capsys, "--sut", "mine:Failing", *short, "--out", "fails")
    (said,) = (reason for reason in run["reasons"] if "nobody knows how any of its" in reason)
    assert said.startswith("claim: ")
    assert "KeyError: 'no such column'" in said
    for name, said in (
        ("Odd", "unknown operation 'fly'"),
        ("Lacking", "'complete' is declared, and there is no such method"),
        ("Half", "mine:Half lacks claim, dump"),
    ):
        assert cli.main(["--sut", f"mine:{name}", *SHORT, "--out", name]) == 254
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--sut", "nobody"],
        ["--sut", "no.such.module:Class"],
        ["--sut", "json:JSONDecoder"],
        ["--sut", "huey", "--engine", "python"],
        ["--command", "true", "--mutants"],
        ["--sut", "huey", "--workload", "wait"],
        ["--sut", "huey", "--workload", "feed"],
    ],
)
def test_bad_usage(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*arguments, "--out", str(tmp_path / "out")]) == 254
    assert capsys.readouterr().err


def test_a_command_that_does_not_answer_is_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["--command", "true", *SHORT, "--out", str(tmp_path / "out")]) == 255
    assert "could not be prepared" in capsys.readouterr().err


def test_no_command_survives_the_harness(node: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    adapter = example(tmp_path)
    main = "import sys; from fencepost_stress.cli import main; sys.exit(main())"
    options = ("--command", f"{node} {adapter}", "--seconds", "60", "--out", str(out))
    harness = subprocess.Popen(
        [sys.executable, "-c", main, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: len(running(str(adapter))) >= 4)
    os.kill(running(str(adapter))[0], signal.SIGSTOP)
    harness.kill()
    harness.wait(20)
    wait_for(lambda: not running(str(adapter)))


def running(argument: str) -> list[int]:
    """The commands that have an argument."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if command[0].endswith(b"node") and argument.encode() in command:
            found.append(int(folder.name))
    return found


def wait_for(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
