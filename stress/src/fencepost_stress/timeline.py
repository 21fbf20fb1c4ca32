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
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from . import identity, sharing
from .history import Begin, Clock, Fail, Info, Invoke, Note, Ok, Record
from .identity import ANONYMOUS, LATE, Identity
from .operations import NEVER, Commit, Event, Op, Seen
from .rows import RESOURCES, Change

LOOKAHEAD = 200_000
"""How far to look for the change of a call that says it made one."""

_Step: TypeAlias = tuple[int, int, str, Record | None]
_INVOKE, _CLOCK, _RETURN = 0, 1, 2


def _steps(process: str, records: Iterable[Record]) -> Iterator[_Step]:
    """One history with the order in which equal stamps count; None marks its end."""
    last = 0
    for record in records:
        if isinstance(record, Begin | Note):
            continue
        last = record.mono
        if isinstance(record, Invoke):
            # Equal stamps count as overlapping: invocations first.
            yield last, _INVOKE, process, record
        else:
            yield last, _CLOCK if isinstance(record, Clock) else _RETURN, process, record
    yield last, _RETURN, process, None


def join(
    histories: Iterable[tuple[str, Iterable[Record]]], witness: Iterable[Change]
) -> Iterator[Event]:
    """The events of a run. `histories` are pairs of a process's unique name and its records."""
    joiner = _Joiner(iter(witness))
    for mono, _, process, record in heapq.merge(*(_steps(*pair) for pair in histories)):
        yield from joiner.step(mono, process, record)
    yield from joiner.finish()


