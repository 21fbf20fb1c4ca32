"""The reference model of waiting, from the specification: what somebody who looks now is told.

A wait looks at one thing after the other, and at moments of its own. So something that was
there may be left out; that it is not left out for long is Q3's. What was never there may not
be told of.
"""

from __future__ import annotations

from typing import Any

from .feed import Events, Feed
from .outcome import Outcome
from .queue import Queue
from .runs import Runs


class Some:
    """Any of these, in any number: a truth value that may be false, or a part of a list."""

    def __init__(self, most: Any) -> None:
        self._most = most

    def __eq__(self, other: object) -> bool:
        if isinstance(self._most, list):
            return isinstance(other, list) and all(item in self._most for item in other)
        return isinstance(other, bool) and other <= self._most

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"{self._most!r} or less"


class Waiting:
    """The rule of `store.wait`."""

    def __init__(self, runs: Runs, queue: Queue, feed: Feed, events: Events) -> None:
        self._runs = runs
        self._queue = queue
        self._feed = feed
        self._events = events

    def wait(self, args: dict[str, Any], now: int) -> Outcome:
        excluded = frozenset(args.get("exclude_run_ids") or ())
        after, happened = args.get("feed_after"), args.get("events_after")
        due = self._queue.due_controllers(now)
        wanted = args.get("controllers") or ()
        return Outcome(
            {
                "runs": Some(bool(args.get("runs")) and self._runs.any_claimable(now, excluded)),
                "controllers": Some([name for name in wanted if name in due]),
                "feed": Some(after is not None and self._feed.has_more(after)),
                "events": Some(happened is not None and self._events.has_more(happened)),
            }
        )
