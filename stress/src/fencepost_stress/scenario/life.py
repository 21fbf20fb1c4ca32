"""Resources: compare and swap, finalizers, deletion and what goes with it."""

from __future__ import annotations

from typing import Any

from .actor import Actor
from .keys import LIFE, OUTSIDE

_KEYS = 3


class Life:
    """What a worker does with resources."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    def step(self) -> None:
        """Read a resource and change it, unless somebody else was faster."""
        actor = self._actor
        name: dict[str, Any] = {
            "controller": LIFE,
            "key": f"life-{actor.random.randrange(_KEYS)}",
        }
        if actor.chance(0.04):
            name = {"controller": OUTSIDE, "key": f"target-{actor.random.randrange(2)}"}
        found = actor.call("resources.get", **name).value
        if found is None:
            spec = {"token": actor.unique("spec")}
            actor.call("resources.put", **name, spec=spec, initial_status={})
            return
        metadata = found.metadata
        version = metadata.resource_version
        if version > 1 and actor.chance(0.25):
            # As if it had been read a while ago.
            version -= 1
        swap = {**name, "expected_resource_version": version}
        actor.think()
        if metadata.deletion_timestamp is not None:
            self._end(swap, list(metadata.finalizers))
        elif name["controller"] == OUTSIDE:
            actor.call("resources.request_deletion", **name)
        else:
            self._change(name, swap, found)

    def _change(self, name: dict[str, Any], swap: dict[str, Any], found: Any) -> None:
        actor = self._actor
        fate = actor.random.random()
        if fate < 0.35:
            status = {
                "observed_generation": 1,
                "conditions": [],
                "controller_status": {"token": actor.unique("status")},
            }
            if actor.chance(0.2):
                # What is there already: no new version.
                status = found.status.to_dict()
            actor.call("resources.update_status", **swap, status=status)
        elif fate < 0.55:
            finalizers = ["hold"] if actor.chance(0.7) else []
            actor.call("resources.update_finalizers", **swap, finalizers=finalizers)
        elif fate < 0.65:
            spec = {"token": actor.unique("spec")}
            actor.call("resources.put", **name, spec=spec, initial_status={})
        elif fate < 0.8:
            actor.call("resources.request_deletion", **name)
        else:
            # Nobody asked for it: refused.
            actor.call("resources.delete", **swap)

    def _end(self, swap: dict[str, Any], finalizers: list[str]) -> None:
        """Clean up a resource whose deletion was requested."""
        actor = self._actor
        if finalizers and actor.chance(0.7):
            actor.call("resources.update_finalizers", **swap, finalizers=[])
        elif actor.chance(0.2):
            name = {"controller": swap["controller"], "key": swap["key"]}
            actor.call("resources.request_deletion", **name)
        else:
            actor.call("resources.delete", **swap)

    def look(self) -> None:
        """List the beginning of something that others are changing."""
        actor = self._actor
        name, args = actor.choice(
            ("runs.list", {"status": "parked"}),
            ("runs.list", {"status": "claimed"}),
            ("queue.list", {}),
            ("resources.list", {"controller": LIFE}),
            ("effects.list", None),
            ("requests.list", None),
        )
        if args is None:
            target = f"target-{actor.random.randrange(2)}"
            found = actor.call("resources.get", controller=OUTSIDE, key=target).value
            if found is None:
                return
            args = {"resource_uid": found.metadata.uid}
        actor.call(name, **args, limit=actor.random.randrange(1, 6))
