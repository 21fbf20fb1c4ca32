"""One run on somebody's queue: its processes, the nemesis, and the evidence that they leave.

A run's directory holds `plan.json`, `system.json`, `history/*.jsonl`, `dump.json`,
`end.json`, and the queue's own files in `data/`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import msgspec

from .. import clock, ending as endings, live, plan as plans, stillness
from ..crew import Crew
from ..ending import Ending
from ..history import Writer
from ..nemesis import Nemesis
from ..plan import Plan
from ..run import HarnessError, Watcher
from .capabilities import Capabilities
from .prepare import EXIT_UNKNOWN_SYSTEM, Request
from .setup import Setup, save_setup
from .systems import System, UnknownSystemError

LEASE_MS = 400
"""Shorter than the nemesis's pauses."""

_TICK_SECONDS = 0.1
_PREPARE_SECONDS = 60
_READY_SECONDS = 60
_NODE = "fencepost_stress.sut.node"


def prepare(system: System, directory: Path) -> Capabilities:
    """Create the queue in `directory`/data; gives what its adapter declares."""
    data = directory / "data"
    data.mkdir(parents=True)
    request = Request(system, str(data), LEASE_MS)
    command = [sys.executable, "-m", "fencepost_stress.sut.prepare"]
    done = subprocess.run(
        [*command, msgspec.json.encode(request).decode()],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=_PREPARE_SECONDS,
        check=False,
    )
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode == EXIT_UNKNOWN_SYSTEM:
        raise UnknownSystemError(said)
    if done.returncode != 0:
        raise HarnessError(f"{system.label} could not be prepared: {said}")
    return msgspec.json.decode(done.stdout, type=Capabilities)


def execute(
    plan: Plan, system: System, capabilities: Capabilities, directory: Path, watch: Watcher
) -> Ending:
    """Carry out a plan in a directory where `prepare` has been.

    The plan's processes are the clients; where only threads may share the queue, they are
    the threads of one process, and the faults hit them together.
    """
    shared = capabilities.workers == "threads"
    processes = 1 if shared else plan.processes
    setup = Setup(system, capabilities, LEASE_MS, processes, plan.processes if shared else 1)
    for name in ("history", "stderr"):
        (directory / name).mkdir()
    plans.save(plan, directory / "plan.json")
    save_setup(setup, directory)
    live.create(directory / "live.bin", setup.cell(processes, 0) + 1)
    board = live.Board(directory / "live.bin")
    writer = Writer(directory / "history" / "nemesis.jsonl")
    writer.begin("nemesis", plan_seed=plan.seed)
    began = time.monotonic()
    data = directory / "data"
    offset = clock.shared_offset()
    with Crew(directory, data, plan.engine, offset, _NODE) as crew:
        nemesis = Nemesis(plan, crew, board, writer)
        for slot in range(processes):
            crew.hire(slot)
        watch(board.total(), {}, "starting")
        if not crew.begin(_READY_SECONDS):
            crew.problems.append("not every process was ready when the load began")
        writer.note("load")
        load_end = crew.start + plan.load_ms * 1_000_000
        while (left := load_end - time.monotonic_ns()) > 0 and crew.collect():
            wait = min(_TICK_SECONDS, nemesis.poll(crew.start), left / 1e9)
            stillness.sleep(wait, writer)
            watch(board.total(), dict(nemesis.done), "load")
        nemesis.relent()
        writer.note("healing")
        left_over = _wait(crew, plan.heal_limit_ms / 1000 + 5)
        if not left_over:
            crew.hire(processes)
            left_over = _wait(crew, plan.heal_limit_ms / 1000 + _READY_SECONDS)
        watch(board.total(), dict(nemesis.done), "healing")
        problems = list(crew.problems)
        healed = crew.healed == processes + 1
    writer.close()
    if left_over:
        problems.append(f"{left_over} processes did not end within the healing time")
    ending = Ending(
        healed=healed,
        heal_started=(load_end + offset) // 1_000_000,
        duration_seconds=round(time.monotonic() - began, 3),
        faults=dict(nemesis.done),
        reached=board.total().reached,
        problems=tuple(problems),
    )
    endings.save(ending, directory)
    return ending


def _wait(crew: Crew, seconds: float) -> int:
    patience = time.monotonic() + seconds
    while (running := crew.collect()) and time.monotonic() < patience:
        time.sleep(_TICK_SECONDS)
    return running
