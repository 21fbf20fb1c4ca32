"""What a worker does: the plan's workload, step by step, and the healing at its end."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..clock import Clock
from ..heats import Heats
from ..plan import Plan
from ..session import Session
from ..workloads import PRUNING
from .actor import Actor
from .batches import Batches
from .feeds import Feeds
from .keys import Keys
from .life import Life
from .outside import Outside
from .prunes import Prunes
from .runs import Runs
from .waits import Waits

__all__ = ["Scenario"]


class Scenario:
    """One worker's behaviour, drawn from its own random numbers."""

    def __init__(
        self, session: Session, plan: Plan, clock: Clock, *, slot: int, incarnation: int, start: int
    ) -> None:
        self._actor = Actor(session, plan, clock, slot=slot, incarnation=incarnation, start=start)
        self._plan = plan
        self._heats = Heats(plan.race_ms) if plan.race_ms else None
        self._runs = Runs(self._actor)
        self._keys = Keys(self._actor)
        self._feeds = Feeds(self._actor)
        outside = Outside(self._actor)
        batches = Batches(self._actor)
        life = Life(self._actor)
        self._prunes = Prunes(self._actor, self._runs, self._feeds)
        self._read_on = self._prunes.read_on if PRUNING in plan.weights else self._feeds.catch_up
        waits = Waits(self._actor, self._runs, self._keys, self._feeds)
        steps: dict[str, Callable[[], None]] = {
            "enqueue": self._runs.enqueue,
            "claim": self._runs.claim,
            "stale run": self._runs.stale,
            "repair": self._runs.repair,
            "event": self._keys.event,
            "reconcile": self._keys.reconcile,
            "stale key": self._keys.stale,
            "effect": outside.effect,
            "request": outside.request,
            "resource": life.step,
            "look": life.look,
            "record": self._feeds.record,
            "consume": self._feeds.consume,
            "batch of runs": batches.runs,
            "batch of keys": batches.keys,
            "wait": waits.wait,
            "hand over": waits.hand_over,
            PRUNING: self._prunes.step,
        }
        self._steps = [steps[name] for name in plan.weights]
        self._weights = list(plan.weights.values())

    def step(self) -> None:
        """One thing that a worker does; when a new race is on, that first."""
        if self._race_is_on():
            return
        self._actor.random.choices(self._steps, self._weights)[0]()

    def _race_is_on(self) -> bool:
        heat = None if self._heats is None else self._heats.due(self._actor.elapsed_ns())
        if heat is None:
            return False
        self._runs.race(heat)
        return True

    def think(self) -> None:
        """Time between calls, in which a worker would do its work."""
        self._actor.think()

    # Healing.

    def drain(self, deadline: int) -> bool:
        """Finish what there is, until there is nothing; False when it will not end.

        The wait is for leases to end and for requeued keys to fall due.
        """
        patience = self._plan.heal_patience_ms * 1_000_000
        progress = time.monotonic_ns()
        while True:
            # Not `or`: each of them has to be asked until it has nothing.
            if any([self._runs.drain(), self._keys.drain(), self._read_on()]):
                progress = time.monotonic_ns()
                continue
            if self._empty():
                return True
            now = time.monotonic_ns()
            if now > deadline or now - progress > patience:
                return False
            time.sleep(self._actor.random.uniform(0.02, 0.05))

    def _empty(self) -> bool:
        """Whether to stop asking. Not recorded: the tables at the end are the evidence."""
        store = self._actor.session.store
        if store is None:
            raise RuntimeError("the session has no store")
        waiting = [
            store.runs.list(status="claimed", limit=1),
            store.runs.list(status="parked", limit=1),
            store.queue.list(limit=1),
        ]
        return not any(waiting)
