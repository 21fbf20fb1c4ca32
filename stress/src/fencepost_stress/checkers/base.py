"""What a checker is, and what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from ..operations import Event, Op
from ..rows import Change, RunRow, TableRow

Verdict: TypeAlias = Literal["valid", "invalid", "unknown", "not claimed"]
"""`not claimed`: the system under test does not promise it; it decides nothing."""

NEVER_EXERCISED = "never exercised"

SHOWN = 20
"""So many violations are kept whole; further ones are counted."""


@dataclass(slots=True, frozen=True)
class Violation:
    """One broken promise with the shortest window of records that shows it."""

    message: str
    ops: tuple[Op, ...] = ()
    changes: tuple[Change, ...] = ()

    def describe(self) -> dict[str, Any]:
        return {
            "message": self.message,
            "calls": [op.describe() for op in self.ops],
            "commits": [
                {
                    "seq": change.seq,
                    "table": change.table,
                    "before": change.before and change.before._asdict(),
                    "after": change.after and change.after._asdict(),
                }
                for change in self.changes
            ],
        }


@dataclass(slots=True)
class Finding:
    """A checker's verdict on its property."""

    id: str
    promise: str
    verdict: Verdict
    exercised: int
    violations: list[Violation] = field(default_factory=list)
    violation_count: int = 0
    reason: str = ""
    details: dict[str, Any] = field(default_factory=dict)


class Life(NamedTuple):
    """When a process lived, in monotonic nanoseconds.

    `began` is when it was there and the load was on; `ended` when it was gone or the load
    was over; `gone` when it was gone. Who is asked to end is as good as gone.
    """

    began: int
    ended: int
    gone: int


@dataclass(slots=True, frozen=True)
class End:
    """What was found when all processes were gone.

    `heal_started` is the wall time at which the faults had stopped, in milliseconds.
    `pauses` are the processes that were stopped, with their monotonic times; `holds` the
    times in which a fault held the write lock; `still` those in which the machine let not
    even the harness work. `lives` are the processes of which it is known when they were
    there. `not_opened` are the processes that were told busy when they opened the store,
    with their monotonic times. `clock_error_ms` is how far two clocks of the run may be
    apart. `pruned` is whether events and done runs may have gone without a witness.
    `even` is whether all processes had the same work. `prunings` are the calls that pruned,
    by the run that each made before, with the time and the limit that it gave; `taken` are
    the done runs that were pruned, in order, each with the last `seq` before.
    """

    tables: Mapping[str, Iterable[TableRow]]
    heal_started: int
    integrity: Sequence[str] = ()
    foreign_keys: Sequence[str] = ()
    wal_peak_bytes: int = 0
    wal_limit_bytes: int = 0
    wal_samples: int = 0
    busy_timeout_ms: int = 5000
    clock_error_ms: int = 0
    pruned: bool = False
    pauses: Sequence[tuple[str, int, int]] = ()
    holds: Sequence[tuple[int, int]] = ()
    still: Sequence[tuple[int, int]] = ()
    lives: Mapping[str, Life] = field(default_factory=dict)
    not_opened: Sequence[tuple[str, int, int]] = ()
    even: bool = True
    prunings: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    taken: Sequence[tuple[int, RunRow]] = ()


class Named(Protocol):
    """A property."""

    id: str
    promise: str


class Checker(Named, Protocol):
    """Decides one property. Fed with the events of a run in order, then asked once."""

    ledger: Ledger

    def feed(self, events: Sequence[Event]) -> None: ...

    def finish(self, end: End) -> Finding: ...


class Ledger:
    """Counts what a checker looked at and keeps what it objects to."""

    def __init__(self, checker: Named) -> None:
        self._checker = checker
        self.exercised = 0
        self.count = 0
        self.kept: list[Violation] = []
        self.doubts: list[str] = []

    def violation(
        self, message: str, ops: Iterable[Op | None] = (), changes: Iterable[Change | None] = ()
    ) -> None:
        self.count += 1
        if len(self.kept) < SHOWN:
            self.kept.append(
                Violation(
                    message,
                    tuple(op for op in ops if op is not None),
                    tuple(change for change in changes if change is not None),
                )
            )

    def doubt(self, reason: str) -> None:
        """Something that keeps the property from being decided."""
        if len(self.doubts) < SHOWN:
            self.doubts.append(reason)

    def cut_short(self, why: str) -> Finding:
        """What is to be said when the checker came to no end: what it had proven by then stands."""
        finding = self.finding()
        if self.count:
            finding.reason = f"{finding.reason}; the rest is unknown: {why}"
        else:
            finding.verdict, finding.reason = "unknown", why
        return finding

    def finding(self, **details: Any) -> Finding:
        verdict: Verdict = "valid"
        reason = ""
        if self.count:
            verdict = "invalid"
            reason = self.kept[0].message
        elif self.doubts:
            verdict = "unknown"
            reason = self.doubts[0]
        elif not self.exercised:
            verdict = "unknown"
            reason = NEVER_EXERCISED
        checker = self._checker
        return Finding(
            checker.id,
            checker.promise,
            verdict,
            self.exercised,
            self.kept,
            self.count,
            reason,
            details,
        )


def batches(events: Iterable[Event], size: int = 5000) -> Iterator[list[Event]]:
    """Events in lists of bounded size."""
    batch: list[Event] = []
    for event in events:
        batch.append(event)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch
