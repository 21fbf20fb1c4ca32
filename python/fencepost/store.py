"""An open store, and what it consists of."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Iterable
from datetime import datetime
from types import TracebackType
from typing import Self

from . import logs, maintenance
from .effects import Effects
from .engine.protocol import Clock, Engine
from .errors import InvalidArgumentError, refusal
from .events import Events
from .feed import Feed
from .keeping import Claim, Lease, end_of
from .maintenance import Checkpoint, Pruned, Stats
from .observing.hooks import Hooks, Telling
from .queue import Queue
from .records import Run
from .requests import Requests
from .resources import Resources
from .runs import Runs
from .validation import (
    integer,
    items,
    lease_ms as checked_lease,
    name as checked_name,
    run_id as checked_run_id,
    time_ms,
)
from .waiting import Ready, Waiter, Wish, leave_no_folder


class Store:
    """An open store, safe to use from many threads; a context manager that closes it.

    Attributes:
        path: the absolute path of the file.
        engine_name: `"native"` or `"python"`.
        read_only: whether it was opened only for reading.
        runs: durable units of work, each owned by one live claim at a time.
        queue: the keys that a controller has to reconcile.
        resources: desired and observed states.
        effects: calls to outside systems, recorded before they are made.
        requests: child workflows, each asked for once.
        events: what happened to resources, newest first.
        feed: what happened to runs, oldest first, with a watermark for each consumer.
        hooks: who is told of what this store does.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        path: str,
        name: str,
        telling: Telling,
        read_only: bool,
        clock: Clock,
        on_close: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._has_waited = False
        self._on_close = on_close
        # A store that is only forgotten must not keep its file from the other engine. It is
        # the engine that has the file open, also for a facet or an iterator that is left.
        self._forgotten = weakref.finalize(engine, _abandoned, path, os.getpid(), on_close)
        self._forgotten.atexit = False
        self.path = path
        self.engine_name = name
        self.read_only = read_only
        self.resources = Resources(engine, path)
        self.queue = Queue(engine, path)
        self.effects = Effects(engine, path)
        self.requests = Requests(engine, path)
        self.events = Events(engine, path)
        self.runs = Runs(engine, path)
        self.feed = Feed(engine, path)
        self._telling = telling
        facets = (
            *(self.resources, self.queue, self.effects, self.requests, self.events),
            *(self.runs, self.feed),
        )
        self.hooks = Hooks(self._telling, engine, facets)

    def close(self) -> None:
        """Close the store; again does nothing. Waits for calls of other threads to end."""
        self._engine.close()
        if self._forgotten.detach() is not None:
            # Who only reads removes no folder but one that it may have made itself.
            if self._has_waited or not self.read_only:
                leave_no_folder(self.path)
            self._on_close()
            logs.closed(self.path)

    def wait(
        self,
        *,
        runs: bool = False,
        exclude_run_ids: Iterable[str] = (),
        controllers: Iterable[str] = (),
        feed_after: int | None = None,
        events_after: int | None = None,
        timeout_ms: int | None = None,
    ) -> Ready:
        """Wait until there is work, in this process or committed by another.

        Arguments:
            runs: wait for a claimable run, other than those of `exclude_run_ids`.
            controllers: wait for a due key of one of these.
            feed_after: wait for an event of the feed after this sequence number.
            events_after: wait for an event of any controller after this sequence number.
            timeout_ms: how long at most, in milliseconds; default for ever.

        Returns what there is; it is false after the timeout. That something is ready is
        no claim: another worker may be faster, so claim, and wait again if there was
        nothing. Costs next to no CPU meanwhile.
        """
        wish = _wish(runs, exclude_run_ids, controllers, feed_after, events_after)
        return self._waiter(wish, timeout_ms).wait()

    async def wait_async(
        self,
        *,
        runs: bool = False,
        exclude_run_ids: Iterable[str] = (),
        controllers: Iterable[str] = (),
        feed_after: int | None = None,
        events_after: int | None = None,
        timeout_ms: int | None = None,
    ) -> Ready:
        """`wait` for asyncio: other tasks of the event loop go on meanwhile."""
        wish = _wish(runs, exclude_run_ids, controllers, feed_after, events_after)
        return await self._waiter(wish, timeout_ms).wait_async()

    def _waiter(self, wish: Wish, timeout_ms: int | None) -> Waiter:
        timeout = None if timeout_ms is None else integer(timeout_ms, "timeout_ms")
        self._has_waited = True
        return Waiter(self._engine, self.path, self._clock, wish, timeout)

    def keep(self, *, claim: Claim, lease_ms: int, every_ms: int | None = None) -> Lease:
        """Renew a claim from a background thread while a `with` block works on it::

            with store.keep(claim=run, lease_ms=5_000) as lease:
                for step in steps:
                    lease.check()  # LeaseLostError: another worker may own the run now
                    step(fence=lease.fence)
            store.runs.complete(**run.claim)

        Complete, park, settle or requeue after the block: whether the claim still counted
        is what they return. `async with` also cancels the block when the lease is lost; see
        `Lease`.

        Arguments:
            claim: a Run as it was claimed or enqueued, or a QueueClaim.
            lease_ms: the length of each renewed lease in milliseconds.
            every_ms: how long after a renewal the next one comes, in milliseconds; default
                a third of the lease, so that one or two may fail.

        Raises InvalidArgumentError, also for a run that is not claimed.
        """
        ends_ms = end_of(claim)
        lease = checked_lease(lease_ms)
        every = lease // 3 if every_ms is None else integer(every_ms, "every_ms", least=1)
        return Lease(
            claim, self._renewal(claim, lease), self._clock, ends_ms, lease_ms=lease, every_ms=every
        )

    def _renewal(self, claim: Claim, lease: int) -> Callable[[], bool]:
        if isinstance(claim, Run):
            held = claim.claim
            return lambda: self.runs.renew(**held, lease_ms=lease)
        return lambda: self.queue.renew(claim=claim, lease_ms=lease)

    def stats(self, *, now: datetime | str | None = None) -> Stats:
        """How much of what the store holds. Counts every row: some ms for each 10,000."""
        ms = time_ms(now)
        return maintenance.stats(self._engine, self.path, self._clock() if ms is None else ms)

    def prune(
        self,
        *,
        done_before: datetime | str | None = None,
        events_before: datetime | str | None = None,
        limit: int | None = None,
        unread: bool = False,
    ) -> Pruned:
        """Delete what is over, in many short transactions.

        Arguments:
            done_before: delete runs that were done before this time. A continuation goes
                only after its parent; once both are gone the parent could be continued
                anew, so keep them longer than any worker can be late.
            events_before: delete events, of controllers and of the feed, recorded before.
            limit: rows to delete at most, of all kinds; default all.
            unread: delete also what a consumer's watermark has yet to pass.

        Returns how many rows went. Sequence numbers never come back.
        """
        with self._telling.call("store", "prune") as call:
            pruned = maintenance.prune(
                self._engine,
                done_before=done_before,
                events_before=events_before,
                limit=limit,
                unread=unread,
            )
            count = pruned.runs + pruned.events + pruned.run_events
            call.facts = iter([("prune", {"count": count})])
        return pruned

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        pages: int = 1000,
        pause_ms: int = 0,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Copy the store into a new file while others work on it.

        The copy is one snapshot, is verified, and has its name only when it is whole.

        Arguments:
            path: the new file; nothing may be there.
            pages: how many pages to copy at a time.
            pause_ms: how long, in milliseconds, to rest after each step.
            progress: called after each step with the pages that remain, and all.

        Raises StoreIOError, CorruptStoreError, StoreFullError; nothing is left then.
        """
        with self._telling.call("store", "backup"):
            maintenance.backup(
                self._engine,
                self.engine_name,
                path,
                pages=pages,
                pause_ms=pause_ms,
                progress=progress,
            )

    def checkpoint(self, mode: str = "passive") -> Checkpoint:
        """Move the write-ahead log into the database.

        Arguments:
            mode: `"passive"` does what it can without waiting; `"full"`, `"restart"` and
                `"truncate"` need that no one reads or writes meanwhile, and say where
                they did not get through.

        Raises ReadOnlyStoreError where the store was opened read-only.
        """
        if self.read_only:
            raise refusal("read_only", self.path)
        with self._telling.call("store", "checkpoint") as call:
            done = maintenance.checkpoint(self._engine, mode)
            fields = {"count": done.moved_frames, "failed": not done.complete}
            call.facts = iter([("checkpoint", fields)])
        if not done.complete:
            logs.held_up(self.path, mode, done.wal_frames, done.moved_frames)
        return done

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<fencepost.Store {self.path!r} engine={self.engine_name}>"


def _wish(
    runs: bool,
    exclude_run_ids: Iterable[str],
    controllers: Iterable[str],
    feed_after: int | None,
    events_after: int | None,
) -> Wish:
    excluded = items(exclude_run_ids, "exclude_run_ids")
    given = items(controllers, "controllers")
    wish = Wish(
        bool(runs),
        frozenset(checked_run_id(item, "exclude_run_ids") for item in excluded),
        tuple(sorted({checked_name(item, "controllers") for item in given})),
        None if feed_after is None else integer(feed_after, "feed_after"),
        None if events_after is None else integer(events_after, "events_after"),
    )
    if not wish:
        raise InvalidArgumentError(
            "wait: say what for: runs, controllers, feed_after or events_after"
        )
    return wish


def engine_of(store: Store) -> Engine:
    """The engine below a store, for this package's own tools: no part of the public API."""
    return store._engine


def _abandoned(path: str, process: int, on_close: Callable[[], None]) -> None:
    if os.getpid() == process:
        on_close()
        warnings.warn(f"the store {path!r} was never closed", ResourceWarning, stacklevel=2)
