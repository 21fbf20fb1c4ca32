"""Pruning under load: events and done runs go while others still write and read.

Each worker is a consumer of its own, and reads on from its watermark alone: to it the feed
must look as if nothing had ever been pruned. The witness leaves out what pruning deletes, so
the properties judge just that; which runs it may take P1 judges by a log beside the witness.
"""

from __future__ import annotations

from fencepost.errors import FencepostError

from ..workloads import PRUNED, PRUNES
from .actor import Actor
from .feeds import Feeds
from .runs import Held, Runs

_MOST = 50


class Prunes:
    """What a worker does in a store that is pruned."""

    def __init__(self, actor: Actor, runs: Runs, feeds: Feeds) -> None:
        self._actor = actor
        self._runs = runs
        self._feeds = feeds
        self._everybody_reads = False
        self._unfinished: Held | None = None

    def step(self) -> None:
        """Write, read, work; the first worker prunes, now and then."""
        actor = self._actor
        if actor.slot == 0 and actor.chance(0.1):
            self._prune()
            return
        actor.choice(self._feeds.tell, self.read_on, self.read_on, self._work)()

    def read_on(self) -> bool:
        """Read one page from one's own watermark, and move it; False at the end of the feed."""
        actor, session = self._actor, _consumer(self._actor.slot)
        place = actor.call("feed.watermark", session_id=session).value
        if place is None:
            return False
        events = actor.call("feed.after", seq=place, limit=actor.choice(1, 5, 20)).value
        if events is None:
            return False
        place = events[-1].seq if events else place
        actor.call("feed.set_watermark", session_id=session, seq=place)
        return bool(events)

    def _work(self) -> None:
        """Do a run; or its continuation first, which must outlast it whatever its age."""
        actor = self._actor
        if self._unfinished is not None:
            self._runs.complete(self._unfinished)
            self._unfinished = None
            return
        held = self._runs.insert(actor.unique("run"))
        if held is None:
            return
        next_one = None
        if actor.chance(0.4):
            next_one = self._runs.insert(actor.unique("continuation"), held.run_id)
        if next_one is not None:
            self._runs.complete(next_one)
            self._unfinished = held
        else:
            self._runs.complete(held)

    def _prune(self) -> None:
        """Prune all that is over, a bounded number of rows. The store alone decides what that is.

        A consumer counts from its first watermark on, so all of them need one before.
        """
        store = self._actor.session.store
        if store is None:
            raise RuntimeError("the session has no store")
        actor = self._actor
        try:
            if not self._everybody_reads:
                wanted = {_consumer(slot) for slot in range(actor.plan.processes)}
                self._everybody_reads = wanted <= set(store.stats().watermarks)
                return
            limit, done_before = actor.random.randrange(1, _MOST), actor.due(0, 0, -60, -300)
            mark = self._runs.insert(actor.unique("mark"))
            if mark is None:
                return
            actor.session.note(PRUNES, run=mark.run_id, done_before=done_before, limit=limit)
            done = store.prune(done_before=done_before, events_before=actor.due(0), limit=limit)
        except FencepostError as error:
            actor.session.note("not pruned", code=error.code)
            return
        actor.session.note(PRUNED, runs=done.runs, events=done.run_events)
        self._runs.complete(mark)


def _consumer(slot: int) -> str:
    return f"own-{slot}"
