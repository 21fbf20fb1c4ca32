"""How long the black box takes: `python stress/bench_blackbox.py [CALLS]`.

The histories are a simulated queue's, many short runs put one after the other.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tests"))

from blackbox_simulation import simulate

from fencepost_stress.blackbox import CHECKERS
from fencepost_stress.blackbox.calls import Call, group
from fencepost_stress.blackbox.terms import Evidence
from fencepost_stress.sut.adapter import Item

_PART = 400
_APART = 1_000_000


def main() -> int:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    calls: list[Call] = []
    items = []
    part = 0
    terms = simulate(0).terms
    while len(calls) < wanted:
        evidence = simulate(part, calls=_PART)
        calls += (_moved(call, part) for call in _all(evidence))
        items += [_renamed(item, part) for item in evidence.items]
        part += 1
    began = time.perf_counter()
    whole = Evidence(group(calls), terms, items)
    print(f"{len(calls):,} calls on {len(whole.calls.by_run):,} items")
    print(f"{time.perf_counter() - began:8.2f} s  grouping")
    for make in CHECKERS:
        started = time.perf_counter()
        found = list(make().check(whole))
        told = ", ".join(f"{one.id} {one.verdict} ({one.exercised:,})" for one in found)
        print(f"{time.perf_counter() - started:8.2f} s  {told}")
    print(f"{time.perf_counter() - began:8.2f} s  in all")
    return 0


def _all(evidence: Evidence) -> list[Call]:
    found = [call for of_run in evidence.calls.by_run.values() for call in of_run]
    return [*found, *evidence.calls.empty, *evidence.calls.ghosts]


def _renamed(item: Item, part: int) -> Item:
    return Item(f"{part}:{item.run}", item.state)


def _moved(call: Call, part: int) -> Call:
    shift = part * _APART
    op = call.op
    args = {
        name: f"{part}:{value}" if name.endswith("run_id") else value
        for name, value in op.args.items()
    }
    moved = replace(op, args=args, invoked=op.invoked + shift)
    run = None if call.run is None else f"{part}:{call.run}"
    return replace(
        call,
        op=replace(moved, returned=op.returned + shift),
        run=run,
        claim=f"{part}:{call.claim}",
        low=call.low + shift,
        high=call.high + shift,
        died=call.died + shift,
    )


if __name__ == "__main__":
    sys.exit(main())
