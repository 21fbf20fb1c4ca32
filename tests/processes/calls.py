"""One valid call of every method of every facet, for stores that must refuse them all."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from fencepost import FencepostError, Store

_CLAIM = {
    "controller": "site",
    "key": "home",
    "token": "token",
    "queue_version": 1,
    "consecutive_errors": 0,
    "expires_at": "2026-08-04T09:00:00.000Z",
}
_ROW = {"controller": "site", "key": "home"}
_VERSION = {**_ROW, "expected_resource_version": 1}
_RUN = {
    "run_id": "run",
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "runner_id": "runner",
    "lease_ms": 1000,
}
_RUN_CLAIM = {"run_id": "run", "claim_token": "token"}
_STATUS = {"observed_generation": 0, "conditions": [], "controller_status": None}

CALLS: dict[str, dict[str, Any]] = {
    "resources.put": {**_ROW, "spec": {}, "initial_status": None},
    "resources.get": _ROW,
    "resources.get_by_uid": {"uid": "uid"},
    "resources.list": {},
    "resources.iterate": {},
    "resources.update_status": {**_VERSION, "status": _STATUS},
    "resources.request_deletion": _ROW,
    "resources.update_finalizers": {**_VERSION, "finalizers": []},
    "resources.delete": _VERSION,
    "queue.enqueue": _ROW,
    "queue.enqueue_many": {"items": [("site", "home")]},
    "queue.claim_next": {"controllers": ["site"], "lease_ms": 1000},
    "queue.claim_many": {"controllers": ["site"], "lease_ms": 1000, "limit": 2},
    "queue.renew": {"claim": _CLAIM, "lease_ms": 1000},
    "queue.renew_many": {"claims": [_CLAIM], "lease_ms": 1000},
    "queue.settle": {"claim": _CLAIM},
    "queue.settle_many": {"claims": [_CLAIM]},
    "queue.requeue": {"claim": _CLAIM, "available_at": "2026-08-04T09:00:00.000Z"},
    "queue.list": {},
    "queue.iterate": {},
    "effects.reserve": {
        "key": "mail",
        "resource_uid": "uid",
        "generation": 1,
        "kind": "send",
        "request_fingerprint": "f",
    },
    "effects.get": {"resource_uid": "uid", "key": "mail"},
    "effects.update": {"resource_uid": "uid", "key": "mail", "state": "applied"},
    "effects.list": {"resource_uid": "uid"},
    "effects.iterate": {"resource_uid": "uid"},
    "requests.reserve": {
        "resource_uid": "uid",
        "request_key": "child",
        "workflow": "build",
        "input_fingerprint": "f",
    },
    "requests.get": {"resource_uid": "uid", "request_key": "child"},
    "requests.get_by_id": {"request_id": "id"},
    "requests.update": {"request_id": "id", "state": "running"},
    "requests.list": {"resource_uid": "uid"},
    "requests.iterate": {"resource_uid": "uid"},
    "events.record": {**_ROW, "type": "Seen"},
    "events.list": {},
    "events.iterate": {},
    "runs.enqueue": _RUN,
    "runs.enqueue_many": {"items": [_RUN]},
    "runs.get": {"run_id": "run"},
    "runs.list": {},
    "runs.iterate": {},
    "runs.claim_next": {"runner_id": "runner", "lease_ms": 1000},
    "runs.claim_many": {"runner_id": "runner", "lease_ms": 1000, "limit": 2},
    "runs.renew": {**_RUN_CLAIM, "lease_ms": 1000},
    "runs.renew_many": {"claims": [("run", "token")], "lease_ms": 1000},
    "runs.verify": _RUN_CLAIM,
    "runs.park": _RUN_CLAIM,
    "runs.complete": _RUN_CLAIM,
    "runs.complete_many": {"claims": [("run", "token")]},
    "runs.delete": _RUN_CLAIM,
    "runs.repair_source": {**_RUN, "claim_token": "token"},
    "runs.claim_legacy_source": {**_RUN, "claim_token": "token", "old_workflow_path": "old.ts"},
    "feed.record": {"run_id": "run", "workflow_ref": "build", "type": "started"},
    "feed.after": {"seq": 0},
    "feed.iterate": {},
    "feed.latest_seq": {},
    "feed.watermark": {"session_id": "session"},
    "feed.set_watermark": {"session_id": "session", "seq": 1},
}


def bound(store: Store, target: str) -> Callable[..., Any]:
    """The method that a target such as `"runs.get"` names."""
    facet, method = target.split(".")
    found: Callable[..., Any] = getattr(getattr(store, facet), method)
    return found


def outcomes(store: Store) -> dict[str, str]:
    """What each call ends in: the code of the error, or `"none"`."""
    return {target: _outcome(store, target, arguments) for target, arguments in CALLS.items()}


def _outcome(store: Store, target: str, arguments: dict[str, Any]) -> str:
    try:
        result = bound(store, target)(**arguments)
        if inspect.isgenerator(result):
            list(result)
    except FencepostError as error:
        return error.code
    return "none"


def all_methods(store: Store) -> set[str]:
    """Every public method of every facet, by its target."""
    facets = "resources queue effects requests events runs feed".split()
    return {
        f"{facet}.{name}"
        for facet in facets
        for name, _ in inspect.getmembers(getattr(store, facet), inspect.ismethod)
        if not name.startswith("_")
    }
