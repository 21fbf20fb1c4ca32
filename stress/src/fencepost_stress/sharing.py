"""Which plain enqueue made which change, where several calls could have.

An enqueue of a key leaves nothing in the row that says whose it was: the version grows
by one, and the due time becomes the earlier of two. So calls and changes of one key are
matched: a call fits a change that lies in its window and that its due time explains.

Any matching that covers all changes is a history that can have happened, and one is
found whenever there is one: by augmenting paths, so that an early choice never stands in
the way of a later change. The calls that were acknowledged are then given a change before
those whose outcome is unknown (a matching that covers these changes and one that covers
those calls can always be combined).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from .operations import Op
from .rows import Change, QueueRow


def assign(changes: Sequence[Change], calls: Sequence[Op]) -> dict[int, Op]:
    """The call of each change, by `seq`; changes that no call can have made are left out."""
    owners = _match(changes, calls, explains)
    if len(owners) < len(changes):
        # Something is wrong here. Say which calls were about, for the checkers to judge.
        taken = {id(op) for op in owners.values()}
        rest = [change for change in changes if change.seq not in owners]
        free = [op for op in calls if id(op) not in taken]
        owners.update(_match(rest, free, in_window))
    return owners


def in_window(op: Op, change: Change) -> bool:
    """Whether the call can have taken effect at this place."""
    return op.low < change.seq <= op.high


def explains(op: Op, change: Change) -> bool:
    """Whether the call, at this place, changes the row in this way."""
    before, after = change.before, change.after
    if not in_window(op, change) or not isinstance(after, QueueRow):
        return False
    given = op.args.get("available_at")
    due = op.now if given is None else _milliseconds(given)
    if due is None:
        return True
    if isinstance(before, QueueRow):
        due = min(due, before.available_at)
    return after.available_at == due


def _milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def _match(
    changes: Sequence[Change], calls: Sequence[Op], fits: Callable[[Op, Change], bool]
) -> dict[int, Op]:
    by_deadline = sorted(calls, key=lambda op: op.high)
    candidates = {change.seq: [op for op in by_deadline if fits(op, change)] for change in changes}
    owners: dict[int, Op] = {}
    places: dict[int, int] = {}  # by the call's identity, the change that it has

    def give(seq: int, tried: set[int]) -> bool:
        for op in candidates[seq]:
            if id(op) in tried:
                continue
            tried.add(id(op))
            if id(op) not in places or give(places[id(op)], tried):
                owners[seq], places[id(op)] = op, seq
                return True
        return False

    for change in changes:
        give(change.seq, set())

    def find(op: Op, tried: set[int]) -> bool:
        for seq, fitting in candidates.items():
            if seq in tried or op not in fitting:
                continue
            tried.add(seq)
            holder = owners.get(seq)
            if holder is None or holder.status != "ok" or find(holder, tried):
                if holder is not None and places.get(id(holder)) == seq:
                    del places[id(holder)]
                owners[seq], places[id(op)] = op, seq
                return True
        return False

    for op in by_deadline:
        if op.status == "ok" and id(op) not in places:
            find(op, set())
    return owners
