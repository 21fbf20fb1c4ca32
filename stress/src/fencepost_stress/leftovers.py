"""Changes that no call has for certain yet, and the calls that may have made them.

A change finds its call by a name (see `identity`). That is not enough where

- the call tells its name only when it is over: until then the change waits;
- a call with that name was refused, or changed nothing, and another one bears it too: a
  worker enqueues its own key again when there is room again, or uses its token once more.
  What was given to the refused call waits for one that says it made such a change;
- nobody knows how a call with that name ended: it gets what is left.

So a change goes to a call that says it made one, else to one whose outcome is unknown,
else to the refused one, which then left a trace although it was refused. One that can
have made it goes before one that was merely about.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import identity, sharing
from .identity import OWNED_KEY, Identity
from .operations import NEVER, Op
from .rows import Change
from .times import text_of


class Leftovers:
    """What waits for its call, and the calls that could turn out to be it."""

    def __init__(self) -> None:
        self._waiting: dict[Identity, list[Change]] = {}
        self._unknown: dict[Identity, list[Op]] = {}
        self._traces: dict[Identity, list[Op]] = {}
        self._refused: dict[Identity, list[Op]] = {}

    # The changes.

    def wait(self, known: Identity, change: Change) -> None:
        """The change waits for a call that says it made it."""
        self._waiting.setdefault(known, []).append(change)

    def waits(self, known: Identity) -> bool:
        """Whether a change of this name waits."""
        return known in self._waiting

    def take(self, op: Op, known: Identity, own: Change | None = None) -> Change | None:
        """The first change of this name that the call can have made.

        None when that is the call's `own` change, which it has already.
        """
        for change in self._waiting.get(known, ()):
            if own is not None and own.seq < change.seq and _fits(op, known, own):
                return None
            if _fits(op, known, change):
                self._drop(known, change)
                return change
        return None

    def _drop(self, known: Identity, change: Change) -> None:
        waiting = self._waiting.get(known, [])
        if change in waiting:
            waiting.remove(change)
            if not waiting:
                del self._waiting[known]

    # The calls.

    def refuse(self, op: Op, known: Identity) -> None:
        """The call says it made no change, and there is one of its name."""
        self._refused.setdefault(known, []).append(op)

    def lose(self, op: Op, names: Iterable[Identity], late: bool) -> None:
        """Nobody knows whether the call made changes of these names; `late` ones among them."""
        for known in names:
            self._unknown.setdefault(known, []).append(op)
        trace = None if late else identity.trace_of(op)
        if trace is not None:
            self._traces.setdefault(trace, []).append(op)

    def bound(self, names: Iterable[Identity], high: int) -> None:
        """A later call of these names made its change: those that came back before made theirs.

        Which of the changes was whose may not show, so they are bounded together.
        """
        for known in names:
            for op in self._unknown.get(known, ()):
                if op.returned != NEVER:
                    op.high = min(op.high, high)

    # Whose it was.

    def heir(self, change: Change, known: Identity) -> Op | None:
        """The call of a change that no call says it made."""
        lost, refused = self._unknown.get(known, ()), self._refused.get(known, ())
        op = self.lost_owner(change, known)
        if op is None:
            op = _fitting(refused, known, change) or _about(lost, change) or _about(refused, change)
        if op is None:
            self._drop(known, change)
        else:
            self.spend(op, change, known)
        if known in self._refused:
            later = [one for one in self._refused.pop(known) if one.high > change.seq]
            if later:
                self._refused[known] = later
        return op

    def lost_owner(self, change: Change, known: Identity) -> Op | None:
        """The call of unknown outcome that can have made the change."""
        op = _fitting(self._unknown.get(known, ()), known, change)
        if op is None and self._traces:
            trace = identity.trace_in(change, known)
            waiting = () if trace is None else self._traces.get(trace, ())
            asked = (one for one in waiting if identity.asked_for(one, change))
            op = _about(asked, change)
        return op

    def spend(self, op: Op, change: Change, known: Identity) -> None:
        """A call of unknown outcome has this change, and no other of its name."""
        self._drop(known, change)
        if op in self._unknown.get(known, ()):
            self._unknown[known].remove(op)

    def settle(self, op: Op, change: Change, known: Identity) -> None:
        """A call of unknown outcome has all its changes; this is one of them."""
        trace = identity.trace_in(change, known)
        if trace is not None and op in self._traces.get(trace, ()):
            self._traces[trace].remove(op)


def _about(calls: Iterable[Op], change: Change) -> Op | None:
    """The first that was about when the change was made."""
    return next((op for op in calls if sharing.in_window(op, change)), None)


def _fitting(calls: Iterable[Op], known: Identity, change: Change) -> Op | None:
    """The first that explains the change."""
    fitting = (op for op in calls if _fits(op, known, change) and _at_its_time(op, change))
    return _about(fitting, change)


def _at_its_time(op: Op, change: Change) -> bool:
    """Whether the change bears the time that the call read, if it bears any."""
    stamp = getattr(change.after, "updated_at", None)
    if stamp is None or stamp == getattr(change.before, "updated_at", None):
        return True
    return op.now is not None and stamp == text_of(op.now)


def _fits(op: Op, known: Identity, change: Change) -> bool:
    if known[0] != OWNED_KEY:
        return sharing.in_window(op, change)
    return sharing.explains({}, op, change)
