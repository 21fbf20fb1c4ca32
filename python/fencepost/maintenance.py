"""Operating a store: numbers, pruning, backups, checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from .clock import iso_from_ms, ms_from_time
from .engine.protocol import Engine, Value
from .errors import CorruptStoreError, InvalidArgumentError, StoreIOError
from .records.base import Record
from .shown import why_not
from .validation import absolute_path, choice, integer

CHECKPOINTS = ("passive", "full", "restart", "truncate")
_PRUNED_AT_ONCE = 1_000
_EFFECT_STATES = ("pending", "applied", "rejected", "indeterminate")
_REQUEST_STATES = ("pending", "running", "waiting", "succeeded", "failed", "interrupted")


@dataclass(frozen=True, slots=True)
class Stats(Record):
    """How much of what a store holds, counted in one read each.

    Attributes:
        runs: runs by status, with `expired`: claimed ones whose lease has ended.
        queue: keys `waiting`, `claimed`, and `expired` (claimed, but the lease has ended).
        effects, requests: by state.
        feed: events, and the first and last sequence number.
        watermarks: the sequence number that each consumer of the feed has set.
        file_bytes, wal_bytes: the sizes of the database and of its write-ahead log.
    """

    runs: dict[str, int]
    queue: dict[str, int]
    resources: dict[str, int]
    effects: dict[str, int]
    requests: dict[str, int]
    events: int
    feed: dict[str, int]
    watermarks: dict[str, int]
    file_bytes: int
    wal_bytes: int


@dataclass(frozen=True, slots=True)
class Pruned(Record):
    """How many rows were deleted."""

    runs: int
    events: int
    run_events: int


@dataclass(frozen=True, slots=True)
class Checkpoint(Record):
    """What a checkpoint did.

    Attributes:
        complete: whether it got as far as its mode asks; readers or a writer hinder it.
        wal_frames: pages in the write-ahead log, -1 without one.
        moved_frames: how many of them are in the database now.
    """

    complete: bool
    wal_frames: int
    moved_frames: int


def stats(engine: Engine, path: str, now: int) -> Stats:
    """Count everything; see `Store.stats`."""
    runs = {"claimed": 0, "parked": 0, "done": 0}
    runs.update((row[0], row[1]) for row in engine.read("stats.runs", {}))
    runs["expired"] = engine.read("stats.expired_runs", {"now": now})[0][0]
    waiting, claimed, expired = engine.read("stats.queue", {"now": now})[0]
    present, in_deletion = engine.read("stats.resources", {})[0]
    count, first, last = engine.read("stats.feed", {})[0]
    return Stats(
        runs,
        {"waiting": waiting, "claimed": claimed, "expired": expired},
        {"present": present, "in_deletion": in_deletion},
        dict(zip(_EFFECT_STATES, engine.read("stats.effects", {})[0], strict=True)),
        dict(zip(_REQUEST_STATES, engine.read("stats.requests", {})[0], strict=True)),
        engine.read("stats.events", {})[0][0],
        {"events": count, "first_seq": first, "last_seq": last},
        {row[0]: row[1] for row in engine.read("stats.watermarks", {})},
        os.path.getsize(path),
        _size_or_zero(f"{path}-wal"),
    )


def _size_or_zero(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def prune(
    engine: Engine,
    *,
    done_before: datetime | str | None,
    events_before: datetime | str | None,
    limit: int | None,
    unread: bool,
) -> Pruned:
    """Delete what is over; see `Store.prune`."""
    left = None if limit is None else integer(limit, "limit", least=1)
    runs_before = None if done_before is None else ms_from_time(done_before, "done_before")
    feed_before = None if events_before is None else ms_from_time(events_before, "events_before")
    if runs_before is None and feed_before is None:
        raise InvalidArgumentError("prune: say what: done_before, events_before, or both")
    deleted = []
    for statement, before in (
        ("prune.runs", runs_before),
        ("prune.events", feed_before),
        ("prune.feed", feed_before),
    ):
        count = 0 if before is None else _prune(engine, statement, before, left, unread)
        left = None if left is None else left - count
        deleted.append(count)
    return Pruned(*deleted)


def _prune(engine: Engine, statement: str, before: int, left: int | None, unread: bool) -> int:
    total, text = 0, iso_from_ms(before)
    while left is None or total < left:
        batch = _PRUNED_AT_ONCE if left is None else min(_PRUNED_AT_ONCE, left - total)
        params: dict[str, Value] = {"before": text, "limit": batch, "unread": int(unread)}
        count = engine.change(statement, params)
        total += count
        if count == 0:
            break
    return total


def backup(
    engine: Engine,
    engine_name: str,
    path: str | os.PathLike[str],
    *,
    pages: int,
    pause_ms: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Copy the store into a new file; see `Store.backup`."""
    target = absolute_path(path)
    integer(pages, "pages", least=1, most=2**31 - 1)
    integer(pause_ms, "pause_ms", most=2**31 - 1)
    unfinished = f"{target}.unfinished"
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        if os.path.lexists(target):
            raise FileExistsError(0, "it exists already")
    except FileExistsError as error:
        where = error.filename or target
        _remove(unfinished if where == target else None)
        raise StoreIOError(f"{where}: exists already; choose another path or remove it") from None
    except OSError as error:
        raise StoreIOError(f"{target}: can't be created: {why_not(target, error)}") from error
    try:
        engine.backup(unfinished, pages, pause_ms, progress)
        _verify(unfinished, engine_name)
        os.rename(unfinished, target)
    finally:
        _remove(unfinished)


def _verify(path: str, engine_name: str) -> None:
    """Raise CorruptStoreError unless the copy is whole and has the layout."""
    from .opening import open  # a store opens the copy, and opening makes stores
    from .store import engine_of

    with open(path, engine=engine_name, read_only=True) as copy:
        problems = check(engine_of(copy))
    if problems:
        raise CorruptStoreError(f"the backup is damaged: {problems[0]}; check the source's disk")


def check(engine: Engine) -> list[str]:
    """What is wrong with the file: integrity first, then foreign keys. Empty: nothing."""
    problems = [str(row[0]) for row in engine.read("connection.integrity", {})]
    problems = [] if problems == ["ok"] else problems
    orphans = engine.read("connection.foreign_keys", {})
    return problems + [f"{row[0]} row {row[1]} refers to no row of {row[2]}" for row in orphans]


def _remove(path: str | None) -> None:
    if path is not None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return


def checkpoint(engine: Engine, mode: str) -> Checkpoint:
    """Move the log into the database; see `Store.checkpoint`."""
    choice(mode, "mode", CHECKPOINTS)
    blocked, frames, moved = engine.read(f"connection.checkpoint_{mode}", {})[0]
    return Checkpoint(blocked == 0, frames, moved)
