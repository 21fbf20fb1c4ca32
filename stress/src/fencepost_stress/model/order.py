"""Which claimable run comes first: heaps whose entries are checked when they come up."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from typing import TypeAlias

from ..rows import RunRow

Entry: TypeAlias = tuple[str, int, str]
"""created_at, insertion, run_id: the order of claims."""


class Heap:
    """A heap that holds an entry once, however often it is offered."""

    def __init__(self) -> None:
        self._heap: list[Entry] = []
        self._members: set[Entry] = set()

    def offer(self, entry: Entry) -> None:
        if entry not in self._members:
            self._members.add(entry)
            heapq.heappush(self._heap, entry)

    def pop(self) -> Entry:
        entry = heapq.heappop(self._heap)
        self._members.discard(entry)
        return entry

    def peek(self) -> Entry | None:
        return self._heap[0] if self._heap else None


class ClaimOrder:
    """Finds the first claimable run for a runner and a time.

    Times may come in any order: a call is tried at several places of its window with the
    time that it read itself, so an entry that is too early for one call stays for others.
    """

    def __init__(self, rows: Mapping[str, RunRow], inserted: Mapping[str, int]) -> None:
        self._rows = rows
        self._inserted = inserted
        self._ready = Heap()
        self._affine: dict[str, Heap] = {}
        self._expiring: list[tuple[int, str]] = []
        self._watched: set[tuple[int, str]] = set()

    def note(self, row: RunRow) -> None:
        """A row has this state now."""
        if row.status == "parked":
            self._offer(row)
        elif row.status == "claimed":
            self._watch(row)

    def first(self, runner: str, now: int, excluded: Collection[str]) -> RunRow | None:
        while self._expiring and self._expiring[0][0] <= now:
            expiry, run_id = watched = heapq.heappop(self._expiring)
            self._watched.discard(watched)
            row = self._rows.get(run_id)
            if row is not None and row.status == "claimed" and row.claim_expires_at == expiry:
                self._offer(row)
        affine = self._affine.get(runner)
        found = None if affine is None else self._top(affine, now, excluded)
        return self._top(self._ready, now, excluded) if found is None else found

    def _watch(self, row: RunRow) -> None:
        if row.claim_expires_at is None:
            return
        watched = (row.claim_expires_at, row.run_id)
        if watched not in self._watched:
            self._watched.add(watched)
            heapq.heappush(self._expiring, watched)

    def _offer(self, row: RunRow) -> None:
        entry = (row.created_at, self._inserted[row.run_id], row.run_id)
        self._ready.offer(entry)
        if row.affinity_runner_id is not None:
            self._affine.setdefault(row.affinity_runner_id, Heap()).offer(entry)

    def _top(self, heap: Heap, now: int, excluded: Collection[str]) -> RunRow | None:
        skipped: list[Entry] = []
        found = None
        while found is None and (entry := heap.peek()) is not None:
            _, insertion, run_id = entry
            row = self._rows.get(run_id)
            if row is None or self._inserted[run_id] != insertion:
                heap.pop()
            elif not claimable(row, now):
                heap.pop()
                if row.status == "claimed":
                    # Perhaps it was offered for a later time than this one.
                    self._watch(row)
            elif run_id in excluded:
                skipped.append(heap.pop())
            else:
                found = row
        for entry in skipped:
            heap.offer(entry)
        return found


def lives(row: RunRow, now: int) -> bool:
    """Whether the row's lease is not over."""
    return row.claim_expires_at is not None and row.claim_expires_at > now


def claimable(row: RunRow, now: int) -> bool:
    """Parked, or claimed with a lease that is over: its end counts as over."""
    return row.status == "parked" or (row.status == "claimed" and not lives(row, now))
