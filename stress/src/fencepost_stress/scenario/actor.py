"""One worker's hands: its calls, its random numbers, its names.

Every claim token, specification and other mark that a worker makes is unique in the run;
renewals of one token ask for leases that grow. That is what lets `identity` find the
rows of each call.
"""

from __future__ import annotations

import random
import time
from typing import Any, TypeVar

from ..clock import Clock, iso
from ..plan import Plan
from ..session import Answer, Session

_Item = TypeVar("_Item")
REMEMBERED = 16


class Actor:
    """What all parts of a worker's behaviour share."""

    def __init__(
        self, session: Session, plan: Plan, clock: Clock, *, slot: int, incarnation: int, start: int
    ) -> None:
        self.session = session
        self.plan = plan
        self.slot = slot
        # A restarted worker bears the runner id of its predecessor: only tokens may count.
        self.runner = f"runner-{slot}"
        self.name = f"{slot}.{incarnation}"
        self.random = random.Random(f"{plan.seed}/{self.name}")
        self._clock = clock
        self._start = start
        self._serial = 0

    def call(self, name: str, **args: Any) -> Answer:
        return self.session.call(name, **args)

    def unique(self, kind: str) -> str:
        """A name that nobody else makes."""
        self._serial += 1
        return f"{kind}-{self.name}-{self._serial}"

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def choice(self, *items: _Item) -> _Item:
        return self.random.choice(items)

    def lease(self) -> int:
        """Most leases outlive the work; some are so short that they end during it."""
        if self.chance(self.plan.short_leases):
            return self.random.randrange(15, 50)
        return self.plan.lease_ms

    def think(self) -> None:
        """Time between calls, in which a worker would do its work."""
        time.sleep(self.random.uniform(0, self.plan.think_ms) / 1000)

    def outlive(self, lease_ms: int) -> None:
        """Wait past a lease, by little or by more."""
        extra = self.choice(self.random.uniform(0, 2), self.random.uniform(2, 30))
        time.sleep((lease_ms + extra) / 1000)

    def due(self, *delays: int) -> str:
        """A time so many milliseconds from now."""
        return iso(self._clock.wall(time.monotonic_ns()) + self.random.choice(delays))

    def elapsed_ns(self) -> int:
        """Since the load began, which is the same moment for all workers."""
        return time.monotonic_ns() - self._start
