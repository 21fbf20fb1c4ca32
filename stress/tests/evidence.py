"""Hand-made evidence: a store in miniature whose every step a test decides.

`Evidence` keeps one clock for all processes. `call` writes the records of a call and the
row changes that the test names; nothing checks that they fit, so any lie can be told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from fencepost_stress import timeline
from fencepost_stress.checkers import CHECKERS
from fencepost_stress.checkers.base import Checker, End, Finding
from fencepost_stress.history import Clock, Fail, Info, Invoke, Ok, Record
from fencepost_stress.model.runs import record
from fencepost_stress.operations import Event
from fencepost_stress.rows import (
    QUEUE,
    RESOURCES,
    RUNS,
    TABLES,
    Change,
    QueueRow,
    ResourceRow,
    RunRow,
    TableRow,
)
from fencepost_stress.times import text_of

LEASE = 100


class Evidence:
    """Histories and witness under construction. `now` is the wall time in ms."""

    def __init__(self) -> None:
        self.now = 1_000_000
        self.records: dict[str, list[Record]] = defaultdict(list)
        self.changes: list[Change] = []
        self.tables: dict[str, dict[tuple[str, ...], TableRow]] = {name: {} for name in TABLES}
        self._calls: dict[str, int] = defaultdict(int)
        self._mono = 0

    def tick(self) -> int:
        self._mono += 1000
        return self._mono

    def pass_ms(self, ms: int) -> None:
        """Time passes for everybody; the wall clock does not show it."""
        self._mono += ms * 1_000_000

    # Records, one by one.

    def invoke(self, process: str, name: str, **args: Any) -> int:
        self._calls[process] += 1
        n = self._calls[process]
        self.records[process].append(Invoke(self.tick(), n, name, args))
        return n

    def clock(self, process: str) -> None:
        self.records[process].append(Clock(self.tick(), self._calls[process], self.now))

    def ok(self, process: str, result: Any) -> None:
        self.records[process].append(Ok(self.tick(), self._calls[process], result))

    def fail(self, process: str, code: str) -> None:
        self.records[process].append(Fail(self.tick(), self._calls[process], code, code))

    def info(self, process: str, code: str) -> None:
        self.records[process].append(Info(self.tick(), self._calls[process], code, code))

    def change(self, table: str, key: tuple[str, ...], after: TableRow | None) -> None:
        """Commit a row: `after`, or its deletion."""
        before = self.tables[table].get(key)
        if after is None:
            self.tables[table].pop(key, None)
        else:
            self.tables[table][key] = after
        self.changes.append(Change(len(self.changes) + 1, table, before, after))

    # Whole calls of runs, as a correct store answers them.

    def run(self, run_id: str) -> RunRow:
        row = self.tables[RUNS][(run_id,)]
        assert isinstance(row, RunRow)
        return row

    def enqueue(self, process: str, run_id: str, parent: str | None = None) -> str:
        token = f"{process}/{run_id}"
        args = {
            "run_id": run_id,
            "workflow_name": "w",
            "workflow_source_ref": "s",
            "input": None,
            "runner_id": process,
            "claim_token": token,
            "lease_ms": LEASE,
        }
        if parent is not None:
            args["parent_run_id"] = parent
        self.invoke(process, "runs.enqueue", **args)
        self.clock(process)
        stamp = text_of(self.now)
        row = RunRow(
            run_id,
            "w",
            "s",
            "null",
            "claimed",
            process,
            token,
            self.now + LEASE,
            process,
            parent,
            stamp,
            stamp,
        )
        self.change(RUNS, (run_id,), row)
        self.ok(process, record(row))
        return token

    def claim(self, process: str, run_id: str, fence: int | None = None) -> str:
        """Claim a run, whether it is claimable or not."""
        token = f"{process}/{run_id}/{len(self.changes)}"
        self.invoke(
            process, "runs.claim_next", runner_id=process, claim_token=token, lease_ms=LEASE
        )
        self.clock(process)
        row = self.run(run_id)._replace(
            status="claimed",
            runner_id=process,
            claim_token=token,
            claim_expires_at=self.now + LEASE,
            updated_at=text_of(self.now),
        )
        self.change(RUNS, (run_id,), row)
        result = record(row)
        self.ok(process, result if fence is None else {**result, "fence": fence})
        return token

    def claim_nothing(self, process: str) -> None:
        self.invoke(
            process,
            "runs.claim_next",
            runner_id=process,
            claim_token=f"{process}/{self._mono}",
            lease_ms=LEASE,
        )
        self.clock(process)
        self.ok(process, None)

    def end(self, process: str, name: str, run_id: str, token: str) -> None:
        """Park, complete or delete a run, whoever holds it."""
        self.invoke(process, name, run_id=run_id, claim_token=token)
        self.clock(process)
        if name == "runs.delete":
            self.change(RUNS, (run_id,), None)
        else:
            status = {"runs.park": "parked", "runs.complete": "done"}[name]
            self.change(
                RUNS,
                (run_id,),
                self.run(run_id)._replace(
                    status=status,
                    runner_id=None,
                    claim_token=None,
                    claim_expires_at=None,
                    updated_at=text_of(self.now),
                ),
            )
        self.ok(process, True)

    def refused(
        self, process: str, name: str, run_id: str, token: str, result: Any = False
    ) -> None:
        """A call with a token that changes nothing and gives `result`."""
        args: dict[str, Any] = {"run_id": run_id, "claim_token": token}
        if name == "runs.renew":
            args["lease_ms"] = LEASE
        self.invoke(process, name, **args)
        self.clock(process)
        self.ok(process, result)

    def renew(self, process: str, run_id: str, token: str, lease: int = LEASE) -> None:
        self.invoke(process, "runs.renew", run_id=run_id, claim_token=token, lease_ms=lease)
        self.clock(process)
        self.change(RUNS, (run_id,), self.run(run_id)._replace(claim_expires_at=self.now + lease))
        self.ok(process, True)

    # Whole calls of the queue.

    def put(self, process: str, key: str, token: str) -> None:
        """Put another specification, which enqueues the key in the same transaction."""
        self.invoke(
            process,
            "resources.put",
            controller="c",
            key=key,
            spec={"token": token},
            initial_status={},
        )
        self.clock(process)
        before = self.tables[RESOURCES].get(("c", key))
        version = before.resource_version + 1 if isinstance(before, ResourceRow) else 1
        row = ResourceRow(
            "c",
            key,
            "uid",
            version,
            version,
            f'{{"token":"{token}"}}',
            '{"conditions":[],"controllerStatus":{},"observedGeneration":0}',
            None,
            "[]",
            text_of(self.now),
        )
        self.change(RESOURCES, ("c", key), row)
        self.wake(key)
        self.ok(
            process,
            {
                "metadata": {
                    "uid": "uid",
                    "controller": "c",
                    "key": key,
                    "resource_version": version,
                    "generation": version,
                    "finalizers": [],
                },
                "spec": {"token": token},
                "status": {"observed_generation": 0, "conditions": [], "controller_status": {}},
            },
        )

    def wake(self, key: str) -> None:
        """The row change of an enqueue."""
        before = self.tables[QUEUE].get(("c", key))
        if isinstance(before, QueueRow):
            row = before._replace(
                version=before.version + 1, available_at=min(before.available_at, self.now)
            )
        else:
            row = QueueRow("c", key, self.now, 1, 0, None, None, None, None)
        self.change(QUEUE, ("c", key), row)

    def enqueue_key(self, process: str, key: str) -> None:
        self.invoke(process, "queue.enqueue", controller="c", key=key)
        self.clock(process)
        self.wake(key)
        self.ok(process, None)

    def key(self, key: str) -> QueueRow:
        row = self.tables[QUEUE]["c", key]
        assert isinstance(row, QueueRow)
        return row

    def claim_key(self, process: str, key: str) -> dict[str, Any]:
        token = f"{process}/{key}/{len(self.changes)}"
        self.invoke(process, "queue.claim_next", controllers=["c"], lease_ms=LEASE)
        self.clock(process)
        row = self.key(key)
        expires = self.now + LEASE
        self.change(
            QUEUE,
            ("c", key),
            row._replace(claim_token=token, claim_version=row.version, claim_expires_at=expires),
        )
        claim = {
            "controller": "c",
            "key": key,
            "token": token,
            "queue_version": row.version,
            "consecutive_errors": row.consecutive_errors,
            "expires_at": text_of(expires),
        }
        self.ok(process, claim)
        return claim

    def claim_no_key(self, process: str) -> None:
        self.invoke(process, "queue.claim_next", controllers=["c"], lease_ms=LEASE)
        self.clock(process)
        self.ok(process, None)

    def settle(self, process: str, claim: dict[str, Any], after: QueueRow | None = None) -> None:
        self.invoke(process, "queue.settle", claim=claim)
        self.clock(process)
        self.change(QUEUE, ("c", claim["key"]), after)
        self.ok(process, True)

    def lift(self, key: str, **values: Any) -> QueueRow:
        """The row without its claim."""
        return self.key(key)._replace(
            claim_token=None, claim_version=None, claim_expires_at=None, **values
        )

    # Judging.

    def events(self) -> list[Event]:
        return list(timeline.join(list(self.records.items()), iter(self.changes)))

    def ending(self, **values: Any) -> End:
        tables: dict[str, Iterable[TableRow]] = {
            name: list(rows.values()) for name, rows in self.tables.items()
        }
        given: dict[str, Any] = {
            "heal_started": 0,
            "wal_samples": 1,
            "wal_limit_bytes": 1,
        }
        return End(**{"tables": tables, **given, **values})

    def judge(self, make: Callable[[], Checker], **values: Any) -> Finding:
        checker = make()
        checker.feed(self.events())
        return checker.finish(self.ending(**values))


def drained() -> Evidence:
    """A short, correct run in which every property but F4 and C1 is exercised."""
    evidence = Evidence()
    first = evidence.enqueue("a", "r1")
    evidence.renew("a", "r1", first, LEASE + 1)
    evidence.refused("a", "runs.verify", "r1", first, result=True)
    evidence.now += LEASE + 1
    second = evidence.claim("b", "r1")
    evidence.refused("a", "runs.renew", "r1", first)
    evidence.refused("a", "runs.complete", "r1", first)
    evidence.claim_nothing("a")
    evidence.end("b", "runs.park", "r1", second)
    third = evidence.claim("b", "r1")
    evidence.end("b", "runs.complete", "r1", third)
    evidence.claim_nothing("a")
    evidence.put("a", "k", "s1")
    claim = evidence.claim_key("b", "k")
    evidence.put("a", "k", "s2")
    evidence.settle("b", claim, evidence.lift("k"))
    again = evidence.claim_key("b", "k")
    evidence.enqueue_key("a", "k")
    evidence.settle("b", again, evidence.lift("k"))
    last = evidence.claim_key("b", "k")
    evidence.settle("b", last)
    evidence.claim_no_key("a")
    return evidence


def objecting(evidence: Evidence) -> set[str]:
    """The properties that the evidence breaks."""
    findings = [evidence.judge(make) for make in CHECKERS]
    return {finding.id for finding in findings if finding.verdict == "invalid"}
