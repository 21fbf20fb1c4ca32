"""Mutants of the rule that a parent has at most one continuation, and of refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.engine.protocol import NewRun, Row, Value
from fencepost.engine.python.connection import writes
from fencepost.errors import ContinuationExistsError, refusal

from .base import Mutant

_HAS_SCHEMA = "SELECT 1 FROM sqlite_schema WHERE name = 'schema_info'"


class _WithoutUniqueParent(Mutant):
    """The file has no unique index on the parent."""

    def create_schema(self, schema_version: int, schema_id: str | None) -> bool:
        if self._read(lambda: self._connection().execute(_HAS_SCHEMA).fetchone()) is not None:
            # The store would make the index anew.
            return True
        created = super().create_schema(schema_version, schema_id)
        if created:
            self._write(lambda: self.run_sql("DROP INDEX workflow_run_queue_parent", {}))
        return created


class NoUniqueParent(_WithoutUniqueParent):
    name = "no-unique-parent"
    bug = "the parent's index is not unique, and the check in code is made before the insertion"
    killers = ("C1",)

    def enqueue_runs(self, runs: Sequence[NewRun], now: int | None) -> list[Row | Exception]:
        parent = runs[0][-1]
        if parent is not None:
            found = self.read("runs.continuation", {"parent_run_id": parent})
            if found:
                return [refusal("continuation_exists", parent, found[0][0])]
            self.let_others_in()
        return super().enqueue_runs(runs, now)

    def _row(self, name: str, params: Mapping[str, Value]) -> Row | None:
        if name == "runs.continuation":
            # It was looked for before the transaction began.
            self.reached()
            return None
        return super()._row(name, params)


class CountedBeforeLock(_WithoutUniqueParent):
    name = "counted-before-lock"
    bug = "the continuations are counted in a transaction that gets the lock only for the insertion"
    killers = ("C1",)
    _counted: Mapping[str, bool] = {}

    def enqueue_runs(self, runs: Sequence[NewRun], now: int | None) -> list[Row | Exception]:
        parents = {run[-1] for run in runs if run[-1] is not None}
        self._counted = {parent: self._count(parent) for parent in parents}
        if parents:
            self.let_others_in()
        return super().enqueue_runs(runs, now)

    def _count(self, parent: str) -> bool:
        return bool(self.read("runs.continuation", {"parent_run_id": parent}))

    def _row(self, name: str, params: Mapping[str, Value]) -> Row | None:
        parent = params.get("parent_run_id")
        if name == "runs.continuation" and not self._counted.get(str(parent), True):
            # The lock is there now; the count is still the one from before.
            self.reached()
            return None
        return super()._row(name, params)


class SlotStaysTaken(Mutant):
    name = "deleted-keeps-slot"
    bug = "a cache of the parents with a continuation outlives the continuation's deletion"
    killers = ("C1", "C2")
    workload = "runs"

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self._taken: set[str] = set()

    def enqueue_runs(self, runs: Sequence[NewRun], now: int | None) -> list[Row | Exception]:
        parent = runs[0][-1]
        if parent in self._taken:
            if not self.read("runs.continuation", {"parent_run_id": parent}):
                self.reached()
            return [refusal("continuation_exists", parent, "the cached one")]
        results = super().enqueue_runs(runs, now)
        if parent is not None:
            self._taken.add(parent)
        return results


class RefusalLeavesTrace(Mutant):
    name = "refusal-leaves-trace"
    bug = "a continuation that is refused has been inserted by then, without its parent"
    killers = ("A1", "C1", "R1")

    @writes
    def enqueue_runs(self, runs: Sequence[NewRun], now: int | None) -> list[Row | Exception]:
        ms, stamp = self._stamp(now)
        return [self._enqueue(run, ms, stamp) for run in runs]

    def _enqueue(self, run: NewRun, now: int, stamp: str) -> Row | Exception:
        try:
            return self._enqueue_run(run, now, stamp)
        except ContinuationExistsError as refused:
            self.reached()
            self._enqueue_run((*run[:-1], None), now, stamp)
            return refused
        except Exception as refused:  # noqa: BLE001 - each run has its own outcome
            return refused
