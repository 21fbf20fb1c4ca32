"""Help, exit codes, colors and completion."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys

import pytest

from fencepost.cli import make_parser
from fencepost.cli.exits import FAILED, MEANINGS
from tests.cli.support import PATIENCE, Cli

COMMANDS = (
    "info doctor runs run queue resources resource effects events feed top release park requeue "
    "prune backup checkpoint export import conformance completion"
).split()


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            make_parser().parse_args([command, "--help"])
        assert ended.value.code == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"usage: fencepost {command}")
        for code, meaning in MEANINGS.items():
            assert f"{code}" in shown
            assert meaning in shown


def test_every_command_but_completion_speaks_json() -> None:
    for command in set(COMMANDS) - {"completion"}:
        help_text = subprocess.run(
            [sys.executable, "-m", "fencepost", command, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        ).stdout
        assert "--json" in help_text, command


@pytest.mark.parametrize(
    "arguments",
    [
        ["runs", "--limit", "-1"],
        ["runs", "--limit", "x"],
        ["runs", "--status", "lost"],
        ["run"],
        ["doctor"],
        ["prune", "--done-before", "1d", "--limit", "0"],
        ["checkpoint", "--mode", "harder"],
        ["completion", "tcsh"],
        ["queue", "--lim", "5"],
    ],
    ids=" ".join,
)
def test_bad_usage(cli: Cli, filled: str, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (254, "")
    assert done.err.startswith("usage: fencepost")
    said = cli(*arguments, "--json")
    assert (said.code, said.out) == (254, "")
    assert json.loads(said.err)["error"]["code"] == "usage"


@pytest.mark.parametrize(
    "environment, colored",
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=str,
)
def test_colors_are_for_terminals(
    cli: Cli, filled: str, environment: dict[str, str], colored: bool
) -> None:
    assert "\x1b" not in cli("doctor", filled).out
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        cli.argv("doctor", filled),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        env=cli.environment(**{"TERM": "xterm", **environment}),
    )
    assert process.wait(PATIENCE) == 0
    shown = os.read(ours, 65536)
    os.close(ours)
    os.close(theirs)
    assert b"nothing is wrong" in shown
    assert (b"\x1b[" in shown) is colored


def complete(script: str, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    ask = (
        f'{script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fencepost 2>/dev/null; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", ask, "bash", "fencepost", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return sorted(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(cli: Cli) -> None:
    script = cli("completion", "bash").out
    assert complete(script, "res") == ["resource", "resources"]
    assert set(COMMANDS) <= set(complete(script, ""))
    assert complete(script, "runs", "--st") == ["--status", "--store"]
    assert complete(script, "runs", "--status", "") == ["claimed", "done", "parked"]
    assert complete(script, "completion", "") == ["bash", "fish", "zsh"]
    assert "--version" in complete(script, "--")
    assert complete(script, "stress", "--nothing") == []
    assert "setup.cfg" not in complete(script, "doctor", "/nowhere/")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_scripts(cli: Cli, shell: str) -> None:
    script = cli("completion", shell).out
    for command in COMMANDS:
        assert command in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("command", [["runs"], ["checkpoint"]], ids=" ".join)
def test_a_store_that_nobody_named_is_no_riddle(cli: Cli, command: list[str]) -> None:
    done = cli(*command, FENCEPOST_STORE="")
    assert done.code == FAILED
    assert "no store was named" in done.err
    assert "--store PATH or set FENCEPOST_STORE" in done.err
