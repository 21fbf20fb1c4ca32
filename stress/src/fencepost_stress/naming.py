"""Names for changes: by which a change finds the call that made it (see `identity`)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from .identity import DELETION, OWNED, OWNED_KEY, PART, Identity, spec_token
from .rows import (
    EFFECTS,
    EVENTS,
    FEED,
    QUEUE,
    REQUESTS,
    RESOURCES,
    RUNS,
    WATERMARKS,
    Change,
    EffectRow,
    QueueRow,
    RequestRow,
    ResourceRow,
    RunRow,
)

_MADE = 36
"""So long are the tokens that the store makes; the harness's own are shorter."""


class Namer:
    """Names the call of each change, in commit order."""

    def __init__(self) -> None:
        self.deletions: dict[int, Change] = {}
        """By the queue row's seq, the first request for deletion that it goes with."""
        self._last: Change | None = None
        self._kind = ""

    def name(self, change: Change) -> Identity:
        table = change.table
        if table == RUNS:
            return _of_run(change)
        last = self._last
        if last is not None and self._follows(last, change):
            if self._kind == DELETION:
                self._last = None
                self.deletions[change.seq] = last
            else:
                if self._kind == "remove":
                    self._last = last._replace(seq=change.seq)
                return (PART,)
        if table == QUEUE:
            return _of_queue(change)
        if table == RESOURCES:
            known = _of_resource(change)
            self._last, self._kind = change, known[0]
            return known
        return _OTHERS[table](change)

    def _follows(self, last: Change, change: Change) -> bool:
        """Whether the change is of the same transaction as a resource's change before."""
        if change.seq != last.seq + 1:
            return False
        if self._kind in {"put", DELETION}:
            return change.table == QUEUE and change.key == last.key
        if self._kind != "remove" or change.after is not None:
            return False
        if change.table == QUEUE:
            return change.key == last.key
        gone = change.before
        return isinstance(gone, EffectRow | RequestRow) and gone.resource_uid == last.before.uid  # type: ignore[union-attr]


def _of_run(change: Change) -> Identity:
    before, after = change.before, change.after
    if not isinstance(after, RunRow):
        return ("delete", before.claim_token) if isinstance(before, RunRow) else _odd(change)
    token = after.claim_token
    if not isinstance(before, RunRow):
        return ("enqueue", token)
    if token is None:
        return (after.status, before.claim_token)
    if before.workflow_ref != after.workflow_ref:
        return ("source", after.workflow_ref)
    if token == before.claim_token and after.status == before.status:
        return ("renew", token, after.claim_expires_at)
    return ("run-claim" if len(token) == _MADE else "claim", token)


def _of_queue(change: Change) -> Identity:
    before, after = change.before, change.after
    if not isinstance(after, QueueRow):
        return ("release", before.claim_token) if isinstance(before, QueueRow) else _odd(change)
    token = after.claim_token
    if not isinstance(before, QueueRow) or (
        after.version != before.version and token == before.claim_token
    ):
        if after.controller == OWNED:
            return (OWNED_KEY, after.resource_key)
        return ("enqueue-key", after.controller, after.resource_key)
    if token is None:
        return ("release", before.claim_token)
    if token == before.claim_token:
        return ("queue-renew", token, after.claim_expires_at)
    return ("queue-claim", token)


def _of_resource(change: Change) -> Identity:
    before, after = change.before, change.after
    if not isinstance(after, ResourceRow):
        if not isinstance(before, ResourceRow):
            return _odd(change)
        return ("remove", before.controller, before.resource_key, before.resource_version)
    if not isinstance(before, ResourceRow) or before.spec_json != after.spec_json:
        return ("put", spec_token(msgspec.json.decode(after.spec_json)))
    if before.deletion_timestamp != after.deletion_timestamp:
        return (DELETION, after.controller, after.resource_key)
    return (
        "swap",
        after.controller,
        after.resource_key,
        before.resource_version,
        after.updated_at,
    )


def _of_effect(change: Change) -> Identity:
    before, after = change.before, change.after
    if not isinstance(after, EffectRow):
        return _odd(change)
    if not isinstance(before, EffectRow):
        return (
            "effect-new",
            after.resource_uid,
            after.effect_key,
            after.started_at,
            after.request_fingerprint,
        )
    return (
        "effect",
        after.error if after.external_ref == before.external_ref else after.external_ref,
    )


def _of_request(change: Change) -> Identity:
    before, after = change.before, change.after
    if not isinstance(after, RequestRow):
        return _odd(change)
    if not isinstance(before, RequestRow):
        return ("request-new", after.request_id)
    moved = after.run_id is not None and after.run_id != before.run_id
    return ("request", after.run_id if moved else after.error)


def _of_feed(change: Change) -> Identity:
    return ("feed", _payload_token(change))


def _of_event(change: Change) -> Identity:
    return ("event", _payload_token(change))


def _of_watermark(change: Change) -> Identity:
    return _odd(change) if change.after is None else ("watermark", change.after[0])


_OTHERS: dict[str, Callable[[Change], Identity]] = {
    EFFECTS: _of_effect,
    REQUESTS: _of_request,
    FEED: _of_feed,
    EVENTS: _of_event,
    WATERMARKS: _of_watermark,
}


def _payload_token(change: Change) -> str:
    return "" if change.after is None else spec_token(msgspec.json.decode(change.after[-1]))  # type: ignore[arg-type]


def _odd(change: Change) -> Identity:
    return ("odd", change.seq)
