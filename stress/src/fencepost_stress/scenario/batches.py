"""Calls of many: runs and keys claimed, renewed and ended together."""

from __future__ import annotations

from collections import deque
from typing import Any

from ..identity import AGAIN, OWNED
from .actor import Actor
from .runs import SOURCE

_SIZE = 3
_MANY = 100
"""More claims than a store looks at one by one when their leases have ended together."""


class Batches:
    """What a worker does with several runs or keys at once."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._old_runs: deque[tuple[str, str]] = deque(maxlen=8)
        self._old_keys: deque[Any] = deque(maxlen=8)
        self._keys: dict[str, dict[str, str]] = {}
        self._crowd: list[tuple[str, str]] = []
        self._growth = 0

    def runs(self) -> None:
        """Enqueue or claim some, renew them, end them; now and then with an old token."""
        actor = self._actor
        if actor.chance(0.01):
            # Somebody dies with many of them: all those leases end together.
            self._enqueue(_MANY, 20)
            return
        claims = self._enqueue() if actor.chance(0.5) else self._claim()
        if not claims:
            return
        if actor.chance(0.5):
            actor.call("runs.renew_many", claims=self._with_old(claims), lease_ms=self._longer())
        if actor.chance(0.2):
            # Their leases end; somebody else takes them over.
            self._old_runs.extend(claims)
            return
        ended = self._with_old(claims)
        if actor.chance(0.1):
            ended = [*ended, ended[0]]
        actor.call("runs.complete_many", claims=ended)
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

    def _enqueue(self, number: int = 0, lease_ms: int = 0) -> list[tuple[str, str]]:
        """Some runs, or so many with such a lease."""
        actor = self._actor
        items: list[dict[str, Any]] = [
            {
                "run_id": actor.unique("run"),
                "workflow_name": "stress",
                "workflow_source_ref": SOURCE,
                "input": None,
                "runner_id": actor.runner,
                "claim_token": actor.unique("token"),
                "lease_ms": lease_ms or actor.lease(),
            }
            for _ in range(number or actor.random.randrange(1, _SIZE + 1))
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
        optional: dict[str, Any] = {}
        if self._old_runs and actor.chance(0.3):
            optional["exclude_run_ids"] = sorted({run for run, _ in self._old_runs})
        found = actor.call(
            "runs.claim_many", runner_id=actor.runner, lease_ms=lease, limit=limit, **optional
        ).value
        return [(run.run_id, run.claim_token) for run in found or []]

    def keys(self) -> None:
        """Enqueue keys of one's own together, claim whosever come, renew and settle them."""
        actor = self._actor
        if not self._make_keys():
            return
        if actor.chance(0.005):
            self._die_with_many()
            return
        if actor.chance(0.1):
            key, spec = actor.random.choice(list(self._keys.items()))
            actor.call("resources.put", controller=OWNED, key=key, spec=spec, initial_status=AGAIN)
        if actor.chance(0.6):
            chosen = actor.random.sample(list(self._keys), actor.random.randrange(1, _SIZE + 1))
            items = [
                (OWNED, key, actor.due(0, 20, 80)) if actor.chance(0.3) else (OWNED, key)
                for key in chosen
            ]
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
            key, spec = self._make_key()
            if not key:
                return False
            self._keys[key] = spec
        return True

    def _make_key(self) -> tuple[str, dict[str, str]]:
        """A key of one's own, and its specification; no name when it could not be made."""
        key, spec = self._actor.unique("own"), {"token": self._actor.unique("spec")}
        made = self._actor.call(
            "resources.put", controller=OWNED, key=key, spec=spec, initial_status={}
        )
        return ("" if made.value is None else key), spec

    def _die_with_many(self) -> None:
        """Claim a crowd of keys, and do not come back: all those leases end together."""
        actor = self._actor
        if self._crowd:
            actor.call("queue.enqueue_many", items=self._crowd)
        else:
            made = [self._make_key()[0] for _ in range(_MANY)]
            self._crowd = [(OWNED, key) for key in made if key]
        actor.call("queue.claim_many", controllers=[OWNED], lease_ms=20, limit=_MANY)
