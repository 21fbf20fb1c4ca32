"""Starts the intruders, and hears from them when they are done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from .intruder import Done, Errand


class Intruders:
    """The processes that do errands on the database; `lifeline` ties them to the harness."""

    def __init__(self, database: Path, lifeline: int) -> None:
        self._database = database
        self._lifeline = lifeline
        self._out: list[tuple[Errand, subprocess.Popen[bytes]]] = []

    def send(self, kind: str, duration_ms: int, detail: str) -> None:
        errand = Errand(kind, str(self._database), duration_ms, detail, os.getpid(), self._lifeline)
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "fencepost_stress.intruder",
                msgspec.json.encode(errand).decode(),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(self._lifeline,),
            process_group=0,
        )
        self._out.append((errand, process))

    def back(self, wait: bool = False) -> list[tuple[Errand, Done | None]]:
        """Those that have ended since: what they did, None for one that failed."""
        ended = [pair for pair in self._out if wait or pair[1].poll() is not None]
        self._out = [pair for pair in self._out if pair not in ended]
        return [(errand, _report(process)) for errand, process in ended]

    def dismiss(self) -> None:
        """End them all."""
        for _, process in self._out:
            process.kill()
            process.communicate()
        self._out.clear()


def _report(process: subprocess.Popen[bytes]) -> Done | None:
    said, _ = process.communicate()
    return msgspec.json.decode(said, type=Done) if process.returncode == 0 else None
