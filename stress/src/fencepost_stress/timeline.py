"""Histories and witness joined into one stream: what happened, in commit order.

The stream holds each committed change with the call that made it, and each call that
changed nothing at the first place where it can have happened. Places are bounded by
real time, which all processes of a host share:

- A change was committed after the call that made it, and every call that made an
  earlier change, had been invoked. So a change is *possible* from then on.
- A change was committed before its call returned, and before any call that made a
  later change returned. So it is *certain* from then on.
- A call without a change sees at least the changes that were certain when it was
  invoked (`low`), and at most those that were possible when it returned (`high`).

Both bounds come from stamps taken outside the call, so they hold for any store,
wherever it reads its clock and however long a process was stopped in between. Where
an identity is known late, a change counts as possible early, which only widens bounds.

Memory holds the calls in flight and what overlaps them: a process that was stopped
for two seconds makes the stream keep two seconds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import attrgetter
from typing import Any, TypeAlias

from . import identity
from .history import Fail, Info, Ok, Record
from .identity import LATE, OWNED_KEY, PART, SHARED, Identity
from .leftovers import Leftovers
from .merge import CLOCK, INVOKE, KIND, Entry, merged
from .operations import NEVER, Commit, Event, Op, Seen
from .pool import Pool
from .rows import Change
from .scan import Scan

_by_seq = attrgetter("seq")


def join(
    histories: Iterable[tuple[str, Iterable[Record]]],
    witness: Iterable[Change],
    starts: Mapping[str, int] | None = None,
) -> Iterator[Event]:
    """The events of a run.

    `histories` are pairs of a process's unique name and its records; `starts` can tell
    when each begins.
    """
    joiner = _Joiner(iter(witness))
    for entries in merged(histories, starts or {}):
        yield from joiner.step(entries)
    yield from joiner.finish()


class _Joiner:
    def __init__(self, witness: Iterator[Change]) -> None:
        self._scan = Scan(witness)
        self._pool = Pool()
        self._open: dict[str, Op] = {}  # by process, in the order of invocation
        self._invoked: dict[Identity, Op] = {}
        self._attached: deque[_Entry] = deque()
        self._head: Change | None = None
        self._head_op: Op | None = None
        self._parts: dict[int, list[Change]] = {}
        self._left = Leftovers()
        self._owners: dict[int, Op] = {}
        self._lost: list[Op] = []
        self._seen: list[tuple[int, int, Op]] = []
        self._count = 0
        self._possible = 0
        self._certain = 0
        self._emitted = 0
        self._owner_before: Op | None = None

    def step(self, entries: list[Entry]) -> list[Event]:
        opened = self._open
        out: list[Event] = []
        for rank, process, record in entries:
            kind = rank & KIND
            if kind == INVOKE:
                op = Op(process, record.n, record.name, record.args, record.mono, low=self._certain)  # type: ignore[union-attr]
                opened[process] = op
                self._invoke(op)
            elif kind == CLOCK:
                current = opened.get(process)
                if current is not None:
                    current.clock.append((record.mono, record.wall))  # type: ignore[union-attr]
            else:
                current = opened.pop(process, None)
                if current is not None:
                    self._close(current, record)
                    self._emit(out)
        return out

    def _invoke(self, op: Op) -> None:
        known = op.known = identity.of_invocation(op)
        if known:
            if known[0][0] in SHARED:
                self._pool.invite(known[0], op)
            else:
                for one in known:
                    self._invoked[one] = op
        self._attach()

    # What a call's end says.

    def _close(self, op: Op, record: Record | None) -> None:
        _read_end(op, record)
        if op.known and op.known[0][0] in SHARED:
            self._close_shared(op, record)
            return
        late, due = identity.of_outcome(op), identity.rows_due(op)
        if op.status == "unknown":
            if record is not None and not any(one[0] == OWNED_KEY for one in op.known):
                # Whatever it did, it had done when it came back.
                op.high = self._possible
            self._hand_back(op, op.rows)
            self._left.lose(op, op.known + late, bool(late))
            self._lost.append(op)
            return
        if due:
            self._take_back(op)
        elif op.rows:
            self._hand_back(op, op.rows)
        else:
            for one in filter(self._left.waits, op.known):
                self._left.refuse(op, one)
        missing = [one for one in late if not self._take(op, one)]
        if len(op.rows) < due:
            missing += [one for one in op.known if self._invoked.get(one) is op]
            for one in missing:
                self._search(op, one)
        self._forget(op)
        op.high = self._possible
        if due:
            self._left.bound(op.known, op.high)
        if not op.rows:
            self._nothing(op)
            return
        if len(op.rows) > 1:
            op.rows.sort(key=_by_seq)
        self._certain = max(self._certain, op.rows[-1].seq)

    def _close_shared(self, op: Op, record: Record | None) -> None:
        if record is None:
            return
        op.high = self._possible
        if op.status == "unknown":
            return
        if op.status == "fail":
            self._pool.dismiss(op.known[0], op)
            self._nothing(op)
        else:
            self._certain = max(self._certain, self._pool.earliest(op.known[0], op))

    def _nothing(self, op: Op) -> None:
        """The call changed nothing."""
        self._count += 1
        heapq.heappush(self._seen, (op.low, self._count, op))

    def _take(self, op: Op, known: Identity, own: Change | None = None) -> bool:
        """Give the call the change of this name that waits for it."""
        change = self._left.take(op, known, own)
        if change is None:
            return False
        self._owners[change.seq] = op
        self._give(op, change)
        return True

    def _give(self, op: Op, change: Change) -> None:
        """The change, and those that are parts of it, are the call's."""
        op.rows.append(change)
        op.rows.extend(self._parts.pop(change.seq, ()))
        if self._head is change:
            self._head_op = op

    # A name that several calls bear, one after the other: see `leftovers`.

    def _hand_back(self, op: Op, rows: list[Change]) -> None:
        """These changes, which the call was given, wait for another."""
        op.rows = [row for row in op.rows if row not in rows]
        for change in rows:
            entry = self._entry(change)
            entry[2] = None
            if entry[1][0] == PART:
                self._parts.setdefault(rows[0].seq, []).append(change)
            else:
                self._left.wait(entry[1], change)
                if op.status != "unknown" and not identity.rows_due(op):
                    self._left.refuse(op, entry[1])
        if self._head_op is op and self._head in rows:
            self._head_op = None

    def _take_back(self, op: Op) -> None:
        """What waits for a name of the call is its own rather than a later change is."""
        for known in op.known:
            if self._left.waits(known):
                own = next((row for row in op.rows if self._entry(row)[1] == known), None)
                if self._take(op, known, own) and own is not None:
                    self._hand_back(op, [own])

    def _entry(self, change: Change) -> _Entry:
        """Where the change stands among those that are attached."""
        attached = self._attached
        index = min(change.seq - attached[0][0].seq, len(attached) - 1)
        while attached[index][0].seq > change.seq:
            index -= 1
        return attached[index]

    def _forget(self, op: Op) -> None:
        for one in op.known:
            if self._invoked.get(one) is op:
                del self._invoked[one]

    # The witness, as far as the invoked calls explain it.

    def _attach(self) -> None:
        scan = self._scan
        while (entry := scan.peek()) is not None and self._admit(*entry):
            scan.drop()

    def _admit(self, change: Change, known: Identity, force: bool = False) -> bool:
        kind = known[0]
        op = None
        if kind in LATE:
            self._left.wait(known, change)
        elif kind == PART:
            op = self._head_op
            if op is not None:
                op.rows.append(change)
            elif self._head is not None:
                self._parts.setdefault(self._head.seq, []).append(change)
        elif kind in SHARED:
            if not self._pool.invited(known) and not force:
                return False
            self._pool.offer(known, change, self._scan.deletion_before(change))
        elif kind != identity.DELETION:
            op = self._invoked.pop(known, None)
            if op is None and not force:
                return False
            if op is not None and op.status == "unknown":
                self._left.wait(known, change)
                op = None
            elif op is not None:
                op.rows.append(change)
        if kind != PART:
            self._head, self._head_op = change, op
        self._attached.append([change, known, op])
        self._possible = change.seq
        return True

    def _search(self, op: Op, known: Identity) -> None:
        """Find a change of a call that says it made one, past changes that nobody made.

        The call has returned, so every change up to its own was committed by calls that
        had been invoked: what still waits for its call before that has none.
        """
        for entry in self._scan.up_to(known):
            self._admit(*entry, force=True)
        if known[0] in LATE:
            self._take(op, known)
        self._attach()

    # What can be said for certain goes out.

    def _emit(self, out: list[Event], last: bool = False) -> None:
        # A call in flight can turn out to see what comes after its `low`, and a change
        # that is not certain can turn out to belong to a call that is not invoked yet.
        frontier = self._certain
        if last:
            frontier = NEVER
        elif self._open:
            frontier = min(frontier, next(iter(self._open.values())).low)
        seen, attached = self._seen, self._attached
        while True:
            while seen and seen[0][0] <= self._emitted:
                out.append(Seen(heapq.heappop(seen)[2]))
            if not attached or self._emitted >= frontier:
                return
            change, known, op = attached[0]
            if op is None:
                op = self._settled(change, known, last)
                if op is _UNDECIDED:
                    return
            attached.popleft()
            self._emitted = change.seq
            self._owner_before = op
            out.append(Commit(change, op))
            if known[0] in SHARED:
                out.extend(map(Seen, self._pool.overdue(known, change.seq)))
                self._scan.forget(change)

    def _settled(self, change: Change, known: Identity, last: bool) -> Op | None:
        """Whose a change is that had no call when it was attached."""
        kind = known[0]
        if kind in SHARED:
            if not self._pool.decide(known, change, self._certain, last):
                return _UNDECIDED
            return self._pool.owner(change)
        if kind == PART:
            return self._owner_before
        if kind == identity.DELETION:
            if len(self._attached) < 2 and not last:
                return _UNDECIDED
            return self._of_deletion(change, last)
        op = self._owner(change, known)
        if op is None:
            self._parts.pop(change.seq, None)
        return op

    def _of_deletion(self, change: Change, last: bool) -> Op | None:
        """The call of the queue row that goes with a first request for deletion."""
        if len(self._attached) < 2:
            return None
        after, known, _ = self._attached[1]
        if self._scan.deletion_before(after) is not change:
            return None
        if not self._pool.decide(known, after, self._certain, last):
            return _UNDECIDED
        return self._pool.owner(after)

    def _owner(self, change: Change, known: Identity) -> Op | None:
        op = self._owners.pop(change.seq, None)
        if op is not None:
            return op
        op = self._left.heir(change, known)
        if op is None:
            return None
        before = len(op.rows)
        self._give(op, change)
        if op.status == "unknown":
            if op.name.endswith("_many"):
                self._give_further(op, change.seq, len(op.rows) - before)
            self._left.settle(op, change, known)
        return op

    def _give_further(self, op: Op, first: int, count: int) -> None:
        """A killed call of many: its further rows follow at once."""
        seq = first + count - 1
        for other, name, owner in islice(self._attached, count, None):
            seq += 1
            if other.seq != seq or owner is not None or seq in self._owners:
                return
            if self._left.lost_owner(other, name) is not op:
                return
            self._left.spend(op, other, name)
            self._owners[seq] = op
            op.rows.append(other)

    def finish(self) -> list[Event]:
        """The rest: changes that no call explains, and calls whose outcome left no row."""
        while (entry := self._scan.peek()) is not None:
            self._scan.drop()
            self._admit(*entry, force=True)
        out: list[Event] = []
        self._emit(out, last=True)
        out.extend(map(Seen, self._pool.rest()))
        out.extend(Seen(op) for op in self._lost if not op.rows)
        return out


def _read_end(op: Op, record: Record | None) -> None:
    if record is not None:
        op.returned = record.mono
    kind = type(record)
    if kind is Ok:
        op.status, op.result = "ok", record.result  # type: ignore[union-attr]
    elif kind is Fail:
        op.status, op.code = "fail", record.code  # type: ignore[union-attr]
    else:
        op.status = "unknown"
        if kind is Info:
            op.code = record.code  # type: ignore[union-attr]


_Entry: TypeAlias = list[Any]
"""A change that is attached, its name, and its call as far as it has one."""

_UNDECIDED = Op("", 0, "", {}, 0)
