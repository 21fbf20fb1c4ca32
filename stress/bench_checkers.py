"""How fast the checkers are: makes the evidence of a correct run, and times its check.

    python stress/bench_checkers.py --operations 1000000

The evidence is that of eight processes whose calls overlap; the reference model plays the
store. It is written to files as a run writes it and read back from them, so that the
figures are those of `fencepost stress replay`. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from fencepost_stress import plan as plans, witness
from fencepost_stress.check import check
from fencepost_stress.history import Begin, Clock, Fail, Invoke, Ok, Record
from fencepost_stress.model import ANYTHING, Model
from fencepost_stress.operations import Op
from fencepost_stress.rows import TABLES, Change, key_of
from fencepost_stress.run import DATABASE, Ending

PROCESSES = 8
LEASE_MS = 60_000
_START_MS = 1_700_000_000_000
_BLOCK = 1 << 20

_Calls: TypeAlias = Generator[tuple[str, dict[str, Any]], Any, None]
"""Yields calls and is sent their results."""


class Store:
    """The reference model in the store's place, with a file for the witness."""

    def __init__(self, path: Path) -> None:
        self._model = Model()
        self._tables: dict[str, dict[Any, Any]] = {name: {} for name in TABLES}
        self._database = sqlite3.connect(path, isolation_level=None)
        for name, row in TABLES.items():
            self._database.execute(f"CREATE TABLE {name} ({', '.join(row._fields)})")
        self._database.execute(witness.DDL)
        self._database.execute("BEGIN")
        self._seq = 0

    def call(self, name: str, args: dict[str, Any], now: int) -> Any:
        """Carry out a call; gives its result, or the code that refuses it in a tuple."""
        outcome = self._model.outcome(Op("", 0, name, args, 0, clock=[(0, now)]))
        if outcome is None or outcome.refusals:
            return tuple(outcome.refusals)[:1] if outcome else None
        made = str(uuid.uuid4())
        for change in outcome.changes:
            after = change.after
            if after is not None:
                filled: Any = (made if one is ANYTHING else one for one in after)
                after = TABLES[change.table](*filled)
            self._log(Change(self._seq + 1, change.table, change.before, after))
        return _filled(outcome.result, made)

    def _log(self, change: Change) -> None:
        self._seq = change.seq
        self._model.write(change)
        rows = self._tables[change.table]
        if change.after is None:
            rows.pop(change.key, None)
        else:
            rows[key_of(change.table, change.after)] = change.after
        self._database.execute(
            "INSERT INTO fencepost_witness VALUES (?, ?, ?, ?)",
            (
                change.seq,
                change.table,
                None if change.before is None else json.dumps(change.before),
                None if change.after is None else json.dumps(change.after),
            ),
        )

    def close(self) -> None:
        for name, rows in self._tables.items():
            places = ", ".join("?" * len(TABLES[name]._fields))
            statement = f"INSERT INTO {name} VALUES ({places})"  # noqa: S608 - names of our own
            self._database.executemany(statement, rows.values())
        self._database.execute("COMMIT")
        self._database.close()


def _filled(value: Any, made: str) -> Any:
    if value is ANYTHING:
        return made
    if isinstance(value, dict):
        return {name: _filled(member, made) for name, member in value.items()}
    return value


class Worker:
    """One process: an endless row of calls, each told its result."""

    def __init__(self, number: int, seed: int) -> None:
        self.name = f"worker-{number:02d}-001"
        self._runner = f"runner-{number}"
        self._number = number
        self._random = random.Random(f"{seed}/{number}")  # noqa: S311
        self._serial = 0
        self.calls = self._calls()

    def _unique(self, kind: str) -> str:
        self._serial += 1
        return f"{kind}-{self._number}-{self._serial}"

    def _calls(self) -> _Calls:
        while True:
            yield from self._random.choices(
                (self._run, self._run, self._key, self._effect, self._feed), k=1
            )[0]()

    def _run(self) -> _Calls:
        token, lease = self._unique("token"), LEASE_MS
        claim = {"runner_id": self._runner, "claim_token": token, "lease_ms": lease}
        if self._random.random() < 0.5:
            new = {
                "run_id": self._unique("run"),
                "workflow_name": "w",
                "workflow_source_ref": "s",
                "input": {"by": self._runner},
            }
            run = yield "runs.enqueue", {**new, **claim}
        else:
            run = yield "runs.claim_next", claim
        if run is None:
            return
        held = {"run_id": run["run_id"], "claim_token": token}
        for growth in range(self._random.choice((0, 1, 2))):
            yield "runs.renew", {**held, "lease_ms": lease + growth + 1}
        if self._random.random() < 0.3:
            yield "runs.verify", held
        yield self._random.choice(("runs.park", "runs.complete", "runs.complete")), held
        if self._random.random() < 0.2:
            yield "runs.complete", held

    def _key(self) -> _Calls:
        key = f"key-{self._random.randrange(20)}"
        spec = {"token": self._unique("spec")}
        put = {"controller": "c", "key": key, "spec": spec, "initial_status": {}}
        yield "resources.put", put
        if self._random.random() < 0.5:
            yield "queue.enqueue", {"controller": "c", "key": key}
        claim = yield "queue.claim_next", {"controllers": ["c"], "lease_ms": LEASE_MS}
        if claim is not None:
            yield "queue.settle", {"claim": claim}

    def _effect(self) -> _Calls:
        name = {"controller": "c", "key": f"key-{self._random.randrange(20)}"}
        found = yield "resources.get", name
        if found is None:
            return
        uid, key = found["metadata"]["uid"], f"effect-{self._random.randrange(1000)}"
        yield (
            "effects.reserve",
            {
                "key": key,
                "resource_uid": uid,
                "generation": 1,
                "kind": "send",
                "request_fingerprint": key,
            },
        )
        state = self._random.choice(("applied", "rejected", "pending"))
        reference = self._unique("ref")
        yield (
            "effects.update",
            {"resource_uid": uid, "key": key, "state": state, "external_ref": reference},
        )

    def _feed(self) -> _Calls:
        session = f"consumer-{self._number % 4}"
        payload = {"token": self._unique("event")}
        event = {"run_id": "r", "workflow_ref": "w", "type": "t", "payload": payload}
        yield "feed.record", event
        place = yield "feed.watermark", {"session_id": session}
        page = yield "feed.after", {"seq": place, "limit": 3}
        last = page[-1]["seq"] if page else place
        yield "feed.set_watermark", {"session_id": session, "seq": last}


class History:
    """A process's file, written in blocks."""

    def __init__(self, path: Path, process: str) -> None:
        self._file = path.open("wb", buffering=_BLOCK)
        self._encode = msgspec.json.Encoder().encode
        facts = {"engine": "python", "libraries": {"python_sqlite": sqlite3.sqlite_version}}
        self.write(Begin(1, process, facts))

    def write(self, record: Record) -> None:
        self._file.write(self._encode(record) + b"\n")

    def close(self) -> None:
        self._file.close()


def make(directory: Path, operations: int, seed: int) -> None:
    """Write the evidence of a run."""
    (directory / "history").mkdir()
    store = Store(directory / DATABASE)
    History(directory / "history" / "nemesis.jsonl", "nemesis").close()
    workers = [Worker(number, seed) for number in range(PROCESSES)]
    histories = [History(directory / "history" / f"{w.name}.jsonl", w.name) for w in workers]
    schedule = random.Random(seed)  # noqa: S311
    phases = [0] * PROCESSES
    counts = [0] * PROCESSES
    results: list[Any] = [None] * PROCESSES
    calls: list[tuple[str, dict[str, Any]]] = [next(worker.calls) for worker in workers]
    mono, done = 1000, 0
    while done < operations or any(phases):
        number = schedule.randrange(PROCESSES)
        if done >= operations and not phases[number]:
            continue
        mono += schedule.randrange(1000, 60_000)
        history, now = histories[number], _START_MS + mono // 1_000_000
        name, args = calls[number]
        if phases[number] == 0:
            counts[number] += 1
            history.write(Invoke(mono, counts[number], name, args))
        elif phases[number] == 1:
            history.write(Clock(mono, counts[number], now))
            results[number] = store.call(name, args, now)
        else:
            result = results[number]
            refused = isinstance(result, tuple)
            n = counts[number]
            history.write(Fail(mono, n, result[0], "") if refused else Ok(mono, n, result))
            calls[number] = workers[number].calls.send(None if refused else result)
            done += 1
        phases[number] = (phases[number] + 1) % 3
    for history in histories:
        history.close()
    store.close()
    plan = plans.make_plan(
        seed=seed, engine="python", processes=PROCESSES, seconds=1, faults=(), profile="bench"
    )
    plans.save(
        msgspec.structs.replace(plan, checker_budget_seconds=3600.0), directory / "plan.json"
    )
    ending = Ending(
        healed=True,
        heal_started=_START_MS,
        duration_seconds=1.0,
        faults={},
        reached=0,
        wal_peak_bytes=0,
        wal_samples=1,
        problems=(),
    )
    (directory / "end.json").write_bytes(msgspec.json.encode(ending))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="make the evidence here, or use what is there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        directory = given.keep or Path(folder)
        if not (directory / "end.json").exists():
            directory.mkdir(exist_ok=True)
            began = time.perf_counter()
            make(directory, given.operations, given.seed)
            print(f"made in {time.perf_counter() - began:.1f} s")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        verdict = check(directory)
        seconds = time.process_time() - began
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls = verdict.counts["calls"]
    wrong = [f"{one.id}: {one.reason}" for one in verdict.properties if one.violation_count]
    print(f"{calls:,} calls, {verdict.counts['commits']:,} commits")
    for one in sorted(verdict.properties, key=lambda one: -one.seconds):
        print(f"  {one.id}  {one.seconds:7.2f} s  {one.exercised:>10,}")
    checkers = sum(one.seconds for one in verdict.properties)
    print(f"reading and joining {seconds - checkers:.2f} s, checkers {checkers:.2f} s")
    print(f"all: {seconds:.2f} s, {seconds / calls * 1e6:.1f} us a call")
    print(f"memory: {after // 1024} MiB at most, {before // 1024} MiB of it before the check")
    for line in wrong:
        print(f"WRONG {line}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
