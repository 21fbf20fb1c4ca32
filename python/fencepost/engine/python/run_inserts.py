"""The insertion of runs in the Python engine, twenty by one statement where it can be.

Mirrors `rust/fencepost-core/src/runs/insert.rs`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ...errors import FencepostError, refusal
from ..protocol import MAX_TIME_MS, NewRun, Row, Value
from .connection import Connection, writes


class RunInserts(Connection):
    """The operation that adds to the table `workflow_run_queue`."""

    @writes
    def enqueue_runs(self, runs: Sequence[NewRun], now: int | None) -> list[Row | Exception]:
        ms, stamp = self._stamp(now)
        made: list[Row | Exception] = []
        for first in range(0, len(runs), 20):
            some = runs[first : first + 20]
            made += self._enqueue_twenty(some, ms, stamp) or [
                self._enqueue_or_refuse(run, ms, stamp) for run in some
            ]
        return made

    def _enqueue_or_refuse(self, run: NewRun, now: int, stamp: str) -> Row | Exception:
        try:
            return self._enqueue_run(run, now, stamp)
        except FencepostError as refused:
            return refused

    def _enqueue_twenty(self, runs: Sequence[NewRun], now: int, stamp: str) -> list[Row]:
        """Insert so many runs at once, which costs half of what it costs one by one.

        Nothing where there are fewer, or where one of them can't be inserted: then none is.
        """
        ends = [now + run[6] for run in runs]
        if len(runs) < 20 or max(ends) > MAX_TIME_MS:
            return []
        values: list[Value] = []
        for run, end in zip(runs, ends, strict=True):
            affine = run[4] if run[7] is None else run[7]
            values += (*run[:6], end, affine, run[8], stamp, stamp)
        try:
            self._execute_all("runs.insert_twenty", values)
        except sqlite3.IntegrityError:
            return []
        fences = self._run_fences(runs)
        return [(end, stamp, fence) for end, fence in zip(ends, fences, strict=True)]

    def _run_fences(self, runs: Sequence[NewRun]) -> Sequence[Value]:
        """The fences of runs that were inserted one after another.

        Each is higher than the one before it: where the last says that there are no gaps, the
        others need not be read.
        """
        least, most = self._run_fence(runs[0]), self._run_fence(runs[-1])
        if type(least) is int and type(most) is int and most - least == len(runs) - 1:
            return range(least, most + 1)
        return [self._run_fence(run) for run in runs]

    def _run_fence(self, run: NewRun) -> Value:
        row = self._row("runs.fence", {"run_id": run[0]})
        return None if row is None else row[0]

    def _enqueue_run(self, run: NewRun, now: int, stamp: str) -> Row:
        run_id, name, source_ref, input_json, runner_id, claim_token, lease_ms, affine, parent = run
        expires_at = self._lease_end(now, lease_ms)
        if parent is not None:
            continuation = self._row("runs.continuation", {"parent_run_id": parent})
            if continuation is not None:
                raise refusal("continuation_exists", parent, continuation[0])
        values: dict[str, Value] = {
            "run_id": run_id,
            "workflow_name": name,
            "workflow_source_ref": source_ref,
            "input_json": input_json,
            "runner_id": runner_id,
            "claim_token": claim_token,
            "claim_expires_at": expires_at,
            "affinity_runner_id": runner_id if affine is None else affine,
            "parent_run_id": parent,
            "created_at": stamp,
        }
        if self._changes("runs.insert", values) != 1:
            raise refusal("run_exists", run_id)
        # All else is as it was given.
        return expires_at, stamp, self._run_fence(run)
