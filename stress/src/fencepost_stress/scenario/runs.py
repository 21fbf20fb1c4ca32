"""Runs: claims, renewals, endings, tokens from the past, and races of continuations."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from .actor import REMEMBERED, Actor

SOURCE = "builtin:stress"
_OTHER_SOURCE = "builtin:old"


@dataclass(slots=True)
class Held:
    """A claim as its worker knows it; `renewals` makes each renewal's lease its own."""

    run_id: str
    token: str
    lease_ms: int
    renewals: int = 0


class Runs:
    """What a worker does with runs."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._old: deque[Held] = deque(maxlen=REMEMBERED)
        self._lost: deque[Held] = deque(maxlen=REMEMBERED)

    def enqueue(self) -> None:
        """Enqueue a run, and work on it."""
        held = self.insert(self._actor.unique("run"))
        if held is not None:
            self._work(held)

    def insert(self, run_id: str, parent: str | None = None) -> Held | None:
        actor = self._actor
        token, lease = actor.unique("token"), actor.lease()
        optional: dict[str, Any] = {} if parent is None else {"parent_run_id": parent}
        if actor.chance(0.2):
            other = actor.random.randrange(actor.plan.processes)
            optional["affinity_runner_id"] = f"runner-{other}"
        answer = actor.call(
            "runs.enqueue",
            run_id=run_id,
            workflow_name="stress",
            workflow_source_ref=SOURCE if actor.chance(0.9) else _OTHER_SOURCE,
            input={"by": actor.name},
            runner_id=actor.runner,
            claim_token=token,
            lease_ms=lease,
            **optional,
        )
        return None if answer.value is None else Held(run_id, token, lease)

    def claim(self) -> None:
        """Claim what comes, and work on it."""
        actor = self._actor
        token, lease = actor.unique("token"), actor.lease()
        optional: dict[str, Any] = {}
        if actor.chance(0.25):
            known = [*self._old, *self._lost]
            excluded = actor.random.sample(known, min(len(known), 8))
            optional["exclude_run_ids"] = sorted({held.run_id for held in excluded})
        answer = actor.call(
            "runs.claim_next",
            runner_id=actor.runner,
            claim_token=token,
            lease_ms=lease,
            **optional,
        )
        if answer.value is not None:
            self._work(Held(answer.value.run_id, token, lease))

    def _work(self, held: Held) -> None:
        """Hold a claim for a while, and let go of it in one of the ways there are."""
        actor = self._actor
        for _ in range(actor.choice(0, 0, 1, 2)):
            actor.think()
            self._renew(held)
        if actor.chance(0.3):
            self._with(held, "runs.verify")
        if actor.chance(0.05):
            actor.call("runs.get", run_id=held.run_id)
        if actor.chance(0.2):
            self._use_earlier(held)
        fate = actor.random.random()
        if held.lease_ms < actor.plan.lease_ms and fate < 0.6:
            # Hold on past the lease, then go on as if nothing had happened.
            actor.outlive(held.lease_ms + held.renewals)
            self._use(held)
            self._lost.append(held)
        elif fate < 0.04:
            # Forget it: somebody else takes it over when the lease ends.
            self._lost.append(held)
        elif fate < 0.3:
            self.park(held)
            if actor.chance(0.2):
                # A heartbeat that was on its way.
                self._renew(held)
        elif fate < 0.34:
            self._with(held, "runs.delete")
        else:
            self._with(held, "runs.complete")
        self._old.append(held)

    def _use_earlier(self, held: Held) -> None:
        """Use a token of an earlier claim of the run: the runner is the same, the claim is not."""
        earlier = [old for old in self._old if old.run_id == held.run_id]
        if earlier:
            self._use(self._actor.choice(*earlier))

    def _use(self, held: Held) -> None:
        """Use a token that may be stale."""
        name = self._actor.choice(
            "runs.renew", "runs.verify", "runs.park", "runs.complete", "runs.delete"
        )
        if name == "runs.renew":
            self._renew(held)
        else:
            self._with(held, name)

    def _renew(self, held: Held) -> None:
        held.renewals += 1
        self._actor.call(
            "runs.renew",
            run_id=held.run_id,
            claim_token=held.token,
            lease_ms=held.lease_ms + held.renewals,
        )

    def _with(self, held: Held, name: str) -> bool:
        answer = self._actor.call(name, run_id=held.run_id, claim_token=held.token)
        return answer.value is True

    def park(self, held: Held) -> bool:
        """Give a run back, to be claimed by anybody."""
        return self._with(held, "runs.park")

    def complete(self, held: Held) -> bool:
        """Say that a run is done."""
        return self._with(held, "runs.complete")

    def status(self, held: Held) -> str:
        """The status of a run as it can be read now; empty when there is none."""
        run = self._actor.call("runs.get", run_id=held.run_id).value
        return "" if run is None else str(run.status)

    def stale(self) -> None:
        """Use a claim again that was let go of, or may have been lost meanwhile."""
        if self._lost and self._actor.chance(0.7):
            self._use(self._actor.choice(*self._lost))
        elif self._old:
            self._use(self._actor.choice(*self._old))

    def repair(self) -> None:
        """Give a run that others may hold its right source."""
        actor = self._actor
        known = [*self._old, *self._lost]
        if not known:
            return
        target = actor.random.choice(known)
        token = target.token if actor.chance(0.3) else actor.unique("token")
        lease = target.lease_ms + 100 + len(known)
        args: dict[str, Any] = {
            "run_id": target.run_id,
            "workflow_name": actor.unique("repaired"),
            "workflow_source_ref": SOURCE,
            "runner_id": actor.runner,
            "claim_token": token,
            "lease_ms": lease,
        }
        if actor.chance(0.5):
            done = actor.call("runs.repair_source", **args).value == "claimed"
        else:
            args["old_workflow_path"] = _OTHER_SOURCE
            done = actor.call("runs.claim_legacy_source", **args).value is True
        if done:
            self._work(Held(target.run_id, token, lease, target.renewals))

    def race(self, heat: int) -> None:
        """Everybody continues the same parent at once; some insert the next one under one id.

        A winner may delete its continuation as failed; who lost tries a second time.
        """
        actor = self._actor
        parent = f"parent-{heat - 1}"
        held = self.insert(actor.unique("continuation"), parent)
        if held is not None and actor.chance(0.5):
            self._with(held, "runs.delete")
            if actor.chance(0.4):
                # The slot is free for whoever comes, the one who freed it too.
                self.insert(actor.unique("continuation"), parent)
        elif held is not None:
            self._work(held)
        elif actor.chance(0.6):
            actor.think()
            held = self.insert(actor.unique("continuation"), parent)
            if held is not None:
                self._work(held)
        processes = actor.plan.processes
        if actor.slot in {heat % processes, (heat + 1) % processes}:
            held = self.insert(f"parent-{heat}")
            if held is not None:
                self._work(held)

    def drain(self) -> bool:
        """Finish one run; False when there is none to claim."""
        actor = self._actor
        token = actor.unique("token")
        run = actor.call(
            "runs.claim_next",
            runner_id=actor.runner,
            claim_token=token,
            lease_ms=actor.plan.lease_ms,
        ).value
        if run is not None:
            self._with(Held(run.run_id, token, actor.plan.lease_ms), "runs.complete")
        return run is not None
