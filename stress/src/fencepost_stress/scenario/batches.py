"""Calls of many: runs and keys claimed, renewed and ended together."""

from __future__ import annotations

from collections import deque
from typing import Any

from ..identity import OWNED
from .actor import Actor
from .runs import SOURCE

_SIZE = 3


class Batches:
    """What a worker does with several runs or keys at once."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._old_runs: deque[tuple[str, str]] = deque(maxlen=8)
        self._old_keys: deque[Any] = deque(maxlen=8)
        self._keys: list[str] = []
        self._growth = 0

    def runs(self) -> None:
        """Enqueue or claim some, renew them, end them; now and then with an old token."""
        actor = self._actor
        claims = self._enqueue() if actor.chance(0.5) else self._claim()
        if not claims:
            return
        if actor.chance(0.5):
            actor.call("runs.renew_many", claims=self._with_old(claims), lease_ms=self._longer())
        if actor.chance(0.2):
            # Their leases end; somebody else takes them over.
            self._old_runs.extend(claims)
            return
        actor.call("runs.complete_many", claims=self._with_old(claims))
        self._old_runs.extend(claims[:1])

    def _with_old(self, claims: list[tuple[str, str]]) -> list[tuple[str, str]]:
        if self._old_runs and self._actor.chance(0.5):
            old = self._actor.choice(*self._old_runs)
            return claims if old in claims else [*claims, old]
        return claims

    def _longer(self) -> int:
        """A lease that grows from one renewal to the next, so that each is told by it."""
        self._growth += 1
        return self._actor.plan.lease_ms + self._growth

    def _enqueue(self) -> list[tuple[str, str]]:
        actor = self._actor
        items: list[dict[str, Any]] = [
            {
                "run_id": actor.unique("run"),
                "workflow_name": "stress",
                "workflow_source_ref": SOURCE,
                "input": None,
                "runner_id": actor.runner,
                "claim_token": actor.unique("token"),
                "lease_ms": actor.lease(),
            }
            for _ in range(actor.random.randrange(1, _SIZE + 1))
        ]
        if len(items) > 1 and actor.chance(0.2):
            # A used id is refused, and takes nobody else with it.
            items[-1]["run_id"] = items[0]["run_id"]
        made = actor.call("runs.enqueue_many", items=items).value or []
        return [
            (item["run_id"], item["claim_token"])
            for item, run in zip(items, made, strict=False)
            if hasattr(run, "run_id")
        ]

    def _claim(self) -> list[tuple[str, str]]:
        actor = self._actor
        limit, lease = actor.random.randrange(1, _SIZE + 1), actor.lease()
        found = actor.call(
            "runs.claim_many", runner_id=actor.runner, lease_ms=lease, limit=limit
        ).value
        return [(run.run_id, run.claim_token) for run in found or []]

    def keys(self) -> None:
        """Enqueue keys of one's own together, claim whosever come, renew and settle them."""
        actor = self._actor
        if not self._make_keys():
            return
        if actor.chance(0.6):
            chosen = actor.random.sample(self._keys, actor.random.randrange(1, _SIZE + 1))
            items = [(OWNED, key) for key in chosen]
            actor.call("queue.enqueue_many", items=items)
        lease, limit = actor.lease(), actor.random.randrange(1, _SIZE + 1)
        claims = actor.call(
            "queue.claim_many", controllers=[OWNED], lease_ms=lease, limit=limit
        ).value
        if not claims:
            return
        if actor.chance(0.4):
            actor.call("queue.renew_many", claims=claims, lease_ms=self._longer())
        if self._old_keys and actor.chance(0.3):
            claims = [*claims, actor.choice(*self._old_keys)]
        if actor.chance(0.9):
            actor.call("queue.settle_many", claims=claims)
        self._old_keys.append(claims[0])

    def _make_keys(self) -> bool:
        while len(self._keys) < _SIZE:
            key = self._actor.unique("own")
            spec = {"token": self._actor.unique("spec")}
            made = self._actor.call(
                "resources.put", controller=OWNED, key=key, spec=spec, initial_status={}
            )
            if made.value is None:
                return False
            self._keys.append(key)
        return True
