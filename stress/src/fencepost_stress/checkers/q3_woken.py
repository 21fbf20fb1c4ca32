"""Q3: who waits for work is woken when some is committed.

A wait that was told of something later than a second after it was there for certain, or
not at all, lost its wake-up. There is, from the return of the call that committed it to the
invocation of the next call that changed it:

- a run that is parked;
- a key that nobody has claimed, from its due time on, by the waiter's clock;
- an event after the one that the waiter named.

A wait that was told of nothing has gone on until its timeout.

Leases that end are left out: nobody wakes for them, who waits looks at the time itself. So
are changes of calls that never returned: they may have been killed before they could wake
anybody. While the waiter is stopped, no time passes for it; where the machine stood still,
nothing is decided.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ..operations import NEVER, WAIT, Commit, Event, Op
from ..rows import QUEUE, RUNS, Change, QueueRow, RunEventRow, RunRow
from .base import End, Finding, Ledger
from .stalls import STOOD_STILL, joined, within

BOUND_MS = 1000
_BOUND_NS = BOUND_MS * 1_000_000
_ROUNDING_NS = 1_000_000


@dataclass(slots=True)
class _Work:
    """Something that waits to be taken, from an instant on; `maker` committed it."""

    change: Change
    maker: Op


@dataclass(slots=True)
class _Late:
    """A wait that went on for longer than the bound beside some work."""

    wait: Op
    work: _Work
    since: int
    until: int


class Woken:
    id = "Q3"
    promise = "who waits for work is woken when some is committed"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._work: dict[tuple[str, tuple[str, ...]], _Work] = {}
        self._events: list[int] = []
        self._told: list[_Work] = []
        self._waiting: list[Op] = []
        self._late: list[_Late] = []

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit:
                if self._waiting:
                    self._retire(event.change.seq)
                self._commit(event.change, event.op)
            elif event.op.name == WAIT and event.op.status == "ok":
                op = event.op
                # Who had to look again slept in between.
                self.ledger.exercised += len(op.clock) > 1 and _told_of_something(op)
                self._waiting.append(op)
                self._for_nothing(op)

    def _for_nothing(self, op: Op) -> None:
        """Who is told of nothing has waited for as long as was asked."""
        timeout, waited = op.args.get("timeout_ms"), op.returned - op.invoked
        early = timeout is None or waited < timeout * 1_000_000 - _ROUNDING_NS
        if early and not _told_of_something(op):
            self.ledger.violation(
                f"{op.process} was told of nothing after {waited / 1e6:.0f} ms, "
                f"and would have waited for {'ever' if timeout is None else f'{timeout} ms'}",
                [op],
            )

    def _commit(self, change: Change, op: Op | None) -> None:
        returned = op is not None and op.status == "ok" and op.returned != NEVER
        work = _Work(change, op) if op is not None and returned else None
        if isinstance(change.after, RunEventRow) and work is not None:
            self._events.append(change.after.seq)
            self._told.append(work)
        elif change.table in {RUNS, QUEUE}:
            place = (change.table, change.key)
            before = self._work.pop(place, None)
            if before is not None and op is not None:
                for wait in self._waiting:
                    self._compare(wait, before, op.invoked)
            if work is not None and _is_free(change):
                self._work[place] = work

    def _retire(self, seq: int) -> None:
        """Judge the waits that can't have seen this commit by what was still there."""
        over = [op for op in self._waiting if op.high < seq]
        if over:
            self._waiting = [op for op in self._waiting if op.high >= seq]
            for op in over:
                self._end(op)

    def _end(self, wait: Op) -> None:
        if wait.args.get("feed_after") is not None:
            first = bisect_right(self._events, wait.args["feed_after"])
            for work in self._told[first : first + 1]:
                self._compare(wait, work, NEVER)
        for work in self._work.values():
            self._compare(wait, work, NEVER)

    def _compare(self, wait: Op, work: _Work, until: int) -> None:
        since = max(work.maker.returned, wait.invoked)
        until = min(until, wait.returned)
        if until - since > _BOUND_NS and _wanted(wait, work.change):
            self._late.append(_Late(wait, work, since, until))

    def finish(self, end: End) -> Finding:
        for op in self._waiting:
            self._end(op)
        for late in self._late:
            self._judge(late, end)
        return self.ledger.finding(bound_ms=BOUND_MS)

    def _judge(self, late: _Late, end: End) -> None:
        since, wait, row = late.since, late.wait, late.work.change.after
        if isinstance(row, QueueRow):
            mono, wall = wait.clock[0]
            due = mono + (row.available_at - wall + end.clock_error_ms) * 1_000_000
            since = max(since, due)
        pauses = [(start, until) for process, start, until in end.pauses if process == wait.process]
        slept = late.until - since - within(joined(pauses), since, late.until)
        if slept <= _BOUND_NS:
            return
        change = late.work.change
        message = (
            f"{wait.process} slept for {slept / 1e6:.0f} ms beside {change.table} "
            f"{change.place}, for which it waited"
        )
        lost = joined([*pauses, *end.still])
        if late.until - since - within(lost, since, late.until) <= _BOUND_NS:
            self.ledger.doubt(f"{message}; {STOOD_STILL}")
            return
        self.ledger.exercised += not _told_of_something(wait)
        self.ledger.violation(message, [late.work.maker, wait], [change])


def _told_of_something(wait: Op) -> bool:
    return isinstance(wait.result, dict) and any(wait.result.values())


def _is_free(change: Change) -> bool:
    """Whether a row can be claimed by anybody."""
    row = change.after
    if isinstance(row, RunRow):
        return row.status == "parked"
    return isinstance(row, QueueRow) and row.claim_token is None


def _wanted(wait: Op, change: Change) -> bool:
    """Whether the wait was for such a row."""
    args, row = wait.args, change.after
    if isinstance(row, RunRow):
        excluded = args.get("exclude_run_ids") or ()
        return bool(args.get("runs")) and row.run_id not in excluded
    if isinstance(row, QueueRow):
        return row.controller in (args.get("controllers") or ())
    return args.get("feed_after") is not None
