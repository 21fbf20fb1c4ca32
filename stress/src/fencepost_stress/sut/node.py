"""One process of a run on somebody's queue: `python -m fencepost_stress.sut.node JSON`.

It has one adapter, and as many actors as threads share it. The last process of a run, in a
slot of its own, finishes what is left and writes down what the queue holds then.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import msgspec

from .. import plan as plans
from ..blackbox.calls import ENDED
from ..history import Writer
from ..lifeline import die_with_parent
from ..live import Board, Cell
from ..plan import Plan
from ..worker import EXIT_HEALED, READY, Orders
from .actor import Actor
from .adapter import Adapter, Place
from .recorder import Recorder
from .setup import Setup, load_setup
from .systems import make


def run(orders: Orders) -> int:
    """Work until the load ends, then drain."""
    directory = Path(orders.directory)
    plan = plans.load(directory / "plan.json")
    setup = load_setup(directory)
    last = orders.slot == setup.processes
    place = Place(directory / "data", "work", f"worker-{orders.slot}", setup.lease_ms)
    adapter = make(setup.system, place)
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    start = int(sys.stdin.readline())
    failures: list[BaseException] = []
    if last:
        _act(orders, plan, setup, adapter, 0, start, failures)
        items = adapter.dump()
        (directory / "dump.json").write_bytes(msgspec.json.encode(items))
    else:
        threads = [
            threading.Thread(
                target=_act, args=(orders, plan, setup, adapter, number, start, failures)
            )
            for number in range(setup.threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    adapter.close()
    if failures:
        raise failures[0]
    return EXIT_HEALED


def _act(
    orders: Orders,
    plan: Plan,
    setup: Setup,
    adapter: Adapter,
    number: int,
    start: int,
    failures: list[BaseException],
) -> None:
    directory = Path(orders.directory)
    name = orders.process if setup.threads == 1 else f"{orders.process}-t{number}"
    try:
        writer = Writer(directory / "history" / f"{name}.jsonl")
        writer.begin(name, pid=os.getpid(), host=orders.process, system=setup.system.label)
        live = directory / "live.bin"
        recorder = Recorder(adapter, writer, Cell(live, setup.cell(orders.slot, number)), name)
        makes = (orders.slot, number) == (0, 0)
        actor = Actor(recorder, plan, name, start, setup.comes_back_ms, Board(live), makes)
        load_end = start + plan.load_ms * 1_000_000
        if orders.slot < setup.processes:
            while time.monotonic_ns() < load_end:
                actor.step()
                actor.think()
            writer.note("healing")
        actor.drain(time.monotonic_ns() + plan.heal_limit_ms * 1_000_000)
        writer.note(ENDED)
        writer.close()
    except BaseException as error:  # noqa: BLE001 - the main thread raises it
        failures.append(error)


def main() -> int:
    orders = msgspec.json.decode(sys.argv[1], type=Orders)
    die_with_parent(orders.lifeline, orders.parent)
    return run(orders)


if __name__ == "__main__":
    sys.exit(main())
