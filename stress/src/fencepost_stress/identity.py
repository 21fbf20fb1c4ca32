"""How a call and the row that it wrote find each other.

An identity is a tuple that a call and its first row have in common and no other call
has. Most are known when the call is invoked, from the claim token or specification it
carries. Three need more:

- A renewal writes nothing but the new expiry, which is the clock that the call read
  plus its lease. Renewals of one token are made one after the other with leases that
  grow, so no two of them give one token the same expiry.
- A claim of a queue row gets its token from the store: the result names it. When the
  call was killed there is no result; then the expiry, clock plus lease, identifies it.
- A plain enqueue leaves no trace of its own: the row's version grows. Any call of that
  key whose time allows it can have made the change (see `timeline`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from .operations import Op
from .rows import QUEUE, RESOURCES, RUNS, Change, QueueRow, ResourceRow, RunRow

Identity: TypeAlias = tuple[str, ...]

LATE = frozenset({"renew", "queue-renew", "queue-claim"})
"""Kinds that a call knows only when it is over."""
ANONYMOUS = "enqueue-key"
"""The kind that several calls can share."""

_SPEC_CALLS = frozenset({"resources.put"})
_TOKEN_CALLS = {
    "runs.enqueue": "enqueue",
    "runs.claim_next": "claim",
    "runs.park": "park",
    "runs.complete": "complete",
    "runs.delete": "delete",
    "queue.settle": "release",
    "queue.requeue": "release",
}
_RENEWALS = {"runs.renew": "renew", "queue.renew": "queue-renew"}
_CHANGES = frozenset(_TOKEN_CALLS) | frozenset(_RENEWALS) | _SPEC_CALLS
_CHANGES |= {"queue.claim_next", "queue.enqueue"}


def of_change(change: Change) -> Identity:
    """The identity of the call that made a change."""
    if change.table == RUNS:
        return _of_run(change)
    if change.table == QUEUE:
        return _of_queue(change)
    if change.table == RESOURCES and isinstance(change.after, ResourceRow):
        return ("put", spec_token(msgspec.json.decode(change.after.spec_json)))
    return _odd(change)


def _of_run(change: Change) -> Identity:
    before, after = change.before, change.after
    if isinstance(after, RunRow):
        if before is None:
            return ("enqueue", str(after.claim_token))
        if isinstance(before, RunRow):
            if after.claim_token == before.claim_token and after.status == before.status:
                return ("renew", str(after.claim_token), str(after.claim_expires_at))
            if after.claim_token is not None:
                return ("claim", after.claim_token)
            ending = {"parked": "park", "done": "complete"}.get(after.status)
            if ending is not None:
                return (ending, str(before.claim_token))
    elif isinstance(before, RunRow):
        return ("delete", str(before.claim_token))
    return _odd(change)


def _of_queue(change: Change) -> Identity:
    before, after = change.before, change.after
    if not isinstance(after, QueueRow):
        return (
            ("release", str(before.claim_token)) if isinstance(before, QueueRow) else _odd(change)
        )
    if not isinstance(before, QueueRow) or (
        after.version != before.version and after.claim_token == before.claim_token
    ):
        return (ANONYMOUS, after.controller, after.resource_key)
    if after.claim_token == before.claim_token:
        return ("queue-renew", str(after.claim_token), str(after.claim_expires_at))
    if after.claim_token is not None:
        return ("queue-claim", after.claim_token)
    return ("release", str(before.claim_token))


def _odd(change: Change) -> Identity:
    return ("odd", str(change.seq))


def spec_token(spec: Any) -> str:
    """The token in a specification that the harness put."""
    return str(spec.get("token")) if isinstance(spec, dict) else ""


def of_invocation(op: Op) -> Identity | None:
    """The identity that is known when the call begins, if any."""
    kind = _TOKEN_CALLS.get(op.name)
    if kind is not None:
        return (kind, str(op.token))
    if op.name in _SPEC_CALLS:
        return ("put", spec_token(op.args["spec"]))
    if op.name == "queue.enqueue":
        return (ANONYMOUS, op.args["controller"], op.args["key"])
    return None


def of_outcome(op: Op) -> Identity | None:
    """The identity of a call of a `LATE` kind that is over, if it can have written."""
    if op.name == "queue.claim_next" and isinstance(op.result, dict):
        return ("queue-claim", str(op.result["token"]))
    kind = _RENEWALS.get(op.name)
    if kind is not None and op.now is not None:
        return (kind, str(op.token), str(op.now + op.args["lease_ms"]))
    return None


def expiry_of_claim(op: Op) -> int | None:
    """The expiry that a queue claim without a result would have written."""
    if op.name == "queue.claim_next" and op.now is not None:
        return op.now + int(op.args["lease_ms"])
    return None


def must_have_row(op: Op) -> bool:
    """Whether the result says that the call changed something."""
    return (
        op.status == "ok"
        and op.name in _CHANGES
        and (op.name == "queue.enqueue" or (op.result is not None and op.result is not False))
    )
