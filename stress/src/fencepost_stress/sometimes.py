"""Things that must happen sometimes, or a run has proven little.

Counted from the same events as the properties, and from the nemesis's history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from .history import Note, Record
from .operations import Commit, Event, Op
from .rows import Change, QueueRow, RunRow

_TOKEN_CALLS = frozenset(
    {
        "runs.renew",
        "runs.verify",
        "runs.park",
        "runs.complete",
        "runs.delete",
        "queue.renew",
        "queue.settle",
        "queue.requeue",
    }
)


class Sometimes:
    """Counts occurrences by name."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._paused: list[tuple[str, int, int]] = []

    def faults(self, nemesis: Iterable[Record]) -> None:
        """Read the nemesis's history, before the events."""
        since: dict[str, int] = {}
        for record in nemesis:
            if not isinstance(record, Note):
                continue
            process = str(record.facts.get("process", ""))
            if record.kind == "kill":
                self.counts["worker killed"] += 1
            elif record.kind == "pause":
                self.counts["worker paused"] += 1
                since[process] = record.mono
            elif record.kind == "resume" and process in since:
                self._paused.append((process, since.pop(process), record.mono))

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Commit):
                self._commit(event.change, event.op)
            else:
                self._seen(event.op)

    def _commit(self, change: Change, op: Op | None) -> None:
        before, after = change.before, change.after
        if before is None or after is None:
            return self._call(change, op)
        if isinstance(before, RunRow | QueueRow) and isinstance(after, RunRow | QueueRow):
            taken = before.claim_token and after.claim_token not in {None, before.claim_token}
            self.counts["lease taken over"] += bool(taken)
        if isinstance(before, QueueRow) and isinstance(after, QueueRow):
            event = before.claim_token and after.version != before.version
            self.counts["event during a claim"] += bool(event)
        return self._call(change, op)

    def _call(self, change: Change, op: Op | None) -> None:
        if op is not None and op.rows[0].seq == change.seq:
            self.counts["calls"] += 1
            if op.status == "unknown":
                self.counts["worker killed during a call"] += 1
                self.counts["unknown outcome resolved by its commit"] += 1

    def _seen(self, op: Op) -> None:
        self.counts["calls"] += 1
        if op.status == "unknown":
            self.counts["worker killed during a call"] += 1
            if op.clock:
                self.counts["worker killed inside a transaction"] += 1
        elif op.status == "fail":
            if op.code == "continuation_exists":
                self.counts["continuation race lost"] += 1
            elif op.code == "run_exists":
                self.counts["run id refused"] += 1
            elif op.code == "busy":
                self.counts["busy"] += 1
        elif op.result is False and op.name in _TOKEN_CALLS:
            self.counts["stale token refused"] += 1
            if any(
                process == op.process and until < op.invoked for process, _, until in self._paused
            ):
                self.counts["stale token refused after a pause"] += 1
        elif op.result is None and op.name.endswith("claim_next"):
            self.counts["nothing to claim"] += 1

    def finish(self, lease_ms: int) -> dict[str, int]:
        self.counts["worker paused past a lease"] = sum(
            until - since > lease_ms * 1_000_000 for _, since, until in self._paused
        )
        return dict(sorted(self.counts.items()))
