"""Changes that several calls can have made, until it is decided whose each was."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from . import sharing
from .identity import Identity
from .operations import NEVER, Op
from .rows import Change


class Pool:
    """The calls and the changes of each shared kind of identity."""

    def __init__(self) -> None:
        self._calls: dict[Identity, list[Op]] = {}
        self._changes: dict[Identity, deque[Change]] = {}
        self._deletions: dict[int, Change] = {}
        self._owners: dict[int, Op | None] = {}
        self._decided: dict[Identity, int] = {}

    def invite(self, known: Identity, op: Op) -> None:
        """The call may turn out to have made a change of this name."""
        self._calls.setdefault(known, []).append(op)

    def invited(self, known: Identity) -> bool:
        return bool(self._calls.get(known))

    def dismiss(self, known: Identity, op: Op) -> None:
        """The call was refused: it made none."""
        waiting = self._calls.get(known, [])
        if op in waiting:
            waiting.remove(op)

    def offer(self, known: Identity, change: Change, deletion: Change | None) -> None:
        """A change of this name; `deletion` is the resource's change that goes with it."""
        self._changes.setdefault(known, deque()).append(change)
        if deletion is not None:
            self._deletions[change.seq] = deletion

    def earliest(self, known: Identity, op: Op) -> int:
        """The earliest place where an acknowledged call can have made its change; else 0."""
        if self._decided.get(known, 0) > op.low:
            return 0
        return next((one.seq for one in self._changes.get(known, ()) if one.seq > op.low), 0)

    def owner(self, change: Change) -> Op | None:
        return self._owners.get(change.seq)

    def decide(self, known: Identity, change: Change, certain: int, last: bool) -> bool:
        """Share out the changes whose calls' windows hang together, up to this one at least.

        False when that has to wait: a change that is not certain may belong to a call
        that is not invoked yet, so the windows must all lie in what is certain; and a call
        in flight may yet be refused.
        """
        if change.seq in self._owners:
            return True
        waiting = self._calls.get(known, [])
        changes = self._changes[known]
        horizon, before = changes[0].seq, 0
        while horizon != before:
            before = horizon
            ends = [op.high for op in waiting if op.low < horizon and op.high != NEVER]
            horizon = max([horizon, *ends])
        undecided = any(op.status == "open" and op.low < horizon for op in waiting)
        if (horizon > certain or undecided) and not last:
            return False
        together = [one for one in changes if one.seq <= horizon]
        owners = sharing.assign(
            together, [op for op in waiting if op.low < horizon], self._deletions
        )
        self._decided[known] = together[-1].seq
        for one in together:
            changes.popleft()
            op = self._owners[one.seq] = owners.get(one.seq)
            deletion = self._deletions.pop(one.seq, None)
            if op is not None:
                waiting.remove(op)
                op.rows.extend([one] if deletion is None else [deletion, one])
        return True

    def overdue(self, known: Identity, seq: int) -> list[Op]:
        """Calls that say they made a change, and whose window has closed without one."""
        self._owners.pop(seq, None)
        waiting = self._calls.get(known)
        if not waiting:
            return []
        found = [op for op in waiting if op.status != "open" and op.high <= seq]
        for op in found:
            waiting.remove(op)
        return found

    def rest(self) -> Iterator[Op]:
        """The calls that are left."""
        for waiting in self._calls.values():
            yield from waiting
