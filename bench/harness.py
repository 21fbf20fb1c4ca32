"""Processes that are measured, and rounds that take turns."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .stats import Figure

ROOT = Path(__file__).resolve().parent.parent
WARM_UP_SECONDS = 0.3
Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure.

    Attributes:
        quick: sizes for a smoke test, whose figures say little.
        rounds: how often each variant is measured.
        seconds: how long a process works in one round.
        tools: where what a run downloads or builds is kept.
        synchronous: the only settings that are asked for; None for all.
    """

    quick: bool
    rounds: int
    seconds: float
    tools: Path
    synchronous: Sequence[str] | None = None

    def pick(self, quick: Any, full: Any) -> Any:
        """The one of two sizes that this plan asks for."""
        return quick if self.quick else full

    def settings(self, quick: str) -> Sequence[str]:
        """The settings of `synchronous` to measure; in a quick run one is enough."""
        return self.synchronous or self.pick((quick,), ("full", "off"))


@dataclass(frozen=True, slots=True)
class Goal:
    """A promise with a number, and what was measured."""

    what: str
    limit: str
    value: float
    met: bool

    @staticmethod
    def at_most(what: str, value: float, limit: float) -> Goal:
        return Goal(what, f"<= {limit:g}", value, value <= limit)

    @staticmethod
    def at_least(what: str, value: float, limit: float) -> Goal:
        return Goal(what, f">= {limit:g}", value, value >= limit)


@dataclass(slots=True)
class Outcome:
    """What a scenario found: rows for the table, goals, and remarks."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Worker:
    """A process started by exec that waits for its window; see `bench.worker`."""

    def __init__(self, module: str, job: Mapping[str, Any]) -> None:
        self._begin([sys.executable, "-m", "bench.worker", module, json.dumps(job)])

    @classmethod
    def command(cls, command: Sequence[str]) -> Worker:
        """A worker that is another program and keeps to the same protocol."""
        worker = cls.__new__(cls)
        worker._begin(command)
        return worker

    def _begin(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a worker ended early: {self._process.args!r}")
        return line

    def await_ready(self) -> None:
        """Wait until the worker has opened everything."""
        if self._line() != "ready\n":
            raise RuntimeError("a worker did not say that it is ready")

    def go(self, begin: float, end: float) -> None:
        """Let it work."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([begin, end]) + "\n")
        self._process.stdin.flush()

    def result(self) -> dict[str, Any]:
        """What it found, after its end."""
        found: dict[str, Any] = json.loads(self._line())
        self._process.communicate()
        return found

    def end(self) -> None:
        """Stop it if it is still there."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


def together(
    workers: Sequence[Worker],
    seconds: float,
    *,
    warm_up: float = WARM_UP_SECONDS,
    meanwhile: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """Let workers work in the same window; `meanwhile` is called with its end."""
    try:
        for worker in workers:
            worker.await_ready()
        begin = time.monotonic() + warm_up
        for worker in workers:
            worker.go(begin, begin + seconds)
        if meanwhile is not None:
            meanwhile(begin + seconds)
        return [worker.result() for worker in workers]
    finally:
        for worker in workers:
            worker.end()


def alone(module: str, job: Mapping[str, Any], seconds: float = 0.0) -> dict[str, Any]:
    """One worker by itself."""
    return together([Worker(module, job)], seconds, warm_up=0.0 if seconds == 0 else 0.3)[0]


def interleaved(
    variants: Mapping[str, Callable[[], Figures]], rounds: int
) -> dict[str, dict[str, Figure]]:
    """Measure each variant once a round, the order turned by one from round to round.

    Slow drifts of the machine then hit all of them alike.
    """
    values: dict[str, dict[str, list[float]]] = {name: {} for name in variants}
    names = list(variants)
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            progress(f"round {turn + 1}/{rounds} {name}")
            for key, value in variants[name]().items():
                values[name].setdefault(key, []).append(value)
    return {
        name: {key: Figure.of(series) for key, series in found.items() if _finite(series)}
        for name, found in values.items()
    }


def _finite(series: Sequence[float]) -> bool:
    return all(math.isfinite(value) for value in series)


def progress(text: str) -> None:
    """Say on standard error what is being done."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K  {text}", end="", file=sys.stderr, flush=True)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for databases, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        yield Path(folder)
