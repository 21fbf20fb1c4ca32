"""How the tests of the command line start commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

PATIENCE = 60.0


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Cli:
    """Runs commands on one store."""

    def __init__(self, engine: str, path: str) -> None:
        self.engine, self.path = engine, path

    def environment(self, **more: str) -> dict[str, str]:
        kept = {"PATH": os.environ["PATH"], "HOME": os.path.dirname(self.path)}
        chosen = {"FENCEPOST_ENGINE": self.engine, "FENCEPOST_STORE": self.path}
        return {**kept, **chosen, "PYTHONDONTWRITEBYTECODE": "1", **more}

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-W", "error", "-m", "fencepost", *arguments]

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        done = subprocess.run(
            self.argv(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            env=self.environment(**environment),
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.argv(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(**environment),
        )


def findings(done: Done) -> dict[str, dict[str, Any]]:
    return {finding["code"]: finding for finding in done.json()["findings"]}


def codes(done: Done) -> set[str]:
    """The codes of what is more than a note."""
    return {code for code, found in findings(done).items() if found["severity"] != "note"}
