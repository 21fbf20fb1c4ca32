"""How a call and the rows that it wrote find each other.

An identity is a tuple that a call and a row of it have in common and no other call has at
the same time. Most are known when the call is invoked, from the claim token, the
specification or another text of its own that it carries. Some need more (`LATE`):

- A renewal writes nothing but the new expiry, which is the clock that the call read
  plus its lease. Renewals of one token are made one after the other with leases that
  grow, so no two of them give one token the same expiry.
- A claim whose token the store made is named by its result. When the call was killed
  there is no result; then what is left is a *trace*: the expiry, clock plus lease.
- Of several calls that compare and swap, or create, one wins; its result says so.

A name can come again: a worker enqueues a key of its own once more, or uses a token again
after a refusal. One process does that, one call after the other, and who of them made a
change is for `leftovers` to say.

What several calls of one key can have made is *shared* (see `sharing`): a plain enqueue
leaves no trace of its own, the row's version grows; so does the setting of a watermark.

A call that changes a resource and its queue row has its text in the first of them, and
the second follows at once; so do the rows that go with a deleted resource. Those are
*parts*: they belong to whoever made the change before. A first request for deletion is
the other way about: its queue row is shared, and the change of the resource before it
goes with that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .operations import Op
from .rows import QUEUE, REQUESTS, RUNS, Change, QueueRow, RequestRow, RunRow
from .times import text_of

Identity: TypeAlias = tuple[Any, ...]

LATE = frozenset(
    {
        "renew",
        "queue-renew",
        "queue-claim",
        "run-claim",
        "swap",
        "remove",
        "effect-new",
        "request-new",
    }
)
"""Kinds that a call knows only when it is over."""
SHARED = frozenset({"enqueue-key", "watermark"})
"""Kinds that several calls can have."""
PART = "part"
DELETION = "deletion"

OWNED = "owned"
"""The controller whose keys have one process each that enqueues them."""
OWNED_KEY = "owned-key"
"""Kind of the enqueues of such a key: one process makes them, one after the other."""

_NONE: tuple[Identity, ...] = ()

AGAIN = {"again": True}
"""The initial status in a `put` of the specification that is there: it must change nothing."""


def spec_token(spec: Any) -> str:
    """The token in a JSON value that the harness made."""
    return str(spec.get("token")) if isinstance(spec, dict) else ""


# What a call is known by when it begins.


def _by_token(kind: str) -> Callable[[dict[str, Any]], tuple[Identity, ...]]:
    return lambda args: ((kind, args["claim_token"]),)


def _by_claim(args: dict[str, Any]) -> tuple[Identity, ...]:
    return (("release", args["claim"]["token"]),)


def _of_items(args: dict[str, Any]) -> tuple[Identity, ...]:
    return tuple((OWNED_KEY, item[1]) for item in args["items"])


def _of_enqueue(args: dict[str, Any]) -> tuple[Identity, ...]:
    controller = args["controller"]
    if controller == OWNED:
        return ((OWNED_KEY, args["key"]),)
    return (("enqueue-key", controller, args["key"]),)


_INVOCATIONS: dict[str, Callable[[dict[str, Any]], tuple[Identity, ...]]] = {
    "runs.enqueue": _by_token("enqueue"),
    "runs.enqueue_many": lambda args: tuple(
        ("enqueue", item["claim_token"]) for item in args["items"]
    ),
    "runs.claim_next": _by_token("claim"),
    "runs.park": _by_token("parked"),
    "runs.complete": _by_token("done"),
    "runs.complete_many": lambda args: tuple(("done", token) for _, token in args["claims"]),
    "runs.delete": _by_token("delete"),
    "runs.repair_source": lambda args: (("source", args["workflow_name"]),),
    "runs.claim_legacy_source": lambda args: (("source", args["workflow_name"]),),
    "queue.enqueue": _of_enqueue,
    "queue.enqueue_many": _of_items,
    "queue.settle": _by_claim,
    "queue.settle_many": lambda args: tuple(
        ("release", claim["token"]) for claim in args["claims"]
    ),
    "queue.requeue": _by_claim,
    "resources.put": lambda args: (
        _NONE if args["initial_status"] == AGAIN else (("put", spec_token(args["spec"])),)
    ),
    "resources.request_deletion": _of_enqueue,
    "effects.update": lambda args: (
        ("effect", args.get("error") if args.get("external_ref") is None else args["external_ref"]),
    ),
    "requests.update": lambda args: (
        ("request", args.get("error") if args.get("run_id") is None else args["run_id"]),
    ),
    "feed.record": lambda args: (("feed", spec_token(args["payload"])),),
    "feed.set_watermark": lambda args: (("watermark", args["session_id"]),),
    "events.record": lambda args: (("event", spec_token(args["payload"])),),
}


def of_invocation(op: Op) -> tuple[Identity, ...]:
    """The identities that are known when the call begins."""
    of = _INVOCATIONS.get(op.name)
    return _NONE if of is None else of(op.args)


# What it is known by when it is over.


def _of_renewal(op: Op) -> tuple[Identity, ...]:
    now = op.now
    return _NONE if now is None else (("renew", op.args["claim_token"], now + op.args["lease_ms"]),)


def _of_renewals(op: Op) -> tuple[Identity, ...]:
    now = op.now
    if now is None:
        return _NONE
    return tuple(("renew", token, now + op.args["lease_ms"]) for _, token in op.args["claims"])


def _of_key_renewal(op: Op) -> tuple[Identity, ...]:
    now = op.now
    if now is None:
        return _NONE
    claims = op.args["claims"] if "claims" in op.args else [op.args["claim"]]
    return tuple(("queue-renew", claim["token"], now + op.args["lease_ms"]) for claim in claims)


def _of_claims(kind: str, member: str) -> Callable[[Op], tuple[Identity, ...]]:
    def of(op: Op) -> tuple[Identity, ...]:
        found = op.result if isinstance(op.result, list) else [op.result]
        return tuple((kind, claim[member]) for claim in found if isinstance(claim, dict))

    return of


def _of_swap(op: Op) -> tuple[Identity, ...]:
    now, expected = op.now, op.args["expected_resource_version"]
    same = op.status == "ok" and op.result["metadata"]["resource_version"] == expected
    if now is None or same:
        return _NONE
    return (("swap", op.args["controller"], op.args["key"], expected, text_of(now)),)


def _of_removal(op: Op) -> tuple[Identity, ...]:
    if op.status == "ok" and op.result is not True:
        return _NONE
    args = op.args
    return (("remove", args["controller"], args["key"], args["expected_resource_version"]),)


def _of_effect_reservation(op: Op) -> tuple[Identity, ...]:
    now = op.now
    if now is None or (op.status == "ok" and not op.result["created"]):
        return _NONE
    args = op.args
    return (
        (
            "effect-new",
            args["resource_uid"],
            args["key"],
            text_of(now),
            args["request_fingerprint"],
        ),
    )


def _of_request_reservation(op: Op) -> tuple[Identity, ...]:
    if op.status != "ok" or not op.result["created"]:
        return _NONE
    return (("request-new", op.result["record"]["request_id"]),)


_OUTCOMES: dict[str, Callable[[Op], tuple[Identity, ...]]] = {
    "runs.renew": _of_renewal,
    "runs.renew_many": _of_renewals,
    "runs.claim_many": _of_claims("run-claim", "claim_token"),
    "queue.renew": _of_key_renewal,
    "queue.renew_many": _of_key_renewal,
    "queue.claim_next": _of_claims("queue-claim", "token"),
    "queue.claim_many": _of_claims("queue-claim", "token"),
    "resources.update_status": _of_swap,
    "resources.update_finalizers": _of_swap,
    "resources.delete": _of_removal,
    "effects.reserve": _of_effect_reservation,
    "requests.reserve": _of_request_reservation,
}


RECORDED = frozenset({*_INVOCATIONS, *_OUTCOMES, "runs.verify"})
"""The calls that can be told apart, beside those that only read."""


def of_outcome(op: Op) -> tuple[Identity, ...]:
    """The further identities of a call that is over and can have written; not of a refused one."""
    of = _OUTCOMES.get(op.name)
    return _NONE if of is None or op.status == "fail" else of(op)


# What a killed call leaves.


def trace_of(op: Op) -> Identity | None:
    """By what the rows of a killed call are told whose token the store would have made."""
    if op.name == "requests.reserve":
        args = op.args
        return (REQUESTS, args["resource_uid"], args["request_key"], args["input_fingerprint"])
    now = op.now
    if now is not None and op.name in _CLAIMS:
        return (_CLAIMS[op.name], now + op.args["lease_ms"])
    return None


_CLAIMS = {"runs.claim_many": RUNS, "queue.claim_next": QUEUE, "queue.claim_many": QUEUE}


def trace_in(change: Change, known: Identity) -> Identity | None:
    """The trace that a change bears, if it is of such a kind."""
    after = change.after
    if known[0] in {"queue-claim", "run-claim"} and isinstance(after, RunRow | QueueRow):
        return (change.table, after.claim_expires_at)
    if known[0] == "request-new" and isinstance(after, RequestRow):
        return (REQUESTS, after.resource_uid, after.request_key, after.input_fingerprint)
    return None


def asked_for(op: Op, change: Change) -> bool:
    """Whether a killed claim can have been given this row."""
    after = change.after
    if isinstance(after, QueueRow):
        return after.controller in op.args["controllers"]
    return not isinstance(after, RunRow) or after.runner_id == op.args["runner_id"]


# What must have left rows.

_ALWAYS = frozenset(
    {
        "queue.enqueue",
        "resources.request_deletion",
        "feed.record",
        "feed.set_watermark",
        "events.record",
        "effects.update",
        "requests.update",
    }
)
_WHEN_TRUE = frozenset(
    {
        "runs.enqueue",
        "runs.claim_next",
        "runs.renew",
        "runs.park",
        "runs.complete",
        "runs.delete",
        "runs.claim_legacy_source",
        "queue.claim_next",
        "queue.renew",
        "queue.settle",
        "queue.requeue",
        "resources.put",
        "resources.delete",
    }
)
_EACH = frozenset(
    {
        "runs.enqueue_many",
        "runs.claim_many",
        "runs.renew_many",
        "runs.complete_many",
        "queue.claim_many",
        "queue.renew_many",
        "queue.settle_many",
    }
)


def rows_due(op: Op) -> int:
    """How many rows the result says that the call changed, at the least."""
    if op.status != "ok":
        return 0
    name, result = op.name, op.result
    if name == "resources.put" and op.args["initial_status"] == AGAIN:
        return 0
    if name in _WHEN_TRUE:
        return int(result is not None and result is not False)
    if name in _ALWAYS:
        return 1
    count = _COUNTS.get(name)
    return 0 if count is None else count(op)


def _each(op: Op) -> int:
    return sum(
        item is True or (isinstance(item, dict) and "error" not in item) for item in op.result
    )


def _swapped(op: Op) -> int:
    moved = op.result["metadata"]["resource_version"] != op.args["expected_resource_version"]
    return int(moved)


_COUNTS: dict[str, Callable[[Op], int]] = {
    **dict.fromkeys(_EACH, _each),
    "queue.enqueue_many": lambda op: sum(item is None for item in op.result),
    "effects.reserve": lambda op: int(op.result["created"]),
    "requests.reserve": lambda op: int(op.result["created"]),
    "resources.update_status": _swapped,
    "resources.update_finalizers": lambda _op: 1,
    "runs.repair_source": lambda op: int(op.result == "claimed"),
}
