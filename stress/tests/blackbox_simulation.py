"""A correct queue in virtual time, and clients whose calls take effect within their windows."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from zlib import crc32

from fencepost_stress.blackbox.calls import Call, group
from fencepost_stress.blackbox.terms import Evidence, Terms
from fencepost_stress.operations import NEVER, Op
from fencepost_stress.sut.adapter import Item
from fencepost_stress.sut.capabilities import Lease

LEASE_NS = 400


@dataclass
class Row:
    run: str
    phase: str = "waiting"
    token: str = ""
    until: int = NEVER
    holder: int = -1


@dataclass
class Queue:
    """Items in memory. `bug` names what is wrong with it."""

    lease: Lease
    bug: str = ""
    rows: dict[str, Row] = field(default_factory=dict)
    children: dict[str, str] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)

    def enqueue(self, run: str, parent: str | None) -> str:
        if run in self.rows:
            return "exists"
        if parent is not None:
            if parent in self.children and self.bug != "two children":
                return "parent_taken"
            self.children[parent] = run
        self.rows[run] = Row(run)
        return ""

    def _free(self, row: Row, now: int) -> bool:
        if row.phase == "waiting":
            return True
        if row.phase != "claimed":
            return False
        if self.bug == "claims twice" and crc32(f"{row.run} {now}".encode()) % 7 == 0:
            return True
        if self.lease == "expires":
            return now >= row.until
        return self.lease == "session" and row.holder in self.dead

    def claim(self, token: str, now: int, process: int) -> str | None:
        for row in self.rows.values():
            if self._free(row, now):
                if self.bug == "sees nothing" and now % 5 == 0:
                    continue
                row.phase, row.token, row.holder = "claimed", token, process
                row.until = now + LEASE_NS if self.lease == "expires" else NEVER
                if self.lease == "taken":
                    row.phase = "done"
                return row.run
        return None

    def use(self, name: str, run: str, token: str, now: int) -> bool:
        row = self.rows.get(run)
        held = row is not None and row.phase == "claimed" and row.token == token
        if row is None or (not held and self.bug != "no token"):
            return False
        if name in {"renew", "verify"} and now >= row.until:
            return False
        if name == "renew" and self.lease == "expires":
            row.until = now + LEASE_NS
        elif name == "complete":
            row.phase = "done"
        elif name == "release":
            row.phase = "waiting"
        elif name == "delete":
            del self.rows[run]
            for parent, child in list(self.children.items()):
                if child == run:
                    del self.children[parent]
        return True


def simulate(
    seed: int, lease: Lease = "expires", bug: str = "", processes: int = 4, calls: int = 120
) -> Evidence:
    """What clients of a queue saw, its end drained; some die in the middle of a call."""
    rng = random.Random(seed)
    queue = Queue(lease, bug)
    made: list[Call] = []
    ready = [(rng.randrange(20), number) for number in range(processes)]
    heapq.heapify(ready)
    died = dict.fromkeys(range(processes), NEVER)
    held: dict[int, list[tuple[str, str]]] = {number: [] for number in range(processes)}
    # Effects happen in the order of their own moments, not of the calls.
    effects: list[tuple[int, int, Call, int]] = []
    serial = processes

    def apply(until: int) -> None:
        while effects and effects[0][0] <= until:
            moment, _, call, process = heapq.heappop(effects)
            _carry_out(queue, call, moment, process, held)

    for n in range(calls):
        now, process = heapq.heappop(ready)
        length = rng.choice((3, 10, 40, 150))
        moment = now + rng.randrange(length)
        apply(now - 1)
        call = _next_call(rng, n, process, now, now + length, held)
        made.append(call)
        if rng.random() < 0.03:
            call.op.status, call.high, died[process] = "unknown", now + length, now + length
            if rng.random() < 0.5:
                heapq.heappush(effects, (moment, n, call, process))
            for one in made:
                if one.op.process == f"p{process}":
                    one.died = now + length
            _bury(queue, effects, process, now + length, n)
            heapq.heappush(ready, (now + length + 5, serial))
            died[serial], held[serial] = NEVER, held.pop(process)
            serial += 1
            continue
        heapq.heappush(effects, (moment, n, call, process))
        heapq.heappush(ready, (now + length + rng.choice((1, 30, 300)), process))
    apply(NEVER)
    last = max(call.high for call in made if call.high != NEVER)
    _drain(queue, made, last + 10 * LEASE_NS, calls)
    states = {"waiting": "waiting", "claimed": "claimed", "done": "done"}
    items = [Item(row.run, states[row.phase]) for row in queue.rows.values()]  # type: ignore[arg-type]
    return Evidence(group(made), Terms(lease, LEASE_NS, 0), items)


def _bury(
    queue: Queue, effects: list[tuple[int, int, Call, int]], process: int, moment: int, n: int
) -> None:
    op = Op(f"p{process}", n, "die", {}, moment)
    heapq.heappush(
        effects, (moment, n + 1_000_000, Call(op, None, "", moment, moment, NEVER), process)
    )


def _next_call(
    rng: random.Random,
    n: int,
    process: int,
    low: int,
    high: int,
    held: dict[int, list[tuple[str, str]]],
) -> Call:
    roll = rng.random()
    name = f"p{process}"
    if roll < 0.3:
        parent = f"parent-{rng.randrange(4)}" if rng.random() < 0.4 else None
        args = {"run_id": f"run-{n}" if rng.random() < 0.9 else f"same-{rng.randrange(6)}"}
        if parent:
            args["parent_run_id"] = parent
        return Call(
            Op(name, n, "enqueue", args, low, "ok", high), args["run_id"], "", low, high, NEVER
        )
    if roll < 0.65 or not held[process]:
        op = Op(name, n, "claim", {"wait_ms": 0}, low, "ok", high)
        return Call(op, None, f"{name}/{n}", low, high, NEVER)
    run, label = rng.choice(held[process][-3:])
    what = rng.choice(("renew", "verify", "complete", "complete", "release", "delete"))
    op = Op(name, n, what, {"run_id": run, "claim": label}, low, "ok", high)
    return Call(op, run, label, low, high, NEVER)


def _carry_out(
    queue: Queue,
    call: Call,
    moment: int,
    process: int,
    held: dict[int, list[tuple[str, str]]],
) -> None:
    op = call.op
    if op.name == "die":
        queue.dead.add(process)
    elif op.name == "enqueue":
        refused = queue.enqueue(op.args["run_id"], op.args.get("parent_run_id"))
        if refused and not call.unknown:
            op.status, op.code = "fail", refused
    elif op.name == "claim":
        run = queue.claim(call.claim, moment, process)
        if not call.unknown:
            call.run = run
            op.result = None if run is None else {"run_id": run}
            if run is not None and process in held:
                held[process].append((run, call.claim))
    else:
        done = queue.use(op.name, op.args["run_id"], op.args["claim"], moment)
        if not call.unknown:
            op.result = done


def _drain(queue: Queue, made: list[Call], now: int, n: int) -> None:
    """What the last process does; all others are dead to the queue by then."""
    queue.dead.update(range(1000))
    for call in made:
        call.died = min(call.died, now - 1)
    while True:
        n, now = n + 1, now + 10
        label = f"last/{n}"
        run = queue.claim(label, now, -1)
        op = Op("last", n, "claim", {"wait_ms": 0}, now - 1, "ok", now + 1)
        op.result = None if run is None else {"run_id": run}
        made.append(Call(op, run, label, now - 1, now + 1, NEVER))
        if run is None:
            return
        if queue.lease != "taken":
            n, now = n + 1, now + 10
            done = queue.use("complete", run, label, now)
            op = Op("last", n, "complete", {"run_id": run, "claim": label}, now - 1, "ok", now + 1)
            op.result = done
            made.append(Call(op, run, label, now - 1, now + 1, NEVER))
