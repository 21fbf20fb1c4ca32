"""One worker: a process with one store and one history file.

Started as `python -m fencepost_stress.worker JSON`, by exec and never by fork, so that
it inherits no connection, no lock and no thread.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path

import msgspec

import fencepost
from fencepost import waiting
from fencepost.engine import probe
from fencepost.errors import FencepostError

from . import custom, plan as plans
from .clock import Clock
from .custom import Custom
from .history import NOT_OPENED, Writer
from .injury import SUCCESSION_MS, Forks, Pages, Points
from .lifeline import die_with_parent
from .live import Cell
from .scenario import Scenario
from .session import Session
from .sut import open_store

EXIT_HEALED = 0
EXIT_NOT_HEALED = 3
NEVER_SECONDS = 3600.0
_NO_ROOM = frozenset({"full", "io"})
_LOCK_IS_HELD = frozenset({"hog", "pause"})
_ROOM_SECONDS = 0.05
_ROOM_LIMIT_SECONDS = 20.0
"""Longer than any fault of a full disk, shorter than the harness waits for a worker."""
STANDING_BY = b"standing by\n"
READY = b"ready\n"


class Orders(msgspec.Struct, frozen=True):
    """What the harness tells a worker at first; the start follows on standard input."""

    directory: str
    database: str
    engine: str
    process: str
    slot: int
    incarnation: int
    parent: int
    lifeline: int
    clock_offset: int
    small_disk: bool = False
    waits_to_open: bool = False


def run(orders: Orders) -> int:
    """Work until the load ends, then drain."""
    directory = Path(orders.directory)
    plan = plans.load(directory / "plan.json")
    writer = Writer(directory / "history" / f"{orders.process}.jsonl")
    code = custom.load(directory)
    cell = Cell(directory / "live.bin", orders.slot)
    points = Points(cell)
    probe.install(points)
    session = Session(writer, cell, points)
    clock = Clock(orders.clock_offset, session.clock_read)
    libraries = asdict(fencepost.engine_info())
    writer.begin(orders.process, pid=os.getpid(), engine=orders.engine, libraries=libraries)
    if orders.waits_to_open:
        _say(STANDING_BY)
        sys.stdin.readline()
    with _open(orders, plan, clock, cell, writer) as store:
        session.store = store
        writer.note("opened", engine=store.engine_name)
        _say(READY)
        start = int(sys.stdin.readline())
        path = plan.clock_path(orders.slot)
        if path is not None:
            clock.go_wrong(path.error_ms, start)
        forks = Forks(plan.faults, orders.slot, store)
        forks.skip(_since(start) - SUCCESSION_MS)
        pages = Pages([] if orders.small_disk else plan.faults, orders.slot, store)
        place = {"slot": orders.slot, "incarnation": orders.incarnation}
        scenario: Scenario | Custom
        if code is not None:
            scenario = Custom(code, session, plan, **place)
        else:
            scenario = Scenario(session, plan, clock, **place, start=start)
            # Who waits looks by itself now and then, which would hide a wake-up that was lost.
            waiting.LOOK_SECONDS = NEVER_SECONDS
        load_end = start + plan.load_ms * 1_000_000
        while time.monotonic_ns() < load_end:
            scenario.step()
            scenario.think()
            forks.poll(_since(start), writer)
            pages.poll(_since(start), writer)
        pages.relent()
        writer.note("healing")
        healed = scenario.drain(load_end + plan.heal_limit_ms * 1_000_000)
        writer.note("healed" if healed else "gave up")
    return EXIT_HEALED if healed else EXIT_NOT_HEALED


def _open(
    orders: Orders, plan: plans.Plan, clock: Clock, cell: Cell, writer: Writer
) -> fencepost.Store:
    """The store, as soon as there is room to open it in, and nobody is made to hold its lock.

    Both last for a while only, so who finds no end to it gives up, like one who finds
    anything else wrong. In a storm, when all open at once, no fault has begun yet. Each
    time that it is told busy is noted: whether anybody was made to hold the lock is for L1
    to say.
    """
    patience = time.monotonic() + _ROOM_LIMIT_SECONDS
    while True:
        since = time.monotonic_ns()
        try:
            return open_store(
                orders.engine,
                Path(orders.database),
                clock,
                synchronous=plan.synchronous,
                busy_timeout_ms=plan.busy_timeout_ms,
                reached=cell.reach,
            )
        except FencepostError as error:
            full = orders.small_disk and error.code in _NO_ROOM
            busy = error.code == "busy"
            held = busy and _LOCK_IS_HELD.intersection(plan.faults_asked)
            ends = not (full or (held and not orders.waits_to_open))
            ends = ends or time.monotonic() > patience
            if ends or busy:
                writer.note(NOT_OPENED, code=error.code, said=str(error), since=since)
            if ends:
                raise
        time.sleep(_ROOM_SECONDS)


def _say(word: bytes) -> None:
    sys.stdout.buffer.write(word)
    sys.stdout.buffer.flush()


def _since(start: int) -> float:
    return (time.monotonic_ns() - start) / 1e6


def main() -> int:
    orders = msgspec.json.decode(sys.argv[1], type=Orders)
    die_with_parent(orders.lifeline, orders.parent)
    # The harness says it once, with the versions that every history names.
    warnings.simplefilter("ignore", fencepost.SQLiteVersionWarning)
    return run(orders)


if __name__ == "__main__":
    sys.exit(main())
