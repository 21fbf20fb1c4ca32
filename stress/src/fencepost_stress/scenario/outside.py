"""Effects and child requests: everybody reserves the same ones at once."""

from __future__ import annotations

from typing import Any

from .actor import Actor
from .keys import OUTSIDE

_TARGETS = 2
_PERIOD_NS = 60_000_000
_STATES = ("applied", "rejected", "indeterminate", "pending")
_REQUEST_STATES = ("running", "waiting", "succeeded", "failed", "interrupted")


class Outside:
    """What a worker records about systems outside."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._uids: dict[str, str] = {}

    def _uid(self) -> str | None:
        """The resource that the records belong to; it may be gone by now."""
        actor = self._actor
        target = f"target-{actor.random.randrange(_TARGETS)}"
        if target not in self._uids or actor.chance(0.05):
            found = actor.call("resources.get", controller=OUTSIDE, key=target).value
            if found is None:
                found = actor.call(
                    "resources.put",
                    controller=OUTSIDE,
                    key=target,
                    spec={"token": actor.unique("spec")},
                    initial_status={},
                ).value
            if found is None:
                return None
            self._uids[target] = found.metadata.uid
        return self._uids[target]

    def _turn(self) -> int:
        """Which one everybody wants now, or wanted a little earlier."""
        return self._actor.elapsed_ns() // _PERIOD_NS - self._actor.choice(0, 0, 0, 1, 5)

    def effect(self) -> None:
        """Reserve an effect, and record how it went."""
        actor = self._actor
        uid, turn = self._uid(), self._turn()
        if uid is None:
            return
        key = f"effect-{turn}"
        fingerprint = f"send-{turn}" if actor.chance(0.8) else actor.unique("other")
        answer = actor.call(
            "effects.reserve",
            key=key,
            resource_uid=uid,
            generation=1,
            kind="send",
            request_fingerprint=fingerprint,
        )
        if answer.code == "unknown_resource":
            self._uids.clear()
        if answer.value is None or actor.chance(0.3):
            return
        for _ in range(actor.choice(1, 1, 2)):
            optional: dict[str, Any] = {}
            if actor.chance(0.7):
                optional["external_ref"] = actor.unique("ref")
            else:
                optional["error"] = actor.unique("error")
            actor.call(
                "effects.update",
                resource_uid=uid,
                key=key,
                state=actor.choice(*_STATES),
                **optional,
            )
        if actor.chance(0.1):
            actor.call("effects.get", resource_uid=uid, key=key)

    def request(self) -> None:
        """Ask for a child workflow, and record how it goes."""
        actor = self._actor
        uid, turn = self._uid(), self._turn()
        if uid is None:
            return
        fingerprint = f"input-{turn}" if actor.chance(0.8) else actor.unique("other")
        answer = actor.call(
            "requests.reserve",
            resource_uid=uid,
            request_key=f"request-{turn}",
            workflow="child",
            input_fingerprint=fingerprint,
        )
        if answer.code == "unknown_resource":
            self._uids.clear()
        if answer.value is None or actor.chance(0.3):
            return
        request_id = answer.value.record.request_id
        optional: dict[str, Any] = {}
        if actor.chance(0.6):
            optional["run_id"] = actor.unique("child")
            if actor.chance(0.3):
                optional["error"] = None
        else:
            optional["error"] = actor.unique("error")
            if actor.chance(0.3):
                optional["run_id"] = None
        if actor.chance(0.5):
            optional["attempt"] = actor.random.randrange(1, 5)
        actor.call(
            "requests.update",
            request_id=request_id,
            state=actor.choice(*_REQUEST_STATES),
            **optional,
        )
        if actor.chance(0.1):
            actor.call("requests.get_by_id", request_id=request_id)
