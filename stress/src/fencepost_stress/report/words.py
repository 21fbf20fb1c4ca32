"""Calls and row changes in words that a person can follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..operations import WAIT

WIDTH = 400
"""Longer values are cut; verdict.json has them whole."""

_VERBS = {
    "runs.enqueue": "enqueues {run_id} and claims it for {lease_ms} ms",
    "runs.claim_next": "asks for a run for {lease_ms} ms",
    "runs.renew": "renews {run_id} for {lease_ms} ms",
    "runs.verify": "verifies its claim of {run_id}",
    "runs.park": "parks {run_id}",
    "runs.complete": "completes {run_id}",
    "runs.delete": "deletes {run_id}",
    "queue.enqueue": "enqueues {controller}/{key}",
    "queue.claim_next": "asks for a key for {lease_ms} ms",
    "queue.renew": "renews {claim_key} for {lease_ms} ms",
    "queue.settle": "settles {claim_key}",
    "queue.requeue": "requeues {claim_key} for {available_at}",
    "queue.claim_many": "asks for up to {limit} keys for {lease_ms} ms",
    "resources.put": "puts another specification of {controller}/{key}",
    "resources.update_status": "writes the status of {controller}/{key} over version "
    "{expected_resource_version}",
    "resources.update_finalizers": "sets the finalizers of {controller}/{key} over version "
    "{expected_resource_version}",
    "resources.request_deletion": "asks for the deletion of {controller}/{key}",
    "resources.delete": "deletes {controller}/{key} at version {expected_resource_version}",
    "resources.get": "reads {controller}/{key}",
    "runs.get": "reads {run_id}",
    "runs.claim_many": "asks for up to {limit} runs for {lease_ms} ms",
    "effects.reserve": "reserves the effect {key} of {resource_uid}",
    "effects.update": "moves the effect {key} of {resource_uid} to {state}",
    "requests.reserve": "reserves the request {request_key} of {resource_uid}",
    "requests.update": "moves the request {request_id} to {state}",
    "store.wait": "waits for work for up to {timeout_ms} ms",
    "feed.after": "reads the feed after {seq}",
    "feed.watermark": "reads the watermark of {session_id}",
    "feed.set_watermark": "moves the watermark of {session_id} to {seq}",
}
_MANY = {
    "runs.complete_many": "completes",
    "runs.renew_many": "renews",
    "queue.settle_many": "settles",
    "queue.renew_many": "renews",
}
_LISTED = 4

_DULL = frozenset(
    {
        "created_at",
        "updated_at",
        "workflow_ref",
        "workflow_path",
        "input_json",
        "affinity_runner_id",
    }
)
"""Columns that say nothing about a broken promise."""


def cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}..."


def deed(name: str, args: Mapping[str, Any]) -> str:
    """What a call asks for: "completes run-1 with token-7"."""
    pattern = _VERBS.get(name)
    if name in _MANY and isinstance(args.get("claims"), list):
        return cut(f"{_MANY[name]} {_listed([_claimed(claim) for claim in args['claims']])}")
    claim = args.get("claim")
    known = dict(args)
    if isinstance(claim, Mapping):
        known["claim_key"] = f"{claim.get('controller')}/{claim.get('key')}"
    try:
        said = None if pattern is None else pattern.format_map(known)
    except KeyError:
        said = None
    if said is None:
        return cut(f"{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})")
    if args.get("parent_run_id") is not None:
        said += f" as the continuation of {args['parent_run_id']}"
    token = claim.get("token") if isinstance(claim, Mapping) else args.get("claim_token")
    return cut(f"{said} with {token}" if token else said)


def outcome(call: Mapping[str, Any]) -> str:
    """How a call ended, in a few words. `call` is what `Op.describe` gives."""
    if call["status"] == "unknown":
        commits = call.get("commits")
        return f"never returned, but committed as {numbers(commits)}" if commits else "unknown"
    if call["status"] == "fail":
        return f"refused: {call['code']}"
    result = call.get("result")
    if call["name"] == WAIT and isinstance(result, Mapping):
        return f"there is {_kinds(result)}"
    if isinstance(result, list):
        return cut(_listed([_result(one) for one in result]))
    if result is None:
        return "nothing" if call["name"].endswith("claim_next") else "done"
    return cut(_result(result))


def _kinds(ready: Mapping[str, Any]) -> str:
    """What a wait was told of."""
    kinds = [
        *(["a run"] if ready.get("runs") else []),
        *(f"a key of {name}" for name in ready.get("controllers") or ()),
        *(["an event of a run"] if ready.get("feed") else []),
        *(["an event of a resource"] if ready.get("events") else []),
    ]
    return ", ".join(kinds) or "nothing"


def _result(result: Any) -> str:
    if isinstance(result, Mapping):
        return _record(result)
    return {"True": "yes", "False": "refused", "None": "done"}.get(str(result), str(result))


def _listed(items: list[str]) -> str:
    shown = ", ".join(items[:_LISTED]) or "nothing"
    return shown if len(items) <= _LISTED else f"{shown} and {len(items) - _LISTED} more"


def _claimed(claim: Any) -> str:
    """A claim in a batch: a run's id and token, or a key's claim."""
    if isinstance(claim, Mapping):
        return f"{claim.get('controller')}/{claim.get('key')} with {claim.get('token')}"
    return " with ".join(str(part) for part in claim)


def _record(result: Mapping[str, Any]) -> str:
    if "error" in result and len(result) == 1:
        return f"refused: {result['error']}"
    if "created" in result:
        return "created" if result["created"] else "was there already"
    fence = f", fence {result['fence']}" if result.get("fence") is not None else ""
    if "run_id" in result:
        return f"got {result['run_id']}{fence}"
    if "token" in result:
        return f"got {result.get('controller')}/{result.get('key')} with {result['token']}{fence}"
    return f"got {result}"


def numbers(commits: Any) -> str:
    return "commit " + ", ".join(str(seq) for seq in commits)


def moved(commit: Mapping[str, Any]) -> str:
    """What a commit changed. `commit` is as in a violation."""
    before, after = commit["before"], commit["after"]
    if before is None:
        return cut(f"inserted {_columns(after)}")
    if after is None:
        return cut(f"deleted {_columns(before)}")
    changed = [
        f"{name}: {before[name]!r} -> {after[name]!r}"
        for name in before
        if before[name] != after[name] and name not in _DULL
    ]
    return cut(", ".join(changed) or "nothing changed")


def _columns(row: Mapping[str, Any]) -> str:
    told = {name: value for name, value in row.items() if value is not None and name not in _DULL}
    return ", ".join(f"{name}: {value!r}" for name, value in told.items())
