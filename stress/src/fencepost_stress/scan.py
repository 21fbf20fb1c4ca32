"""The witness with a name for each change, and a view of what comes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from .identity import Identity
from .naming import Namer
from .rows import Change

LOOKAHEAD = 200_000
"""How far to look for the change of a call that says it made one."""


class Scan:
    """Changes in commit order; those that were looked at but not taken stay in place."""

    def __init__(self, witness: Iterator[Change]) -> None:
        self._witness = witness
        self._namer = Namer()
        self._ahead: deque[tuple[Change, Identity]] = deque()
        self._names: Counter[Identity] = Counter()

    def peek(self) -> tuple[Change, Identity] | None:
        """The next change, or None at the end."""
        return self._ahead[0] if self._ahead or self._read() else None

    def drop(self) -> None:
        """Go past the change that `peek` showed."""
        _, known = self._ahead.popleft()
        if self._names:
            self._uncount(known)

    def deletion_before(self, change: Change) -> Change | None:
        """The first request for deletion of a resource whose queue row this is."""
        return self._namer.deletions.get(change.seq)

    def forget(self, change: Change) -> None:
        """The change is emitted: nobody asks any more what it goes with."""
        self._namer.deletions.pop(change.seq, None)

    def up_to(self, known: Identity) -> Iterator[tuple[Change, Identity]]:
        """Take everything up to a name; nothing when it does not come."""
        if not self._comes(known):
            return
        found = False
        while not found:
            change, name = self._ahead.popleft()
            self._uncount(name)
            found = name == known
            yield change, name

    def _comes(self, known: Identity) -> bool:
        if not self._names:
            self._names.update(name for _, name in self._ahead)
        while known not in self._names:
            if len(self._ahead) >= LOOKAHEAD or not self._read():
                return False
            self._names[self._ahead[-1][1]] += 1
        return True

    def _uncount(self, known: Identity) -> None:
        self._names[known] -= 1
        if self._names[known] <= 0:
            del self._names[known]

    def _read(self) -> bool:
        change = next(self._witness, None)
        if change is None:
            return False
        self._ahead.append((change, self._namer.name(change)))
        return True
