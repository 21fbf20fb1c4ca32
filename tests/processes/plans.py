"""Operations for the engines to agree on: every one, on few keys, with good and bad arguments.

Ids that the store makes are spoken of by position: `Made("uid", 3)` stands for the fourth
uid that appeared, whatever it is in each store.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from fencepost import UNSET

START = datetime(2026, 8, 4, 9, tzinfo=UTC)


@dataclass(frozen=True)
class Made:
    """The id of this kind at this position, counted around; `"nobody"` before there is one."""

    kind: str
    position: int


def _made(kind: str) -> st.SearchStrategy[Any]:
    return st.builds(Made, st.just(kind), st.integers(0, 5))


def _time(ms: int) -> str:
    moment = START + timedelta(milliseconds=ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


_milliseconds = st.sampled_from([0, 0, 0, 1, 999, 1000, 1001, 2000, 60_000, -1000, -3_600_000])
_times = st.one_of(st.none(), _milliseconds.map(_time))
_aware = _milliseconds.map(lambda ms: START + timedelta(milliseconds=ms))
_controllers = st.sampled_from(["alpha", "alpha", "beta"])
_keys = st.sampled_from(["k1", "k1", "k1", "k\U0001f600"])
_run_ids = st.sampled_from(["r1", "r2", "r3", "r4"])
_runners = st.sampled_from(["ann", "bob", "cy"])
_tokens = st.one_of(st.sampled_from(["t1", "t1", "t2"]), _made("token"))
_new_tokens = st.sampled_from([None, "t1", "t2", "t3"])
_leases = st.sampled_from([60_000, 60_000, 60_000, 1, 1000, 2000, 2**53 - 1])
_limits = st.sampled_from([1, 2, 5])
_json: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([None, 1, 1.0, -0.0, 1e21, "", "\ud800", {"b": 1, "a": [True]}, [], {}]),
    st.dictionaries(st.sampled_from(["x", "10", "9", "__proto__"]), st.integers(-3, 3)),
)
_objects = st.dictionaries(st.sampled_from(["x", "10", "9"]), st.integers(-3, 3))
_versions = st.sampled_from([1, 2, 2, 3])
_finalizers = st.lists(st.sampled_from(["keep", "clean"]), unique=True, max_size=2)
_sources = st.sampled_from(["a.ts", "b.ts"])
_uids = st.one_of(_made("uid"), _made("uid"), st.just("no-such-uid"))
_requests = st.one_of(_made("request"), _made("request"), st.just("no-such-request"))
_texts = st.sampled_from([None, "boom", "…" * 9000])
_row = {"controller": _controllers, "key": _keys}
_version = {**_row, "expected_resource_version": _versions, "now": _times}
_run_claim = {"run_id": _run_ids, "claim_token": _tokens}
_source = {"workflow_name": st.sampled_from(["build", "test"]), "workflow_source_ref": _sources}
_lease = {"lease_ms": _leases, "now": _times}
_runner = {"runner_id": _runners}
_page = {"limit": _limits, "cursor": st.sampled_from([None, None, None, Made("cursor", 0)])}
_statuses = st.fixed_dictionaries(
    {
        "observed_generation": st.integers(0, 2),
        "conditions": st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.sampled_from(["Ready", "Seen"]),
                    "status": st.sampled_from([True, False, "unknown"]),
                    "reason": st.just("Because"),
                    "observed_generation": st.integers(0, 2),
                    "last_transition_time": st.just(_time(0)),
                }
            ),
            max_size=1,
        ),
        "controller_status": _json,
    }
)
_new_run: dict[str, Any] = {
    "run_id": _run_ids,
    **_source,
    **_runner,
    "lease_ms": _leases,
    "input": _json,
    "claim_token": _new_tokens,
    "affinity_runner_id": st.one_of(st.none(), _runners),
    "parent_run_id": st.one_of(st.none(), _run_ids),
}
_claims = _made("claim")
_pairs = st.lists(st.tuples(_run_ids, _tokens), max_size=3)
_states = st.sampled_from(["pending", "running", "waiting", "succeeded", "failed", "nonsense"])

ARGUMENTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "put_resource": {**_row, "spec": _json, "initial_status": _json, "now": _times},
    "get_resource": _row,
    "get_resource_by_uid": {"uid": _uids},
    "list_resources": {"controller": st.one_of(st.none(), _controllers), **_page},
    "update_status": {
        **_version,
        "status": _statuses,
        "finalizers": st.one_of(st.none(), _finalizers),
    },
    "request_deletion": {**_row, "now": _times},
    "update_finalizers": {**_version, "finalizers": _finalizers},
    "delete_resource": {**_row, "expected_resource_version": _versions},
    "enqueue": {**_row, "available_at": st.one_of(_times, _aware)},
    "queue.enqueue_many": {
        "items": st.lists(
            st.one_of(st.tuples(_controllers, _keys), st.tuples(_controllers, _keys, _times)),
            max_size=3,
        )
    },
    "claim_next": {"controllers": st.lists(_controllers, max_size=3), **_lease},
    "queue.claim_many": {
        "controllers": st.lists(_controllers, min_size=1, max_size=2),
        "limit": _limits,
        **_lease,
    },
    "renew_claim": {"claim": _claims, **_lease},
    "queue.renew_many": {"claims": st.lists(_claims, max_size=3), **_lease},
    "settle_claim": {"claim": _claims, "now": _times},
    "queue.settle_many": {"claims": st.lists(_claims, max_size=3), "now": _times},
    "requeue_claim": {
        "claim": _claims,
        "available_at": _milliseconds.map(_time),
        "error": _texts,
        "now": _times,
    },
    "list_queue": _page,
    "reserve_effect": {
        "key": _keys,
        "resource_uid": _uids,
        "generation": st.integers(1, 2),
        "kind": st.just("send"),
        "request_fingerprint": st.sampled_from(["f1", "f2"]),
        "now": _times,
    },
    "get_effect": {"resource_uid": _uids, "key": _keys},
    "update_effect": {
        "resource_uid": _uids,
        "key": st.one_of(_keys, st.just("done"), st.just("done")),
        "state": st.sampled_from(["pending", "applied", "rejected", "indeterminate", "odd"]),
        "external_ref": st.sampled_from([None, "ref"]),
        "error": _texts,
        "now": _times,
    },
    "list_effects": {"resource_uid": _uids, **_page},
    "reserve_workflow": {
        "resource_uid": _uids,
        "request_key": _keys,
        "workflow": st.sampled_from(["build", "test"]),
        "input_fingerprint": st.sampled_from(["f1", "f2"]),
    },
    "get_workflow": {"resource_uid": _uids, "request_key": _keys},
    "get_workflow_by_request_id": {"request_id": _requests},
    "update_workflow": {
        "request_id": _requests,
        "state": _states,
        "run_id": st.sampled_from([UNSET, None, "r1"]),
        "attempt": st.sampled_from([UNSET, 0, 3]),
        "error": st.sampled_from([UNSET, None, "boom"]),
    },
    "list_workflows": {"resource_uid": _uids, **_page},
    "record_event": {
        **_row,
        "type": st.sampled_from(["Seen", "Done"]),
        "payload": st.one_of(st.none(), _objects),
        "now": _times,
    },
    "list_events": {
        "controller": st.one_of(st.none(), _controllers),
        "key": st.one_of(st.none(), _keys),
        **_page,
    },
    "enqueue_workflow_run": {**_new_run, "now": _times},
    "runs.enqueue_many": {
        "items": st.lists(st.fixed_dictionaries(_new_run), max_size=3),
        "now": _times,
    },
    "get_workflow_run": {"run_id": _run_ids},
    "list_workflow_runs": {
        "status": st.sampled_from([None, "claimed", "parked", "done"]),
        **_page,
    },
    "claim_next_workflow_run": {
        **_runner,
        **_lease,
        "claim_token": _new_tokens,
        "exclude_run_ids": st.lists(_run_ids, max_size=2),
    },
    "runs.claim_many": {
        **_runner,
        **_lease,
        "limit": _limits,
        "exclude_run_ids": st.lists(_run_ids, max_size=2),
    },
    "renew_workflow_run_claim": {**_run_claim, **_lease},
    "runs.renew_many": {"claims": _pairs, **_lease},
    "verify_workflow_run_claim": {**_run_claim, "now": _times},
    "park_workflow_run": {**_run_claim, "now": _times},
    "complete_workflow_run": {**_run_claim, "now": _times},
    "runs.complete_many": {"claims": _pairs, "now": _times},
    "delete_workflow_run": _run_claim,
    "repair_canonical_workflow_source_run": {**_run_claim, **_source, **_runner, **_lease},
    "claim_legacy_workflow_source_run": {
        **_run_claim,
        **_source,
        **_runner,
        **_lease,
        "old_workflow_path": _sources,
    },
    "record_run_event": {
        "run_id": _run_ids,
        "workflow_ref": st.just("build"),
        "type": st.just("started"),
        "runner_id": st.one_of(st.none(), _runners),
        "payload": st.one_of(st.none(), _objects),
        "now": _times,
    },
    "list_run_events_after": {"seq": st.sampled_from([0, 0, 1, 3]), "limit": _limits},
    "latest_run_event_seq": {},
    "get_session_watermark": {"session_id": st.sampled_from(["s1", "s2"])},
    "set_session_watermark": {
        "session_id": st.sampled_from(["s1", "s2"]),
        "seq": st.integers(0, 4),
        "now": _times,
    },
}

_AT = {"now": _time(0)}
_RESOURCE = {"controller": "alpha", "key": "k1"}
_EFFECT = {
    "resource_uid": Made("uid", 0),
    "generation": 1,
    "kind": "send",
    "request_fingerprint": "f1",
}
_DELETED = {"controller": "beta", "key": "k1"}
_RUN = {
    "workflow_name": "build",
    "workflow_source_ref": "a.ts",
    "runner_id": "ann",
    "claim_token": "t1",
    "lease_ms": 1000,
}
FIRST: list[tuple[str, dict[str, Any]]] = [
    ("put_resource", {**_RESOURCE, "spec": 1, "initial_status": None, **_AT}),
    ("put_resource", {**_DELETED, "spec": 1, "initial_status": None, **_AT}),
    ("request_deletion", {**_DELETED, **_AT}),
    ("enqueue_workflow_run", {**_RUN, "run_id": "r1", **_AT}),
    ("enqueue_workflow_run", {**_RUN, "run_id": "r2", "parent_run_id": "r1", **_AT}),
    ("park_workflow_run", {"run_id": "r2", "claim_token": "t1", **_AT}),
    ("record_run_event", {"run_id": "r1", "workflow_ref": "build", "type": "queued", **_AT}),
    ("reserve_effect", {**_EFFECT, "key": "k1", **_AT}),
    ("reserve_effect", {**_EFFECT, "key": "done", **_AT}),
    ("update_effect", {"resource_uid": Made("uid", 0), "key": "done", "state": "applied", **_AT}),
    (
        "reserve_workflow",
        {
            "resource_uid": Made("uid", 0),
            "request_key": "k1",
            "workflow": "build",
            "input_fingerprint": "f1",
        },
    ),
]
"""What each example begins with: one row of each table whose rows the others speak of."""

NAMES = sorted(ARGUMENTS)

HOSTILE = st.sampled_from(
    [
        None,
        "",
        "\ud800",
        "a\0b",
        "line\n",
        "x" * 513,
        "x" * 1_048_577,
        b"bytes",
        True,
        0,
        -1,
        1.5,
        float("nan"),
        2**53,
        2**63,
        -(2**63) - 1,
        [],
        ["r1", 5],
        {},
        {1: 2},
        {"x": {"y": float("inf")}},
        datetime(2026, 8, 4),  # noqa: DTZ001 - naive on purpose
        "2026-08-04T09:00:00",
        "2026-08-04T11:00:00.123456+02:00",
        "9999-12-31T23:59:59.999Z",
    ]
)


CLOCK_STEPS = st.sampled_from([None] * 5 + [0, 1000, 5000, 60_000, -1000, -3_600_000])
"""Where the clock stands from now on; mostly it stays."""


# Spread out: the small numbers that Hypothesis prefers would all be the first operations.
_names = st.integers(0, 65_535).map(lambda n: NAMES[(n * 40_503 >> 4) % len(NAMES)])


@st.composite
def operations(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An operation and its arguments; now and then with one argument that is none."""
    name = draw(_names)
    arguments = draw(st.fixed_dictionaries(ARGUMENTS[name]))
    if arguments and draw(st.sampled_from(range(12))) == 7:
        spoilt = draw(st.sampled_from(sorted(arguments)))
        arguments[spoilt] = draw(HOSTILE)
    return name, {key: value for key, value in arguments.items() if value is not UNSET}
