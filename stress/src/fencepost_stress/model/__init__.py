"""A reference model of the store, written from its specification.

It shares no code with the engines. It predicts what a call does in the present state;
the state itself is moved by the changes that the witness shows, so that one deviation
does not make everything after it look wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, TypeAlias

from ..operations import Op
from ..rows import (
    EFFECTS,
    EVENTS,
    FEED,
    QUEUE,
    REQUESTS,
    RESOURCES,
    RUNS,
    WATERMARKS,
    Change,
)
from . import batch
from .effects import Effects
from .feed import Events, Feed
from .outcome import ANYTHING, Outcome, Prediction
from .queue import Queue
from .requests import Requests
from .resources import Resources
from .runs import Runs
from .waiting import Waiting

__all__ = ["ANYTHING", "Model", "Outcome", "Prediction"]

_Rule: TypeAlias = Callable[[dict[str, Any], int], Outcome]
_Items: TypeAlias = Callable[[dict[str, Any]], Iterable[dict[str, Any]]]

TIMELESS = frozenset(
    {
        "runs.delete",
        "runs.get",
        "queue.requeue",
        "resources.get",
        "resources.get_by_uid",
        "resources.delete",
        "effects.get",
        "requests.reserve",
        "requests.update",
        "requests.get",
        "requests.get_by_id",
        "feed.after",
        "feed.latest_seq",
        "feed.watermark",
        "runs.list",
        "queue.list",
        "resources.list",
        "effects.list",
        "requests.list",
        "events.list",
    }
)
"""Calls whose outcome does not depend on the clock."""


class Model:
    """The tables under test, and the rule of each operation."""

    def __init__(self) -> None:
        self.runs = Runs()
        self.queue = Queue()
        self.effects = Effects()
        self.requests = Requests()
        self.resources = Resources(self.queue, self.effects, self.requests)
        self.feed = Feed()
        self.events = Events()
        self._writers: dict[str, Callable[[Any, Any], None]] = {
            RUNS: self.runs.write,
            QUEUE: self.queue.write,
            RESOURCES: self.resources.write,
            EFFECTS: self.effects.write,
            REQUESTS: self.requests.write,
            FEED: self.feed.write,
            WATERMARKS: self.feed.write_watermark,
            EVENTS: self.events.write,
        }
        self.waiting = Waiting(self.runs, self.queue, self.feed, self.events)
        self._rules: dict[str, _Rule] = self._single_rules()
        self._rules |= {
            "runs.enqueue_many": self._many(self.runs.enqueue, lambda args: args["items"]),
            "runs.claim_many": self._claims(self.runs.claim_next),
            "runs.renew_many": self._many(self.runs.renew, batch.runs_of),
            "runs.complete_many": self._many(self.runs.complete, batch.runs_of),
            "queue.enqueue_many": self._many(self.queue.enqueue, batch.keys_of),
            "queue.claim_many": self._claims(self.queue.claim_next),
            "queue.renew_many": self._many(self.queue.renew, batch.claims_of),
            "queue.settle_many": self._many(self.queue.settle, batch.claims_of),
        }

    def _single_rules(self) -> dict[str, _Rule]:
        facets: dict[str, tuple[object, str]] = {
            "runs": (
                self.runs,
                "enqueue claim_next renew verify park complete delete get repair_source "
                "claim_legacy_source list",
            ),
            "queue": (self.queue, "enqueue claim_next renew settle requeue list"),
            "resources": (
                self.resources,
                "put get get_by_uid update_status update_finalizers request_deletion delete list",
            ),
            "effects": (self.effects, "reserve update get list"),
            "requests": (self.requests, "reserve update get get_by_id list"),
            "feed": (self.feed, "record after latest_seq watermark set_watermark"),
            "events": (self.events, "record list"),
            "store": (self.waiting, "wait"),
        }
        return {
            f"{facet}.{name}": getattr(model, name)
            for facet, (model, names) in facets.items()
            for name in names.split()
        }

    def _many(self, rule: _Rule, items: _Items) -> _Rule:
        return lambda args, now: batch.each(rule, self._move, items(args), now)

    def _claims(self, rule: _Rule) -> _Rule:
        def claim(args: dict[str, Any], now: int) -> Outcome:
            asked = repeat(args, args["limit"])
            return batch.each(rule, self._move, asked, now, until_none=True)

        return claim

    def knows(self, op: Op) -> bool:
        return op.name in self._rules

    def outcome(self, op: Op) -> Outcome | None:
        """What the call does now; None when its time is needed and was not observed."""
        rule = self._rules.get(op.name)
        if rule is None:
            return None
        clock = op.clock
        if clock:
            return rule(op.args, clock[-1][1])
        if op.name in TIMELESS or (
            op.name == "queue.enqueue" and op.args.get("available_at") is not None
        ):
            return rule(op.args, 0)
        return None

    def write(self, change: Change) -> None:
        self._writers[change[1]](change[2], change[3])

    def _move(self, change: Prediction) -> None:
        self._writers[change.table](change.before, change.after)
