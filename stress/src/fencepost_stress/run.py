"""One run: a database, its workers, the nemesis, and the evidence that they leave.

A run's directory holds `plan.json`, `history/*.jsonl`, `store.sqlite` with the witness
in it, `end.json`, and after checking `verdict.json`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from . import (
    clock,
    ending as endings,
    environment,
    history,
    live,
    plan as plans,
    stillness,
    witness,
)
from .crew import Crew
from .disk import Disk, make_disk
from .ending import Ending
from .history import NOT_OPENED, Writer
from .live import Counts
from .nemesis import Nemesis
from .plan import Plan
from .sut import engine_of

DATABASE = "store.sqlite"
DISK = "disk"
_TICK_SECONDS = 0.1
_PREPARE_SECONDS = 60
_READY_SECONDS = 60


class HarnessError(Exception):
    """The harness could not do its part; nothing was proven."""


Watcher = Callable[[Counts, dict[str, int], str], None]


def execute(plan: Plan, directory: Path, watch: Watcher) -> Ending:
    """Carry out a plan in an empty directory."""
    with ExitStack() as stack:
        disk = None
        if "full" in plan.faults_asked and (disk := make_disk(directory / DISK)) is not None:
            stack.enter_context(disk)
        database = (directory if disk is None else disk.place) / DATABASE
        _lay_out(plan, directory, database)
        ending = _carry_out(plan, directory, database, disk, watch)
        if disk is not None:
            disk.save(database, directory)
        elif "full" in plan.faults_asked and not ending.faults.get("full"):
            ending = msgspec.structs.replace(ending, impossible=("full",))
    endings.save(ending, directory)
    return ending


def _carry_out(
    plan: Plan, directory: Path, database: Path, disk: Disk | None, watch: Watcher
) -> Ending:
    board = live.Board(directory / "live.bin")
    nemesis_writer = Writer(directory / "history" / "nemesis.jsonl")
    nemesis_writer.begin("nemesis", plan_seed=plan.seed)
    began = time.monotonic()
    storm = "storm" in plan.faults_asked
    with Crew(directory, database, plan.engine, clock.shared_offset()) as crew:
        crew.storm = storm
        crew.small_disk = disk is not None
        nemesis = Nemesis(plan, crew, board, nemesis_writer, disk)
        for slot in range(plan.processes):
            crew.hire(slot)
        watch(board.total(), {}, "starting")
        if storm:
            crew.let_open(_READY_SECONDS)
        if not crew.begin(_READY_SECONDS, before=lambda: _prepared(plan, database, storm)):
            crew.problems.append("not every worker was ready when the load began")
        if storm:
            nemesis.done["storm"] += 1
        nemesis_writer.note("load")
        wal = _Wal(database)
        load_end = crew.start + plan.load_ms * 1_000_000
        while (left := load_end - time.monotonic_ns()) > 0:
            wait = min(_TICK_SECONDS, nemesis.poll(crew.start), left / 1e9)
            stillness.sleep(wait, nemesis_writer)
            wal.sample()
            if crew.collect() == 0:
                break
            watch(board.total(), dict(nemesis.done), "load")
        nemesis.relent()
        nemesis_writer.note("healing")
        heal_started = (load_end + crew.clock_offset) // 1_000_000
        patience = time.monotonic() + plan.heal_limit_ms / 1000 + 5
        while crew.collect() and time.monotonic() < patience:
            stillness.sleep(_TICK_SECONDS, nemesis_writer)
            wal.sample()
            watch(board.total(), dict(nemesis.done), "healing")
        left_over = crew.collect()
        problems = list(crew.problems)
        healed = crew.healed == plan.processes
        for name, at in crew.gone.items():
            nemesis_writer.note("gone", process=name, at=at)
    nemesis_writer.close()
    if left_over:
        problems.append(f"{left_over} workers did not end within the healing time")
    own, broken = _own_doings(directory)
    return Ending(
        healed=healed,
        heal_started=heal_started,
        duration_seconds=round(time.monotonic() - began, 3),
        faults=dict(nemesis.done + own),
        reached=board.total().reached,
        wal_peak_bytes=wal.peak,
        wal_samples=wal.samples,
        problems=tuple(problems),
        broken=tuple(broken),
    )


def _prepared(plan: Plan, database: Path, storm: bool) -> None:
    """After a storm of first openings the witness is still to be added, while nobody calls."""
    if storm:
        witness.install(database, pruned=plan.is_pruned)


def _own_doings(directory: Path) -> tuple[Counter[str], list[tuple[str, str]]]:
    """The faults that the workers were themselves, and what went wrong with them."""
    done: Counter[str] = Counter()
    broken = []
    for path in sorted((directory / "history").glob("worker-*.jsonl")):
        for note in history.notes(path, "fork", "full", NOT_OPENED):
            facts = note.facts
            if note.kind == NOT_OPENED:
                # Whether it was told busy with reason is for L1 to say.
                if facts["code"] != "busy":
                    said = f"{path.stem} could not open the store: {facts['said']}"
                    broken.append(("I1", said))
                continue
            done[note.kind] += 1
            if note.kind == "fork" and not facts["refused"]:
                broken.append(("I1", f"{path.stem}: a forked child could use the store"))
    return done, broken


def _lay_out(plan: Plan, directory: Path, database: Path) -> None:
    for name in ("history", "stderr"):
        (directory / name).mkdir(parents=True)
    plans.save(plan, directory / "plan.json")
    environment.record(directory)
    live.create(directory / "live.bin", plan.processes)
    if "storm" in plan.faults_asked:
        return
    command = [sys.executable, "-m", "fencepost_stress.prepare"]
    try:
        subprocess.run(
            [*command, engine_of(plan.engine, 0), str(database)],
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_PREPARE_SECONDS,
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise HarnessError(f"the database could not be made: {said}") from error
    witness.install(database, pruned=plan.is_pruned)


class _Wal:
    """The size of the write-ahead log over time. `stat` opens nothing, so it drops no lock."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(f"{database.name}-wal")
        self.peak = 0
        self.samples = 0

    def sample(self) -> None:
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return
        self.samples += 1
        self.peak = max(self.peak, size)
