"""Things that must happen sometimes, or a run has proven little.

Counted from the same events as the properties, and from the nemesis's history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from .history import Note, Record
from .operations import WAIT, Commit, Event, Op
from .rows import RESOURCES, Change, QueueRow, RunRow, WatermarkRow
from .stillness import STILL
from .tokens import CALLS, uses

_REFUSALS = {
    "continuation_exists": "continuation race lost",
    "run_exists": "run id refused",
    "busy": "busy",
    "effect_conflict": "reservation refused",
    "workflow_conflict": "reservation refused",
    "effect_terminal": "final state refused",
    "resource_conflict": "swap refused",
    "not_ready_for_deletion": "deletion refused",
}


class Sometimes:
    """Counts occurrences by name."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.paused: list[tuple[str, int, int]] = []
        self.held: list[tuple[int, int]] = []
        self.still: list[tuple[int, int]] = []
        self.gone: dict[str, int] = {}
        """When each process had ended, or was asked to."""
        self.load: tuple[int, int] | None = None
        self._freed: set[str] = set()

    def faults(self, nemesis: Iterable[Record]) -> None:
        """Read the nemesis's history, before the events."""
        since: dict[str, int] = {}
        for record in nemesis:
            if not isinstance(record, Note):
                continue
            process = str(record.facts.get("process", ""))
            if record.kind == "kill":
                self.counts["worker killed"] += 1
                if process in since:
                    self.paused.append((process, since.pop(process), record.mono))
            elif record.kind == "pause":
                self.counts["worker paused"] += 1
                since.setdefault(process, record.mono)
            elif record.kind == "resume" and process in since:
                self.paused.append((process, since.pop(process), record.mono))
            elif record.kind == "hog":
                self.held.append((int(record.facts["since"]), int(record.facts["until"])))
            elif record.kind == STILL:
                self.still.append((int(record.facts["since"]), int(record.facts["until"])))
            elif record.kind == "restart":
                # Leaving takes its time, but it makes no more calls.
                self.gone[process] = record.mono
            elif record.kind == "gone":
                self.gone.setdefault(process, int(record.facts["at"]))
            elif record.kind == "load":
                self.load = (record.mono, record.mono)
            elif record.kind == "healing" and self.load is not None:
                self.load = (self.load[0], record.mono)

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Commit):
                self._commit(event.change, event.op)
            else:
                self._seen(event.op)

    def _commit(self, change: Change, op: Op | None) -> None:
        before, after, counts = change.before, change.after, self.counts
        if isinstance(before, RunRow) or isinstance(after, RunRow):
            self._run(before, after, op)  # type: ignore[arg-type]
        elif isinstance(before, QueueRow) and isinstance(after, QueueRow):
            counts["lease taken over"] += _taken_over(before, after)
            event = before.claim_token and after.version != before.version
            counts["event during a claim"] += bool(event)
        elif isinstance(before, WatermarkRow) and op is not None:
            counts["watermark held back"] += op.args["seq"] < before.last_event_seq
        elif change.table == RESOURCES and after is None:
            counts["resource deleted"] += 1
        if op is not None and op.rows[0].seq == change.seq:
            self._call(op)

    def _run(self, before: RunRow | None, after: RunRow | None, op: Op | None) -> None:
        counts = self.counts
        if after is None:
            if before is not None and before.parent_run_id is not None:
                self._freed.add(before.parent_run_id)
        elif before is None:
            if after.parent_run_id in self._freed:
                self._freed.discard(after.parent_run_id)
                counts["slot freed and taken again"] += 1
        elif after.claim_token not in (None, before.claim_token):
            counts["lease taken over"] += _taken_over(before, after)
            counts["run parked and resumed"] += before.status == "parked"
            counts["claim by affinity"] += before.affinity_runner_id == after.runner_id
            if op is not None and op.args.get("exclude_run_ids"):
                counts["claim that left runs out"] += 1

    def _call(self, op: Op) -> None:
        """A call that changed rows."""
        counts = self.counts
        counts["calls"] += 1
        if op.status == "unknown":
            counts["worker killed during a call"] += 1
            counts["unknown outcome resolved by its commit"] += 1
        if op.name.endswith("_many"):
            counts["batch of several rows"] += len(op.rows) > 1
            results = op.result if isinstance(op.result, list) else []
            bad = sum(one is False or (isinstance(one, dict) and "error" in one) for one in results)
            counts["batch refused in part"] += 0 < bad < len(results)
            self._stale(op)

    def _seen(self, op: Op) -> None:
        counts = self.counts
        counts["calls"] += 1
        if op.status == "unknown":
            counts["worker killed during a call"] += 1
            if op.clock and op.name != WAIT:
                counts["worker killed inside a transaction"] += 1
        elif op.status == "fail":
            counts[_REFUSALS.get(op.code, f"refused: {op.code}")] += 1
        elif op.name.endswith((".claim_next", ".claim_many")):
            counts["nothing to claim"] += 1
        elif op.name.endswith(".reserve"):
            counts["reservation found there"] += 1
        elif op.name == WAIT:
            # Who had to look again slept in between.
            counts["waiter woken"] += len(op.clock) > 1 and any(op.result.values())
        elif op.name == "feed.after":
            counts["page of events read"] += len(op.result) > 1
        elif op.name in CALLS:
            self._stale(op)

    def _stale(self, op: Op) -> None:
        stale = sum(result is False for *_, result in uses(op))
        if stale:
            self.counts["stale token refused"] += stale
            if any(
                process == op.process and until < op.invoked for process, _, until in self.paused
            ):
                self.counts["stale token refused after a pause"] += 1

    def finish(self, lease_ms: int) -> dict[str, int]:
        self.counts["worker paused past a lease"] = sum(
            until - since > lease_ms * 1_000_000 for _, since, until in self.paused
        )
        return dict(sorted(self.counts.items()))


def _taken_over(before: RunRow | QueueRow, after: RunRow | QueueRow) -> bool:
    return before.claim_token is not None and after.claim_token not in {None, before.claim_token}
