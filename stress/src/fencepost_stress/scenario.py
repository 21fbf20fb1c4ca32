"""What a worker does: runs with continuations, and the reconcile queue.

Every claim token and every specification that a worker makes is unique in the run;
renewals of one token ask for leases that grow. That is what lets `identity` find the
row of each call.
"""

from __future__ import annotations

import random
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from .clock import Clock, iso
from .plan import Plan
from .session import Session

CONTROLLER = "reconcile"
_REMEMBERED = 16
_LINE_UP_NS = 4_000_000


@dataclass(slots=True)
class _Held:
    """A claim of a run as its worker knows it; `renewals` makes each renewal's lease its own."""

    run_id: str
    token: str
    lease_ms: int
    renewals: int = 0


@dataclass(slots=True)
class _Key:
    """A claim of a queue row."""

    claim: Any
    lease_ms: int
    renewals: int = 0


class Scenario:
    """One worker's behaviour, drawn from its own random numbers."""

    def __init__(
        self, session: Session, plan: Plan, clock: Clock, *, slot: int, incarnation: int, start: int
    ) -> None:
        self._session = session
        self._plan = plan
        self._clock = clock
        self._start = start
        self._slot = slot
        # A restarted worker bears the runner id of its predecessor: only tokens may count.
        self._runner = f"runner-{slot}"
        self._name = f"{slot}.{incarnation}"
        self._random = random.Random(f"{plan.seed}/{self._name}")
        self._serial = 0
        self._old_runs: deque[_Held] = deque(maxlen=_REMEMBERED)
        self._lost_runs: deque[_Held] = deque(maxlen=_REMEMBERED)
        self._old_keys: deque[_Key] = deque(maxlen=_REMEMBERED)
        self._raced = -1
        weights = plan.weights
        self._steps = (self._enqueue, self._claim, self._event, self._reconcile, self._stale)
        self._weights = (
            weights.enqueue,
            weights.claim,
            weights.event,
            weights.reconcile,
            weights.stale,
        )

    def step(self) -> None:
        """One thing that a worker does; when a new race is on, that first."""
        period = self._plan.race_ms * 1_000_000
        heat, into = divmod(time.monotonic_ns() - self._start, period)
        if period - into < _LINE_UP_NS:
            time.sleep((period - into) / 1e9)
            heat += 1
        if heat != self._raced:
            self._raced = heat
            self._race(heat)
            return
        self._random.choices(self._steps, self._weights)[0]()

    def think(self) -> None:
        """Time between calls, in which a worker would do its work."""
        time.sleep(self._random.uniform(0, self._plan.think_ms) / 1000)

    # Runs.

    def _unique(self, kind: str) -> str:
        self._serial += 1
        return f"{kind}-{self._name}-{self._serial}"

    def _lease(self) -> int:
        """Most leases outlive the work; some are so short that they end during it."""
        if self._random.random() < self._plan.short_leases:
            return self._random.randrange(15, 50)
        return self._plan.lease_ms

    def _enqueue(self) -> None:
        self._insert(self._unique("run"))

    def _insert(self, run_id: str, parent: str | None = None) -> None:
        """Enqueue a run and work on it."""
        token, lease = self._unique("token"), self._lease()
        optional: dict[str, Any] = {} if parent is None else {"parent_run_id": parent}
        if self._random.random() < 0.2:
            optional["affinity_runner_id"] = (
                f"runner-{self._random.randrange(self._plan.processes)}"
            )
        answer = self._session.call(
            "runs.enqueue",
            run_id=run_id,
            workflow_name="stress",
            workflow_source_ref="builtin:stress",
            input={"by": self._name},
            runner_id=self._runner,
            claim_token=token,
            lease_ms=lease,
            **optional,
        )
        if answer.value is not None:
            self._work(_Held(run_id, token, lease))

    def _claim(self) -> None:
        token, lease = self._unique("token"), self._lease()
        optional: dict[str, Any] = {}
        if self._old_runs and self._random.random() < 0.1:
            optional["exclude_run_ids"] = [self._random.choice(self._old_runs).run_id]
        answer = self._session.call(
            "runs.claim_next",
            runner_id=self._runner,
            claim_token=token,
            lease_ms=lease,
            **optional,
        )
        if answer.value is not None:
            self._work(_Held(answer.value.run_id, token, lease))

    def _work(self, held: _Held) -> None:
        """Hold a claim for a while, and let go of it in one of the ways there are."""
        for _ in range(self._random.choice((0, 0, 1, 2))):
            self.think()
            self._renew(held)
        if self._random.random() < 0.3:
            self._call_with(held, "runs.verify")
        fate = self._random.random()
        if held.lease_ms < self._plan.lease_ms and fate < 0.6:
            self._outlive(held)
        elif fate < 0.04:
            # Forget it: somebody else takes it over when the lease ends.
            self._lost_runs.append(held)
        elif fate < 0.3:
            self._call_with(held, "runs.park")
        elif fate < 0.34:
            self._call_with(held, "runs.delete")
        else:
            self._call_with(held, "runs.complete")
        self._old_runs.append(held)

    def _outlive(self, held: _Held) -> None:
        """Hold on past the lease, by little or by more, then go on as if nothing had happened."""
        self._sleep_out(held.lease_ms + held.renewals)
        self._use(held)
        self._lost_runs.append(held)

    def _sleep_out(self, lease_ms: int) -> None:
        extra = self._random.choice((self._random.uniform(0, 2), self._random.uniform(2, 30)))
        time.sleep((lease_ms + extra) / 1000)

    def _use(self, held: _Held) -> None:
        """Use a token that may be stale."""
        name = self._random.choice(
            ("runs.renew", "runs.verify", "runs.park", "runs.complete", "runs.delete")
        )
        if name == "runs.renew":
            self._renew(held)
        else:
            self._call_with(held, name)

    def _renew(self, held: _Held) -> None:
        held.renewals += 1
        self._session.call(
            "runs.renew",
            run_id=held.run_id,
            claim_token=held.token,
            lease_ms=held.lease_ms + held.renewals,
        )

    def _call_with(self, held: _Held, name: str) -> bool:
        answer = self._session.call(name, run_id=held.run_id, claim_token=held.token)
        return answer.value is True

    def _race(self, heat: int) -> None:
        """Everybody continues the same parent at once; some insert the next one under one id."""
        self._insert(self._unique("continuation"), f"parent-{heat - 1}")
        processes = self._plan.processes
        if self._slot in {heat % processes, (heat + 1) % processes}:
            self._insert(f"parent-{heat}")

    # The reconcile queue.

    def _key(self) -> str:
        return f"key-{self._random.randrange(self._plan.keys)}"

    def _event(self, key: str | None = None) -> None:
        key = self._key() if key is None else key
        if self._random.random() < 0.6:
            self._session.call(
                "resources.put",
                controller=CONTROLLER,
                key=key,
                spec={"token": self._unique("spec")},
                initial_status={},
            )
            return
        due = self._clock.wall(time.monotonic_ns()) + self._random.choice((-50, 0, 0, 80))
        optional = {"available_at": iso(due)} if self._random.random() < 0.5 else {}
        self._session.call("queue.enqueue", controller=CONTROLLER, key=key, **optional)

    def _reconcile(self) -> None:
        lease = self._lease()
        answer = self._session.call("queue.claim_next", controllers=[CONTROLLER], lease_ms=lease)
        if answer.value is None:
            return
        held = _Key(answer.value, lease)
        if self._random.random() < 0.3:
            self._renew_key(held)
        if self._random.random() < 0.25:
            # News about the very key that is being worked on.
            self._event(held.claim.key)
        else:
            self.think()
        fate = self._random.random()
        if lease < self._plan.lease_ms and fate < 0.4:
            self._sleep_out(lease + held.renewals)
            self._use_key(held)
        elif fate < 0.7:
            self._settle(held)
        elif fate < 0.95:
            self._requeue(held)
        self._old_keys.append(held)

    def _renew_key(self, held: _Key) -> None:
        held.renewals += 1
        self._session.call("queue.renew", claim=held.claim, lease_ms=held.lease_ms + held.renewals)

    def _use_key(self, held: _Key) -> None:
        self._random.choice((self._renew_key, self._requeue, self._settle))(held)

    def _requeue(self, held: _Key) -> None:
        due = self._clock.wall(time.monotonic_ns()) + self._random.choice((0, 20, 120))
        optional = {"error": "not yet"} if self._random.random() < 0.5 else {}
        self._session.call("queue.requeue", claim=held.claim, available_at=iso(due), **optional)

    # Tokens from the past.

    def _stale(self) -> None:
        """Use a claim again that was let go of, or may have been lost meanwhile."""
        if self._old_keys and self._random.random() < 0.4:
            self._use_key(self._random.choice(self._old_keys))
        elif self._lost_runs and self._random.random() < 0.7:
            self._use(self._random.choice(self._lost_runs))
        elif self._old_runs:
            self._use(self._random.choice(self._old_runs))

    def _settle(self, held: _Key) -> None:
        self._session.call("queue.settle", claim=held.claim)

    # Healing.

    def drain(self, deadline: int) -> bool:
        """Finish what there is, until there is nothing; False when it will not end.

        The wait is for leases to end and for requeued keys to fall due.
        """
        patience = self._plan.heal_patience_ms * 1_000_000
        progress = time.monotonic_ns()
        while True:
            if self._drain_one():
                progress = time.monotonic_ns()
                continue
            if self._empty():
                return True
            now = time.monotonic_ns()
            if now > deadline or now - progress > patience:
                return False
            time.sleep(self._random.uniform(0.02, 0.05))

    def _drain_one(self) -> bool:
        token = self._unique("token")
        run = self._session.call(
            "runs.claim_next",
            runner_id=self._runner,
            claim_token=token,
            lease_ms=self._plan.lease_ms,
        ).value
        if run is not None:
            self._call_with(_Held(run.run_id, token, self._plan.lease_ms), "runs.complete")
        claim = self._session.call(
            "queue.claim_next", controllers=[CONTROLLER], lease_ms=self._plan.lease_ms
        ).value
        if claim is not None:
            self._session.call("queue.settle", claim=claim)
        return run is not None or claim is not None

    def _empty(self) -> bool:
        """Whether to stop asking. Not recorded: the tables at the end are the evidence."""
        store = self._session.store
        if store is None:
            raise RuntimeError("the session has no store")
        waiting = [
            store.runs.list(status="claimed", limit=1),
            store.runs.list(status="parked", limit=1),
            store.queue.list(limit=1),
        ]
        return not any(waiting)
