"""W1: the feed has no gap and no repeat for any consumer; watermarks never move back.

- Numbers grow in commit order, so nobody reads past an event that is still to come.
- A page is exactly the events after the place that was asked for: everything that was
  certain when the call began, up to the page's end, in order, each once.
- A watermark's row never shows a smaller number than before, and no reader is told a
  smaller one than it was for certain at the time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from ..operations import Commit, Event, Op
from ..rows import Change, RunEventRow, WatermarkRow
from .base import End, Finding, Ledger

_PAGE = 50


class Feed:
    id = "W1"
    promise = "the feed has no gap and no repeat for any consumer; watermarks never move back"

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self._seqs: list[int] = []
        self._commits: list[int] = []
        self._watermarks: dict[str, Change] = {}
        self._waiting: list[Op] = []

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is Commit:
                self._commit(event.change, event.op)
            elif event.op.status == "ok":
                self._read(event.op)

    def _commit(self, change: Change, op: Op | None) -> None:
        after = change.after
        if self._waiting:
            self._settle(change.seq)
        if isinstance(after, RunEventRow) and change.before is None:
            if self._seqs and after.seq <= self._seqs[-1]:
                self.ledger.violation(
                    f"event {after.seq} was committed after event {self._seqs[-1]}: "
                    "who had read so far misses it",
                    [op],
                    [change],
                )
                return
            self._seqs.append(after.seq)
            self._commits.append(change.seq)
        elif isinstance(after, WatermarkRow):
            before = change.before
            self.ledger.exercised += 1
            if isinstance(before, WatermarkRow) and after.last_event_seq < before.last_event_seq:
                self.ledger.violation(
                    f"the watermark of {after.session_id} moved back from "
                    f"{before.last_event_seq} to {after.last_event_seq}",
                    [op],
                    [change],
                )
            self._watermarks[after.session_id] = change

    def _read(self, op: Op) -> None:
        if op.name == "feed.watermark":
            change = self._watermarks.get(op.args["session_id"])
            row = None if change is None else change.after
            if isinstance(row, WatermarkRow):
                self.ledger.exercised += 1
                if op.result < row.last_event_seq:
                    self.ledger.violation(
                        f"{row.session_id} was told watermark {op.result}, "
                        f"and it was {row.last_event_seq}",
                        [op],
                        [change],
                    )
        elif op.name == "feed.after":
            # Its page can hold what was committed up to the end of its window.
            self._waiting.append(op)

    def _settle(self, seq: int) -> None:
        """Judge the pages whose windows end before this commit."""
        still = []
        for op in self._waiting:
            if op.high < seq:
                self._page(op)
            else:
                still.append(op)
        self._waiting = still

    def _page(self, op: Op) -> None:
        self.ledger.exercised += 1
        got = [event["seq"] for event in op.result]
        place, limit = op.args["seq"], op.args.get("limit", _PAGE)
        first = bisect_right(self._seqs, place)
        there = self._seqs[first : first + len(got)]
        if got != there:
            missed = sorted(set(there) - set(got))
            what = f"left out {missed[0]}" if missed else f"shows {got}, where there is {there}"
            self.ledger.violation(f"a page after {place} {what}", [op])
            return
        # A page that is not full must hold all that was certain.
        certain = bisect_left(self._commits, op.low + 1)
        if len(got) < limit and first + len(got) < certain:
            self.ledger.violation(
                f"a page after {place} ends before {self._seqs[first + len(got)]}, "
                "which was committed before",
                [op],
            )

    def finish(self, end: End) -> Finding:  # noqa: ARG002
        for op in self._waiting:
            self._page(op)
        return self.ledger.finding(events=len(self._seqs))
