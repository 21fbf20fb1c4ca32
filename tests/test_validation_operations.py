"""Every argument of every operation obeys its rule."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost import Store
from tests.support import at, enqueue, put, refused, unchanged
from tests.values import BAD_KEYS, BAD_NAMES, BAD_RUN_IDS, NOT_TEXT

TARGET = {"controller": "ctl", "key": "k", "now": at()}
RUN = {"run_id": "r", "claim_token": "t-r"}
CLAIM = {
    "controller": "ctl",
    "key": "k",
    "token": "t",
    "queue_version": 1,
    "consecutive_errors": 0,
    "expires_at": at(),
}
EFFECT = {"key": "e", "resource_uid": "u", "generation": 1, "kind": "k", "request_fingerprint": "f"}
REQUEST = {"resource_uid": "u", "request_key": "q", "workflow": "w", "input_fingerprint": "f"}
SOURCE = {
    **RUN,
    "workflow_name": "w",
    "workflow_source_ref": "s",
    "runner_id": "a",
    "lease_ms": 1,
    "now": at(),
}

# Operation, good arguments, and which argument obeys which rule.
RULES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "resources.put": (
        {**TARGET, "spec": 1, "initial_status": 1},
        {
            "controller": "name",
            "key": "key",
            "spec": "json",
            "initial_status": "json",
            "now": "time",
        },
    ),
    "resources.get": ({"controller": "ctl", "key": "k"}, {"controller": "name", "key": "key"}),
    "resources.get_by_uid": ({"uid": "u"}, {"uid": "text"}),
    "resources.list": ({"controller": "ctl"}, {"controller": "name?", "limit": "limit?"}),
    "resources.update_status": (
        {**TARGET, "expected_resource_version": 1, "status": {"observed_generation": 0}},
        {
            "controller": "name",
            "key": "key",
            "expected_resource_version": "integer",
            "finalizers": "names?",
            "now": "time",
        },
    ),
    "resources.request_deletion": (
        dict(TARGET),
        {"controller": "name", "key": "key", "now": "time"},
    ),
    "resources.update_finalizers": (
        {**TARGET, "expected_resource_version": 1, "finalizers": []},
        {"controller": "name", "expected_resource_version": "integer", "finalizers": "names"},
    ),
    "resources.delete": (
        {"controller": "ctl", "key": "k", "expected_resource_version": 1},
        {"controller": "name", "key": "key", "expected_resource_version": "integer"},
    ),
    "queue.enqueue": (
        {"controller": "ctl", "key": "k"},
        {"controller": "name", "key": "key", "available_at": "time", "now": "time"},
    ),
    "queue.claim_next": (
        {"controllers": ["ctl"], "lease_ms": 1, "now": at()},
        {"controllers": "names", "lease_ms": "lease", "now": "time"},
    ),
    "queue.renew": (
        {"claim": CLAIM, "lease_ms": 1, "now": at()},
        {"lease_ms": "lease", "now": "time"},
    ),
    "queue.settle": ({"claim": CLAIM, "now": at()}, {"now": "time"}),
    "queue.requeue": (
        {"claim": CLAIM, "available_at": at(), "now": at()},
        {"available_at": "time!", "error": "error", "now": "time"},
    ),
    "effects.reserve": (
        {**EFFECT, "now": at()},
        {
            "key": "key",
            "resource_uid": "text",
            "generation": "positive",
            "kind": "name",
            "request_fingerprint": "text",
            "now": "time",
        },
    ),
    "effects.get": ({"resource_uid": "u", "key": "e"}, {"resource_uid": "text", "key": "key"}),
    "effects.update": (
        {"resource_uid": "u", "key": "e", "state": "applied", "now": at()},
        {"resource_uid": "text", "key": "key", "external_ref": "text?", "error": "error"},
    ),
    "effects.list": ({"resource_uid": "u"}, {"resource_uid": "text", "limit": "limit?"}),
    "requests.reserve": (
        dict(REQUEST),
        {
            "resource_uid": "text",
            "request_key": "key",
            "workflow": "key",
            "input_fingerprint": "text",
        },
    ),
    "requests.get": (
        {"resource_uid": "u", "request_key": "q"},
        {"resource_uid": "text", "request_key": "key"},
    ),
    "requests.get_by_id": ({"request_id": "q"}, {"request_id": "text"}),
    "requests.list": ({"resource_uid": "u"}, {"resource_uid": "text", "limit": "limit?"}),
    "events.record": (
        {**TARGET, "type": "t"},
        {"controller": "name", "key": "key", "type": "name", "payload": "object", "now": "time"},
    ),
    "events.list": ({}, {"controller": "name?", "key": "key?", "limit": "limit"}),
    "runs.enqueue": (
        {**SOURCE, "run_id": "new"},
        {
            "run_id": "run id",
            "workflow_name": "key",
            "workflow_source_ref": "key",
            "runner_id": "key",
            "claim_token": "key?",
            "affinity_runner_id": "key?",
            "parent_run_id": "run id?",
            "lease_ms": "lease",
            "input": "json",
            "now": "time",
        },
    ),
    "runs.get": ({"run_id": "r"}, {"run_id": "run id"}),
    "runs.claim_next": (
        {"runner_id": "a", "lease_ms": 1, "now": at()},
        {
            "runner_id": "key",
            "claim_token": "key?",
            "lease_ms": "lease",
            "exclude_run_ids": "run ids",
            "now": "time",
        },
    ),
    "runs.claim_many": (
        {"runner_id": "a", "lease_ms": 1, "limit": 1, "now": at()},
        {"runner_id": "key", "lease_ms": "lease", "exclude_run_ids": "run ids", "limit": "limit"},
    ),
    "runs.renew": (
        {**RUN, "lease_ms": 1, "now": at()},
        {"run_id": "run id", "claim_token": "key", "lease_ms": "lease", "now": "time"},
    ),
    "runs.verify": (
        {**RUN, "now": at()},
        {"run_id": "run id", "claim_token": "key", "now": "time"},
    ),
    "runs.park": ({**RUN, "now": at()}, {"run_id": "run id", "claim_token": "key", "now": "time"}),
    "runs.complete": (
        {**RUN, "now": at()},
        {"run_id": "run id", "claim_token": "key", "now": "time"},
    ),
    "runs.delete": (dict(RUN), {"run_id": "run id", "claim_token": "key"}),
    "runs.repair_source": (
        dict(SOURCE),
        {
            "run_id": "run id",
            "workflow_name": "key",
            "workflow_source_ref": "key",
            "runner_id": "key",
            "claim_token": "key",
            "lease_ms": "lease",
            "now": "time",
        },
    ),
    "runs.claim_legacy_source": (
        {**SOURCE, "old_workflow_path": "o"},
        {
            "run_id": "run id",
            "old_workflow_path": "key",
            "workflow_name": "key",
            "claim_token": "key",
            "lease_ms": "lease",
        },
    ),
    "feed.record": (
        {"run_id": "r", "workflow_ref": "w", "type": "t", "now": at()},
        {
            "run_id": "run id",
            "workflow_ref": "key",
            "type": "key",
            "runner_id": "key?",
            "payload": "object",
            "now": "time",
        },
    ),
    "feed.after": ({"seq": 0}, {"seq": "integer", "limit": "limit"}),
    "feed.watermark": ({"session_id": "s"}, {"session_id": "key"}),
    "feed.set_watermark": (
        {"session_id": "s", "seq": 1, "now": at()},
        {"session_id": "key", "seq": "integer", "now": "time"},
    ),
}
NOT_JSON: list[Any] = [float("nan"), 2**53, b"x", {1: 2}, {"a": {1, 2}}]
NOT_TIME: list[Any] = ["", "yesterday", "2026-08-04T00:00:00", 0, 1.5, True, b"2026-08-04"]
NOT_WHOLE: list[Any] = [-1, 2**53, 1.0, "1", True, None]
NOT_LISTS: list[Any] = [None, "abc", b"abc", 5, {"a": 1}]
BAD: dict[str, list[Any]] = {
    "name": BAD_NAMES,
    "key": BAD_KEYS,
    "run id": BAD_RUN_IDS,
    "text": ["\ud800", *NOT_TEXT],
    "json": NOT_JSON,
    "object": [[], "text", 1, True, *NOT_JSON],
    "time": NOT_TIME,
    "time!": [None, *NOT_TIME],
    "integer": NOT_WHOLE,
    "positive": [0, *NOT_WHOLE],
    "lease": [0, *NOT_WHOLE],
    "limit": [0, *NOT_WHOLE],
    "names": [["9"], ["a", None], *NOT_LISTS],
    "run ids": [["-"], ["a", None], *NOT_LISTS],
    "error": [5, b"x", ["x"], True],
}


def bad_values(rule: str) -> list[Any]:
    if rule.endswith("?"):
        return [value for value in BAD[rule[:-1]] if value is not None]
    return BAD[rule]


@pytest.mark.parametrize("operation", RULES)
def test_every_argument_of_every_operation(store: Store, operation: str) -> None:
    put(store)
    enqueue(store)
    facet, method = operation.split(".")
    call = getattr(getattr(store, facet), method)
    good, rules = RULES[operation]
    with unchanged(store):
        for argument, rule in rules.items():
            for value in bad_values(rule):
                with refused("invalid"):
                    call(**{**good, argument: value})


@pytest.mark.parametrize("operation", RULES)
def test_arguments_are_keywords(store: Store, operation: str) -> None:
    facet, method = operation.split(".")
    call = getattr(getattr(store, facet), method)
    with pytest.raises(TypeError):
        call(*RULES[operation][0].values() or ("ctl",))
    with pytest.raises(TypeError):
        call(**RULES[operation][0], unheard_of=1)


@pytest.mark.parametrize(
    "option",
    [
        {"synchronous": "half"},
        {"synchronous": None},
        {"busy_timeout_ms": -1},
        {"busy_timeout_ms": 1.5},
        {"busy_timeout_ms": True},
        {"busy_timeout_ms": 2**31},
        {"guard": "perhaps"},
        {"guard": 5},
        {"engine": "rust"},
        {"engine": 5},
        {"engine": 10**5000},
        {"engine": []},
    ],
    ids=lambda option: next(iter(option)),
)
def test_options_of_open(path: str, option: dict[str, Any]) -> None:
    import fencepost

    with refused("invalid"):
        fencepost.open(path, **option)
