"""The reconcile queue: events during claims, settles, requeues, tokens from the past."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from ..identity import OWNED
from .actor import REMEMBERED, Actor

CONTROLLER = "reconcile"
LIFE = "life"
OUTSIDE = "outside"
CONTROLLERS = [CONTROLLER, LIFE, OUTSIDE, OWNED]


@dataclass(slots=True)
class HeldKey:
    """A claim of a queue row."""

    claim: Any
    lease_ms: int
    renewals: int = 0


class Keys:
    """What a worker does with the queue."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._old: deque[HeldKey] = deque(maxlen=REMEMBERED)

    def event(self, key: str | None = None) -> None:
        """Something happened to a key: another specification, or a plain enqueue."""
        actor = self._actor
        if key is None:
            key = f"key-{actor.random.randrange(actor.plan.keys)}"
        if actor.chance(0.6):
            actor.call(
                "resources.put",
                controller=CONTROLLER,
                key=key,
                spec={"token": actor.unique("spec")},
                initial_status={},
            )
            return
        optional = {"available_at": actor.due(-50, 0, 0, 80)} if actor.chance(0.5) else {}
        actor.call("queue.enqueue", controller=CONTROLLER, key=key, **optional)

    def is_idle(self, key: str, until: str) -> bool:
        """Whether a key that was due until then is still there and nobody's."""
        listed = self._actor.call("queue.list", limit=50).value
        return listed is not None and any(
            (item.controller, item.key) == (CONTROLLER, key)
            and item.claim_expires_at is None
            and item.available_at <= until
            for item in listed
        )

    def reconcile(self) -> None:
        """Claim a key, work on it, and let go of it."""
        actor = self._actor
        lease = actor.lease()
        asked = CONTROLLERS if actor.chance(0.7) else [CONTROLLER]
        answer = actor.call("queue.claim_next", controllers=asked, lease_ms=lease)
        if answer.value is None:
            return
        held = HeldKey(answer.value, lease)
        if actor.chance(0.3):
            self._renew(held)
        if held.claim.controller == CONTROLLER and actor.chance(0.25):
            # News about the very key that is being worked on.
            self.event(held.claim.key)
        else:
            actor.think()
        fate = actor.random.random()
        if lease < actor.plan.lease_ms and fate < 0.4:
            actor.outlive(lease + held.renewals)
            self._use(held)
        elif fate < 0.7:
            self._settle(held)
        elif fate < 0.95:
            self._requeue(held)
        self._old.append(held)

    def stale(self) -> None:
        """Use a claim again that was let go of."""
        if self._old:
            self._use(self._actor.choice(*self._old))

    def _use(self, held: HeldKey) -> None:
        self._actor.choice(self._renew, self._requeue, self._settle)(held)

    def _renew(self, held: HeldKey) -> None:
        held.renewals += 1
        lease = held.lease_ms + held.renewals
        self._actor.call("queue.renew", claim=held.claim, lease_ms=lease)

    def _settle(self, held: HeldKey) -> None:
        self._actor.call("queue.settle", claim=held.claim)

    def _requeue(self, held: HeldKey) -> None:
        optional = {"error": "not yet"} if self._actor.chance(0.5) else {}
        due = self._actor.due(0, 20, 120)
        self._actor.call("queue.requeue", claim=held.claim, available_at=due, **optional)

    def drain(self) -> bool:
        """Settle one key; False when none is due."""
        actor = self._actor
        claim = actor.call(
            "queue.claim_next", controllers=CONTROLLERS, lease_ms=actor.plan.lease_ms
        ).value
        if claim is not None:
            actor.call("queue.settle", claim=claim)
        return claim is not None
