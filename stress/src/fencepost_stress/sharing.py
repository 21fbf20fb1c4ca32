"""Which call made which change, where several could have.

An enqueue of a key leaves nothing in the row that says whose it was: the version grows
by one, and the due time becomes the earlier of two. A watermark shows the greatest place
that any call gave. So calls and changes of one key are matched: a call fits a change that
lies in its window and that its due time, or its place and time, explains.

Any matching that covers all changes is a history that can have happened, and one is
found whenever there is one: by augmenting paths, so that an early choice never stands in
the way of a later change. The calls that were acknowledged are then given a change before
those whose outcome is unknown (a matching that covers these changes and one that covers
those calls can always be combined).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from .operations import Op
from .rows import Change, QueueRow, ResourceRow, WatermarkRow
from .times import ms_of, text_of


def assign(
    changes: Sequence[Change], calls: Sequence[Op], deletions: Mapping[int, Change]
) -> dict[int, Op]:
    """The call of each change, by `seq`; changes that no call can have made are left out.

    `deletions` holds the first requests for deletion that some of the changes go with.
    """
    if len(changes) == len(calls) == 1 and explains(deletions, calls[0], changes[0]):
        return {changes[0].seq: calls[0]}
    owners = _match(changes, calls, partial(explains, deletions))
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


def explains(deletions: Mapping[int, Change], op: Op, change: Change) -> bool:
    """Whether the call, at this place, changes the row in this way."""
    before, after = change.before, change.after
    if not op.low < change.seq <= op.high:
        return False
    now = op.now
    if now is None:
        # The clock is read before the row is written: the call was killed before that.
        return False
    if isinstance(after, WatermarkRow):
        seq = int(op.args["seq"])
        if isinstance(before, WatermarkRow):
            seq = max(seq, before.last_event_seq)
        return after.last_event_seq == seq and after.updated_at == text_of(now)
    if not isinstance(after, QueueRow):
        return False
    deletion = deletions.get(change.seq)
    if deletion is not None and (
        op.name != "resources.request_deletion" or not _marks(deletion, now)
    ):
        return False
    given = _given(op, after)
    due = now if given is None else ms_of(given)
    if isinstance(before, QueueRow):
        due = min(due, before.available_at)
    return after.available_at == due


def _given(op: Op, row: QueueRow) -> str | None:
    """The due time that an enqueue names for a key, alone or among others."""
    items = op.args.get("items")
    if items is None:
        given: str | None = op.args.get("available_at")
        return given
    return next((item[2] for item in items if len(item) > 2 and tuple(item[:2]) == row[:2]), None)


def _marks(deletion: Change, now: int) -> bool:
    row = deletion.after
    return isinstance(row, ResourceRow) and row.deletion_timestamp == text_of(now)


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