class _Joiner:
    def __init__(self, witness: Iterator[Change]) -> None:
        self._witness = witness
        self._ahead: deque[tuple[Change, Identity]] = deque()
        self._open: dict[str, Op] = {}  # by process, in the order of invocation
        self._invoked: dict[Identity, Op] = {}
        self._anonymous: dict[Identity, list[Op]] = {}
        self._attached: deque[tuple[Change, Identity, Op | None]] = deque()
        self._unshared: dict[Identity, deque[Change]] = {}
        self._shared: dict[int, Op | None] = {}
        self._previous: tuple[Change, Op | None] | None = None
        self._unowned: dict[Identity, Change] = {}
        self._owners: dict[int, Op] = {}
        self._dead: dict[Identity, Op] = {}
        self._dead_claims: dict[int, list[Op]] = {}
        self._lost: list[Op] = []
        self._seen: list[tuple[int, int, Op]] = []
        self._count = 0
        self._possible = 0
        self._certain = 0
        self._emitted = 0

    def step(self, mono: int, process: str, record: Record | None) -> Iterator[Event]:
        if isinstance(record, Invoke):
            op = Op(process, record.n, record.name, record.args, record.mono, low=self._certain)
            self._open[process] = op
            known = identity.of_invocation(op)
            if known is not None and known[0] == ANONYMOUS:
                self._anonymous.setdefault(known, []).append(op)
            elif known is not None:
                self._invoked[known] = op
            self._attach()
            return
        current = self._open.get(process)
        if current is None:
            return
        if isinstance(record, Clock):
            current.clock.append((record.mono, record.wall))
            return
        del self._open[process]
        self._close(current, mono, record)
        yield from self._emit()

    # What a call's end says.

    def _close(self, op: Op, mono: int, record: Record | None) -> None:
        match record:
            case Ok(result=result):
                op.status, op.result, op.returned = "ok", result, mono
            case Fail(code=code):
                op.status, op.code, op.returned = "fail", code, mono
            case Info(code=code):
                op.status, op.code, op.returned = "unknown", code, mono
            case _:
                op.status = "unknown"
        known = identity.of_invocation(op) or identity.of_outcome(op)
        if known is not None and known[0] in LATE:
            self._own_late(op, known)
        if identity.must_have_row(op) and not op.rows and known is not None:
            self._search(op, known)
        if op.status != "unknown":
            op.high = self._possible
        if op.rows and op.returned != NEVER:
            self._certain = max(self._certain, op.rows[-1].seq)
        elif op.rows:
            # A killed call's last stamp may be older than its commit: nothing is certain yet.
            pass
        elif op.status == "unknown":
            self._remember_dead(op, known)
        elif known is None or known[0] != ANONYMOUS or op.status == "fail":
            if known is not None:
                self._forget(op, known)
            self._note_seen(op)

    def _own_late(self, op: Op, known: Identity) -> None:
        change = self._unowned.pop(known, None)
        if change is not None:
            self._owners[change.seq] = op
            op.rows.append(change)
        elif op.status == "unknown":
            self._dead[known] = op

    def _remember_dead(self, op: Op, known: Identity | None) -> None:
        expiry = identity.expiry_of_claim(op)
        if expiry is not None:
            self._dead_claims.setdefault(expiry, []).append(op)
        if known is None or known[0] != ANONYMOUS:
            self._lost.append(op)

    def _forget(self, op: Op, known: Identity) -> None:
        if self._invoked.get(known) is op:
            del self._invoked[known]
        waiting = self._anonymous.get(known)
        if waiting is not None and op in waiting:
            waiting.remove(op)

    def _note_seen(self, op: Op) -> None:
        self._count += 1
        heapq.heappush(self._seen, (op.low, self._count, op))

    # The witness, as far as the invoked calls explain it.

    def _peek(self) -> tuple[Change, Identity] | None:
        if not self._ahead:
            change = next(self._witness, None)
            if change is None:
                return None
            self._ahead.append((change, identity.of_change(change)))
        return self._ahead[0]

    def _attach(self) -> None:
        while (entry := self._peek()) is not None and self._admit(*entry):
            self._ahead.popleft()

    def _admit(self, change: Change, known: Identity, force: bool = False) -> bool:
        op = None
        if known[0] == ANONYMOUS:
            op = self._same_transaction(change)
            if op is None and not self._anonymous.get(known) and not force:
                return False
        elif known[0] in LATE:
            self._unowned[known] = change
        else:
            op = self._invoked.pop(known, None)
            if op is None and not force:
                return False
        if op is not None:
            op.rows.append(change)
        elif known[0] == ANONYMOUS:
            self._unshared.setdefault(known, deque()).append(change)
        self._attached.append((change, known, op))
        self._previous = (change, op)
        self._possible = change.seq
        return True

    def _same_transaction(self, change: Change) -> Op | None:
        """The call that changed the resource just before: it enqueues in the same transaction."""
        if self._previous is None:
            return None
        before, op = self._previous
        together = before.table == RESOURCES and before.seq + 1 == change.seq
        return op if together and before.key == change.key else None

    def _search(self, op: Op, known: Identity) -> None:
        """Find the change of a call that says it made one, past changes that nobody made.

        The call has returned, so every change up to its own was committed by calls that
        had been invoked: what still waits for its call before that has none.
        """
        if known[0] == ANONYMOUS:
            return
        for index in range(LOOKAHEAD):
            if index >= len(self._ahead):
                change = next(self._witness, None)
                if change is None:
                    return
                self._ahead.append((change, identity.of_change(change)))
            if self._ahead[index][1] == known:
                for _ in range(index + 1):
                    self._admit(*self._ahead.popleft(), force=True)
                if known[0] in LATE:
                    self._own_late(op, known)
                self._attach()
                return

    # What can be said for certain goes out.

    def _emit(self, last: bool = False) -> Iterator[Event]:
        # A call in flight can turn out to see what comes after its `low`, and a change
        # that is not certain can turn out to belong to a call that is not invoked yet.
        frontier = next(iter(self._open.values())).low if self._open else NEVER
        frontier = NEVER if last else min(frontier, self._certain)
        while True:
            while self._seen and self._seen[0][0] <= self._emitted:
                yield Seen(heapq.heappop(self._seen)[2])
            if not self._attached or self._emitted >= frontier:
                return
            change, known, op = self._attached[0]
            if op is None and known[0] == ANONYMOUS:
                if change.seq not in self._shared and not self._share(known, last):
                    return
                op = self._shared.pop(change.seq)
            elif op is None:
                op = self._owner(change, known)
            self._attached.popleft()
            self._emitted = change.seq
            yield Commit(change, op)
            yield from self._overdue(known, change.seq)

    def _owner(self, change: Change, known: Identity) -> Op | None:
        op = self._owners.pop(change.seq, None)
        if op is not None:
            return op
        self._unowned.pop(known, None)
        op = self._dead.pop(known, None)
        if op is None and known[0] == "queue-claim" and change.after is not None:
            waiting = self._dead_claims.get(change.after.claim_expires_at or 0)  # type: ignore[union-attr]
            op = waiting.pop(0) if waiting else None
        if op is not None:
            op.rows.append(change)
        return op

    def _share(self, known: Identity, last: bool) -> bool:
        """Share out the anonymous changes whose calls' windows hang together.

        False when that has to wait: a change that is not certain may belong to a call
        that is not invoked yet, so the windows must all lie in what is certain.
        """
        waiting = self._anonymous.get(known, [])
        changes = self._unshared[known]
        horizon, before = changes[0].seq, 0
        while horizon != before:
            before = horizon
            ends = [op.high for op in waiting if op.low < horizon and op.high != NEVER]
            horizon = max([horizon, *ends])
        if horizon > self._certain and not last:
            return False
        together = [change for change in changes if change.seq <= horizon]
        owners = sharing.assign(together, [op for op in waiting if op.low < horizon])
        for change in together:
            changes.popleft()
            op = self._shared[change.seq] = owners.get(change.seq)
            if op is not None:
                waiting.remove(op)
                op.rows.append(change)
        return True

    def _overdue(self, known: Identity, seq: int) -> Iterator[Event]:
        """Calls that say they enqueued, and whose window has closed without a change."""
        if known[0] != ANONYMOUS:
            return
        waiting = self._anonymous.get(known, [])
        for op in [op for op in waiting if op.status != "open" and op.high <= seq]:
            waiting.remove(op)
            yield Seen(op)

    def finish(self) -> Iterator[Event]:
        """The rest: changes that no call explains, and calls whose outcome left no row."""
        while (entry := self._peek()) is not None:
            self._ahead.popleft()
            self._admit(*entry, force=True)
        yield from self._emit(last=True)
        for waiting in self._anonymous.values():
            for op in waiting:
                yield Seen(op)
        for op in self._lost:
            if not op.rows:
                yield Seen(op)
