"""Waiting for work: one worker makes one thing at a time, the others sleep until there is some.

The maker keeps silent until what it made is taken, for a while at least: every further
commit wakes everybody, so that in a busy store a wake-up that was lost would not be missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from ..operations import WAIT
from .actor import Actor
from .feeds import Feeds
from .keys import CONTROLLER, Keys
from .runs import Runs

LONG_MS = 2500
"""A wait; longer than the checker's bound, so that a lost wake-up shows."""
_SHORT_MS = 100
_SILENT_SECONDS = 1.3
_POLL_SECONDS = 0.01
_READER = "woken"
"""The watermark by which the maker sees that an event was read."""

_Waits: TypeAlias = Callable[[], bool]


class Waits:
    """What a worker does who has no work."""

    def __init__(self, actor: Actor, runs: Runs, keys: Keys, feeds: Feeds) -> None:
        self._actor = actor
        self._runs = runs
        self._keys = keys
        self._feeds = feeds

    def wait(self) -> None:
        """Sleep until there is anything, or something new, but not for long."""
        actor = self._actor
        if actor.chance(0.3):
            self._wait(_SHORT_MS)
            return
        latest = actor.call("feed.latest_seq").value
        if latest is not None:
            actor.call(WAIT, feed_after=latest, timeout_ms=3 * _SHORT_MS)

    def hand_over(self) -> None:
        """The first worker makes something; the others wait for it."""
        if self._actor.slot:
            self._wait(LONG_MS)
            return
        makers = [self._make_run, self._make_key, self._make_event]
        # Two at once: the second one comes while those are looking whom the first one woke.
        made = self._actor.random.sample(makers, self._actor.choice(1, 2))
        left = [waits for waits in [make() for make in made] if waits is not None]
        self._keep_silent(left)

    def _wait(self, timeout_ms: int) -> None:
        """Wait for some of what there can be, and take what there is."""
        actor, feeds = self._actor, self._feeds
        wishes = {"runs": True, "controllers": [CONTROLLER], "feed_after": feeds.place}
        wanted = actor.random.sample(list(wishes), actor.choice(1, 3, 3, 3))
        wish = {name: wishes[name] for name in wanted}
        ready = actor.call(WAIT, **wish, timeout_ms=timeout_ms).value
        if ready is None:
            return
        if ready.feed and feeds.catch_up():
            actor.call("feed.set_watermark", session_id=_READER, seq=feeds.place)
        if ready.runs:
            self._runs.claim()
        if ready.controllers:
            self._keys.reconcile()

    # What the maker makes; each gives a way to see whether it still waits.

    def _make_run(self) -> _Waits | None:
        held = self._runs.insert(self._actor.unique("run"))
        if held is None or not self._runs.park(held):
            return None
        return lambda: self._runs.status(held) == "parked"

    def _make_key(self) -> _Waits | None:
        made = self._actor.due(0)
        key = f"key-{self._actor.random.randrange(self._actor.plan.keys)}"
        self._keys.event(key)
        return lambda: self._keys.is_idle(key, made)

    def _make_event(self) -> _Waits | None:
        seq = self._feeds.tell()
        if seq is None:
            return None
        return lambda: self._feeds.watermark(_READER) < seq

    def _keep_silent(self, left: list[_Waits]) -> None:
        """Make nothing more while something waits of what was made, for so long at most."""
        until = time.monotonic() + _SILENT_SECONDS
        while left and time.monotonic() < until:
            left = [waits for waits in left if waits()]
            time.sleep(self._actor.random.uniform(0, _POLL_SECONDS))
