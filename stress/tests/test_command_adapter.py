"""The protocol: what a command may answer, and what becomes of it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fencepost_stress.sut.adapter import Claim, Item, Place, Refused
from fencepost_stress.sut.command import CommandAdapter, CommandError

SERVER = """
import json, sys
answers = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    answer = answers.get(asked["op"], {"ok": None})
    if answer == "die":
        break
    if isinstance(answer, str):
        print(answer, flush=True)
        continue
    if answer == {"echo": True}:
        answer = {"ok": asked["args"]["run"] == "r" and asked["args"]["handle"] == [1, "x"]}
    print(json.dumps({"id": asked["id"], **answer}), flush=True)
"""
INIT = '"init": {"ok": {"name": "q", "operations": ["complete"]}}'
CLAIM = Claim("r", [1, "x"])


@contextmanager
def server(tmp_path: Path, answers: str = "") -> Iterator[CommandAdapter]:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    said = "{" + ", ".join(filter(None, [INIT, answers])) + "}"
    command = [sys.executable, str(script), said]
    assert shlex.split(shlex.join(command)) == command
    adapter = CommandAdapter(command, Place(tmp_path, "work", "w", 400))
    try:
        yield adapter
    finally:
        adapter.close()


def test_answers_come_back_as_what_they_are(tmp_path: Path) -> None:
    answers = (
        '"claim": {"ok": {"run": "r", "handle": [1, "x"]}}, "complete": {"echo": true}, '
        '"dump": {"ok": [{"run": "r", "state": "done"}]}'
    )
    with server(tmp_path, answers) as adapter:
        assert adapter.capabilities.name == "q"
        assert adapter.claim(0) == CLAIM
        assert adapter.complete(CLAIM) is True
        assert adapter.dump() == [Item("r", "done")]
        assert adapter.release(CLAIM) is None


@pytest.mark.parametrize(
    "answer, code",
    [
        ('{"refused": "exists"}', "exists"),
        ('{"error": {"message": "no", "definite": true}}', "error"),
    ],
)
def test_definite_refusals(answer: str, code: str, tmp_path: Path) -> None:
    with server(tmp_path, f'"enqueue": {answer}') as adapter:
        with pytest.raises(Refused) as caught:
            adapter.enqueue("r", None)
        assert caught.value.code == code


@pytest.mark.parametrize(
    "answer",
    [
        '{"error": {"message": "no"}}',
        '{"error": {"message": "no", "definite": false}}',
        '"no json"',
        '"[]"',
        '"{\\"id\\": 77, \\"ok\\": null}"',
        '"die"',
        '{"ok": {"handle": 1}}',
        '{"ok": "r"}',
    ],
)
def test_everything_else_leaves_the_outcome_unknown(answer: str, tmp_path: Path) -> None:
    with server(tmp_path, f'"claim": {answer}') as adapter, pytest.raises(CommandError):
        adapter.claim(0)


def test_a_command_that_is_gone_stays_gone(tmp_path: Path) -> None:
    with server(tmp_path, '"claim": "die"') as adapter:
        for _ in range(3):
            with pytest.raises(CommandError):
                adapter.claim(0)
