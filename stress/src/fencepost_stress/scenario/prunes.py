"""Pruning under load: events and done runs go while others still write and read.

Each worker is a consumer of its own, and reads on from its watermark alone: to it the feed
must look as if nothing had ever been pruned. The witness leaves out what pruning deletes, so
the properties judge just that.
"""

from __future__ import annotations

from fencepost.errors import FencepostError

from ..workloads import PRUNED
from .actor import Actor
from .feeds import Feeds
from .runs import Runs

_MOST = 50


class Prunes:
    """What a worker does in a store that is pruned."""

    def __init__(self, actor: Actor, runs: Runs, feeds: Feeds) -> None:
        self._actor = actor
        self._runs = runs
        self._feeds = feeds
        self._everybody_reads = False

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
        held = self._runs.insert(self._actor.unique("run"))
        if held is not None:
            self._runs.complete(held)

    def _prune(self) -> None:
        """Prune all that is over, a bounded number of rows. The store alone decides what that is.

        A consumer counts from its first watermark on, so all of them need one before.
        """
        store = self._actor.session.store
        if store is None:
            raise RuntimeError("the session has no store")
        now = self._actor.due(0)
        try:
            if not self._everybody_reads:
                wanted = {_consumer(slot) for slot in range(self._actor.plan.processes)}
                self._everybody_reads = wanted <= set(store.stats().watermarks)
                return
            limit = self._actor.random.randrange(1, _MOST)
            done = store.prune(done_before=now, events_before=now, limit=limit)
        except FencepostError as error:
            self._actor.session.note("not pruned", code=error.code)
            return
        self._actor.session.note(PRUNED, runs=done.runs, events=done.run_events)


def _consumer(slot: int) -> str:
    return f"own-{slot}"
