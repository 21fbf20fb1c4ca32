"""The feeds: writers, consumers with a watermark that they share, and one's own place."""

from __future__ import annotations

from typing import Any

from .actor import Actor

_GROUPS = 2


class Feeds:
    """What a worker writes and reads."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._place = 0
        self._group = f"consumer-{actor.slot % _GROUPS}"

    @property
    def place(self) -> int:
        """The number of the last event that was read from one's own place."""
        return self._place

    def watermark(self, session_id: str) -> int:
        """How far somebody has come, as far as that can be read now."""
        return self._actor.call("feed.watermark", session_id=session_id).value or 0

    def record(self) -> None:
        """Tell what happened to a run, sometimes to a resource."""
        actor = self._actor
        if actor.chance(0.2):
            payload = {"token": actor.unique("event")}
            name = {"controller": "reconcile", "key": f"key-{actor.random.randrange(3)}"}
            actor.call("events.record", **name, type="Seen", payload=payload)
            if actor.chance(0.2):
                actor.call("events.list", **name, limit=4)
            return
        self.tell()

    def tell(self) -> int | None:
        """Tell what happened to a run; gives the event's number."""
        actor = self._actor
        seq: int | None = actor.call(
            "feed.record",
            run_id=actor.unique("run"),
            workflow_ref="stress",
            type="progress",
            runner_id=actor.runner,
            payload={"token": actor.unique("event")},
        ).value
        return seq

    def consume(self) -> None:
        """Read on from the group's watermark, and move it; or from one's own place."""
        actor = self._actor
        if actor.chance(0.3):
            self.catch_up()
            return
        place = actor.call("feed.watermark", session_id=self._group).value
        if place is None:
            return
        events = self._read(place, actor.choice(1, 3, 10))
        if events is None:
            return
        actor.think()
        if actor.chance(0.4):
            # A consumer that comes late with what it did long ago.
            place //= 2
        elif events:
            place = events[-1].seq
        actor.call("feed.set_watermark", session_id=self._group, seq=place)

    def catch_up(self) -> bool:
        """Read one page from one's own place; False at the end of the feed."""
        events = self._read(self._place, 20)
        if events:
            self._place = events[-1].seq
        if self._actor.chance(0.1):
            self._actor.call("feed.latest_seq")
        return bool(events)

    def _read(self, place: int, limit: int) -> Any:
        return self._actor.call("feed.after", seq=place, limit=limit).value
