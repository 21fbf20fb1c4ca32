"""Real runs: real processes, real faults, and nobody left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from deciding import decided

from fencepost import engine_info
from fencepost_stress import cli
from fencepost_stress.mutants import MUTANTS

HAS_NATIVE = engine_info().native_sqlite is not None
ENGINES = [
    pytest.param(
        engine,
        marks=pytest.mark.skipif(
            engine != "python" and not HAS_NATIVE, reason="the native engine is not installed"
        ),
    )
    for engine in ("python", "native", "mixed")
]


def stress(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = cli.main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_keeps_its_promises(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--engine", engine, "--seed", "11")
    code, found, out = decided(capsys, tmp_path, 5, *options)
    (run,) = found["runs"]
    assert (code, run["verdict"], run["reasons"]) == (0, "valid", [])
    assert all(one["exercised"] > 0 for one in run["properties"])
    assert run["faults"]["kill"] > 0
    assert run["faults"]["pause"] > 0
    assert json.loads((out / "verdict.json").read_text()) == found
    code, again = stress_replay(capsys, out)
    assert code == 0
    assert verdicts(again) == verdicts(found)


def stress_replay(capsys: pytest.CaptureFixture[str], out: Path) -> tuple[int, dict[str, Any]]:
    code = cli.main(["replay", str(out), "--json"])
    return code, json.loads(capsys.readouterr().out)


def verdicts(found: dict[str, Any]) -> list[tuple[str, str, int]]:
    (run,) = found["runs"]
    return [(one["id"], one["verdict"], one["exercised"]) for one in run["properties"]]


# One a property or so; `fencepost stress --mutants` tries them all.
SAMPLE = [
    "claim-without-guard",
    "complete-without-token",
    "verify-without-expiry-check",
    "expired-never-reclaimable",
    "settle-swallows-event",
    "counted-before-lock",
    "effect-check-then-insert",
    "error-after-commit",
    "backs-off",
    "notify-dropped",
    "prunes-unread",
    "always-empty",
]


def test_waiters_are_woken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--engine", "python", "--workload", "wait", "--faults", "kill", "--seed", "2")
    code, found, _ = decided(capsys, tmp_path, 4, *options)
    (run,) = found["runs"]
    assert (code, run["reasons"]) == (0, [])
    (woken,) = (one for one in run["sometimes"] if one["name"] == "waiter woken")
    assert woken["count"] > 0
    assert next(one for one in run["properties"] if one["id"] == "Q3")["exercised"] > 0


def test_pruning_takes_nothing_from_anybody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--engine", "python", "--workload", "prune", "--faults", "kill", "--seed", "2")
    code, found, _ = decided(capsys, tmp_path, 4, *options)
    (run,) = found["runs"]
    assert (code, run["reasons"]) == (0, [])
    (rows,) = (one for one in run["sometimes"] if one["name"] == "rows pruned")
    assert rows["count"] > 0


def test_mutants_are_many_and_say_what_they_stand_for() -> None:
    assert len(MUTANTS) >= 25
    assert all(mutant.bug and mutant.killers for mutant in MUTANTS.values())


@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_is_caught(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = stress(capsys, "--mutants", name, "--seed", "5", "--out", str(tmp_path / "out"))
    (row,) = found["rows"]
    assert row["fate"] == "killed", row
    assert row["reached"] > 0
    assert code == 0


def test_a_planted_violation_is_found_again_from_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert cli.main(["--mutants", "settle-swallows-event", "--seed", "3", "--out", str(out)]) == 0
    capsys.readouterr()
    code, found = stress_replay(capsys, out)
    assert code == 1
    assert found["verdict"] == "invalid"
    broken = {one["id"] for run in found["runs"] for one in run["properties"] if one["violations"]}
    assert broken & {"Q1", "Q2"}


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_survives_the_harness(ending: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-c",
        "import sys; from fencepost_stress.cli import main; sys.exit(main())",
    ]
    harness = subprocess.Popen(
        [*command, "--engine=python", "--seconds=60", "--faults=none", "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    histories = out / "python" / "history"
    wait_for(lambda: len(working(histories)) == 4)
    workers = working(histories)
    # One of them is stopped: it could not react to anything by itself.
    os.kill(workers[0], signal.SIGSTOP)
    harness.send_signal(ending)
    assert harness.wait(20) != 0
    wait_for(lambda: not any(alive(worker) for worker in workers))


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_of_any_fault_survives_the_harness(ending: signal.Signals, tmp_path: Path) -> None:
    """Neither helpers that hold the lock nor the small disk: whoever names the folder is gone."""
    out = tmp_path / "out"
    harness = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from fencepost_stress.cli import main; sys.exit(main())",
            *("--engine=python", "--seconds=60", "--faults=all", "--seed=6", "--out", str(out)),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: any("fencepost_stress.intruder" in command for command in naming(out)))
    mounted = str(out) in Path("/proc/mounts").read_text()
    harness.send_signal(ending)
    assert harness.wait(20) != 0
    wait_for(lambda: not naming(out))
    if mounted:
        wait_for(lambda: str(out) not in Path("/proc/mounts").read_text())


def naming(folder: Path) -> list[str]:
    """The commands of the processes that name a folder in their arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(folder) in command and alive(int(process.name)):
            found.append(command)
    return found


def working(histories: Path) -> list[int]:
    """The process ids of the workers that have begun to call."""
    pids = []
    for path in sorted(histories.glob("worker-*.jsonl")):
        lines = path.read_text().splitlines()
        if any(line.startswith('["i"') for line in lines):
            pids.append(json.loads(lines[0])[3]["pid"])
    return pids


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_for(condition: Any, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--engine", "rust"],
        ["--faults", "meteor"],
        ["--processes", "0"],
        ["--mutants", "nobody"],
        ["stray"],
        ["--mutants", "--engine", "python"],
        ["replay", "/nowhere"],
    ],
)
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) == 254
    assert "Error" in capsys.readouterr().err


def test_evidence_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    assert cli.main(["--out", str(tmp_path)]) == 254


def test_a_run_that_did_not_end_is_a_failure_of_the_harness(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    assert cli.main(["replay", str(tmp_path)]) == 255
