"""Records: frozen values with a plain form, and status members of later versions."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from typing import Any

import pytest

import fencepost
from fencepost import (
    Condition,
    Effect,
    Event,
    QueueClaim,
    QueueItem,
    Request,
    Reservation,
    Resource,
    ResourceMetadata,
    ResourceStatus,
    Run,
    RunEvent,
    Store,
    WorkflowRunStatus,
)
from fencepost.errors import InvalidArgumentError
from fencepost.store import engine_of
from tests.support import at, enqueue, put, sql, unchanged

CONDITION = Condition("Ready", True, "Done", 3, at(), "text")
BARE_CONDITION = Condition("Ready", "unknown", "Why", 0, at(), extra={"severity": {"a": 1}})
WORKFLOW = WorkflowRunStatus("q", "running", 2, "r", extra={"later": [1]})
BARE_WORKFLOW = WorkflowRunStatus("q", "pending", 0)
STATUS = ResourceStatus(3, (CONDITION, BARE_CONDITION), {"c": None}, WORKFLOW, extra={"x": 1})
METADATA = ResourceMetadata("u", "ctl", "k", 2, 1, ("a", "b"), at())
EFFECT = Effect("e", "u", 1, "call", "applied", "f", at(), at(1), "ref", "err")
REQUEST = Request("q", "u", "key", "f", "w", "running", 1, "r", "err")

RECORDS: list[Any] = [
    CONDITION,
    BARE_CONDITION,
    WORKFLOW,
    BARE_WORKFLOW,
    STATUS,
    ResourceStatus(0),
    METADATA,
    dataclasses.replace(METADATA, finalizers=(), deletion_timestamp=None),
    Resource(METADATA, {"s": [1]}, STATUS),
    EFFECT,
    Effect("e", "u", 1, "call", "pending", "f", at()),
    REQUEST,
    Request("q", "u", "key", "f", "w", "pending", 0),
    Reservation(EFFECT, True),
    Reservation(REQUEST, False),
    Event(1, at(), "ctl", "k", "t", {"a": 1}),
    QueueClaim("ctl", "k", "t", 1, 0, at(), 7),
    QueueClaim("ctl", "k", "t", 1, 0, at()),
    QueueItem("ctl", "k", at(), 0, at(1)),
    QueueItem("ctl", "k", at(), 0),
    Run("r", "w", "s", [1], "claimed", "a", "t", at(1), "a", "p", at(), at(), 5),
    Run("r", "w", "s", None, "done", None, None, None, None, None, at(), at()),
    RunEvent(1, at(), "r", "w", "t", None, {}),
]


@pytest.fixture(params=RECORDS, ids=lambda record: type(record).__name__)
def record(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_there_and_back(record: Any) -> None:
    there = record.to_dict()
    assert type(record).from_dict(there) == record
    assert type(record).from_dict(json.loads(json.dumps(there))) == record


def test_records_are_frozen(record: Any) -> None:
    for field in dataclasses.fields(record):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, field.name, None)
    with pytest.raises((AttributeError, TypeError)):
        record.other = 1
    assert not hasattr(record, "__dict__")


def test_records_are_copied_and_pickled(record: Any) -> None:
    assert copy.copy(record) == record
    assert copy.deepcopy(record) == record
    assert pickle.loads(pickle.dumps(record)) == record  # noqa: S301 - our own bytes


def test_other_members_are_refused_or_kept(record: Any) -> None:
    given = {**record.to_dict(), "unheard_of": 1}
    if hasattr(record, "extra"):
        kept = type(record).from_dict(given)
        assert kept.extra["unheard_of"] == 1
        assert kept.to_dict() == given
    else:
        with pytest.raises(InvalidArgumentError, match="unheard_of"):
            type(record).from_dict(given)


def test_missing_members_are_named(record: Any) -> None:
    for field in dataclasses.fields(record):
        no_default = field.default is dataclasses.MISSING
        if no_default and field.default_factory is dataclasses.MISSING:
            given = {k: v for k, v in record.to_dict().items() if k != field.name}
            with pytest.raises(InvalidArgumentError, match=field.name):
                type(record).from_dict(given)


@pytest.mark.parametrize("given", [None, 5, "text", [], b"", object()])
def test_only_dicts_are_read(record: Any, given: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        type(record).from_dict(given)


def test_absent_members_are_absent() -> None:
    assert ResourceStatus(0).to_dict() == {
        "observed_generation": 0,
        "conditions": [],
        "controller_status": None,
    }
    assert "message" not in BARE_CONDITION.to_dict()
    assert "run_id" not in BARE_WORKFLOW.to_dict()
    assert RECORDS[-2].to_dict()["runner_id"] is None


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"observed_generation": -1},
        {"observed_generation": True},
        {"observed_generation": 1.0},
        {"observed_generation": 2**53},
        {"observed_generation": 0, "conditions": None},
        {"observed_generation": 0, "conditions": "text"},
        {"observed_generation": 0, "conditions": [5]},
        {"observed_generation": 0, "conditions": [{}]},
        {"observed_generation": 0, "conditions": [{**CONDITION.to_dict(), "status": "true"}]},
        {"observed_generation": 0, "conditions": [{**CONDITION.to_dict(), "status": 1}]},
        {"observed_generation": 0, "conditions": [{**CONDITION.to_dict(), "reason": None}]},
        {"observed_generation": 0, "conditions": [{**CONDITION.to_dict(), "message": 5}]},
        {"observed_generation": 0, "workflow_run": "r"},
        {"observed_generation": 0, "workflow_run": {"request_id": "q"}},
        {"observed_generation": 0, "workflow_run": {**WORKFLOW.to_dict(), "attempt": -1}},
        {"observed_generation": 0, "observedGeneration": 1},
        {"observed_generation": 0, "workflowRun": None},
        {"observed_generation": 0, "extra": {}},
    ],
    ids=str,
)
def test_wrong_statuses_are_refused(store: Store, status: Any) -> None:
    put(store)
    with unchanged(store), pytest.raises(InvalidArgumentError):
        store.resources.update_status(
            controller="ctl", key="k", expected_resource_version=1, status=status, now=at()
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda: ResourceStatus(0, extra={"workflowRun": 5}),
        lambda: ResourceStatus(0, extra=5),  # type: ignore[arg-type]
        lambda: ResourceStatus(0, (5,)),  # type: ignore[arg-type]
        lambda: ResourceStatus(0, "ab"),  # type: ignore[arg-type]
        lambda: ResourceStatus(0, workflow_run={}),  # type: ignore[arg-type]
        lambda: Condition("t", True, "r", 0, at(), extra={"lastTransitionTime": 1}),
        lambda: WorkflowRunStatus("q", "s", 0, extra={"runId": 1}),
    ],
)
def test_what_could_not_be_read_again_is_not_made(make: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        make()


def test_a_status_is_stored_in_camel_case(store: Store) -> None:
    put(store)
    store.resources.update_status(
        controller="ctl", key="k", expected_resource_version=1, status=STATUS, now=at()
    )
    (row,) = engine_of(store).read("dump.resources", {})
    assert json.loads(row[6]) == {
        "observedGeneration": 3,
        "conditions": [
            {
                "type": "Ready",
                "status": True,
                "reason": "Done",
                "message": "text",
                "observedGeneration": 3,
                "lastTransitionTime": at(),
            },
            {
                "type": "Ready",
                "status": "unknown",
                "reason": "Why",
                "observedGeneration": 0,
                "lastTransitionTime": at(),
                "severity": {"a": 1},
            },
        ],
        "controllerStatus": {"c": None},
        "workflowRun": {
            "requestId": "q",
            "runId": "r",
            "state": "running",
            "attempt": 2,
            "later": [1],
        },
        "x": 1,
    }


def test_members_of_a_later_version_survive(store: Store, path: str) -> None:
    """A later version wrote the status; we read it, change one member and write it."""
    put(store)
    later = {
        "observedGeneration": 1,
        "phase": "Going",
        "conditions": [
            {
                "type": "Ready",
                "status": False,
                "reason": "\ud800",
                "observedGeneration": 1,
                "lastTransitionTime": at(),
                "severity": 3,
            }
        ],
        "controllerStatus": 1,
        "workflowRun": {"requestId": "q", "state": "new", "attempt": 1, "host": {"n": [1.5]}},
        "__proto__": {"p": 1},
    }
    sql(path, ("UPDATE resources SET status_json = ?", [json.dumps(later)]))
    seen = store.resources.get(controller="ctl", key="k")
    assert seen is not None
    for status in (
        dataclasses.replace(seen.status, controller_status=2),
        {**seen.status.to_dict(), "controller_status": 3},
    ):
        current = store.resources.get(controller="ctl", key="k")
        assert current is not None
        store.resources.update_status(
            controller="ctl",
            key="k",
            expected_resource_version=current.metadata.resource_version,
            status=status,
            now=at(),
        )
        (row,) = engine_of(store).read("dump.resources", {})
        written = json.loads(row[6])
        assert written.pop("controllerStatus") in (2, 3)
        assert written == {k: v for k, v in later.items() if k != "controllerStatus"}


def test_deep_tuples_of_the_caller_are_no_recursion(store: Store) -> None:
    deep: Any = ()
    for _ in range(400):
        deep = (deep,)
    put(store)
    done = store.resources.update_status(
        controller="ctl",
        key="k",
        expected_resource_version=1,
        status=ResourceStatus(0, controller_status=deep),
        now=at(),
    )
    assert done.to_dict()["status"]["controller_status"] == done.status.controller_status


def test_what_the_store_gives_goes_there_and_back(store: Store) -> None:
    resource = put(store)
    run = enqueue(store, input={"a": [1]})
    claim = store.queue.claim_next(controllers=["ctl"], lease_ms=5, now=at())
    items: list[Any] = [resource, run, claim, *store.queue.list(), *store.runs.list()]
    items.append(
        store.effects.reserve(
            key="e",
            resource_uid=resource.metadata.uid,
            generation=1,
            kind="x",
            request_fingerprint="f",
            now=at(),
        )
    )
    for item in items:
        assert type(item).from_dict(json.loads(json.dumps(item.to_dict()))) == item


def test_members_have_the_documented_names() -> None:
    names = {
        record: [field.name for field in dataclasses.fields(record)]
        for record in (fencepost.Run, fencepost.QueueClaim)
    }
    assert names[Run][-1] == "fence"
    assert names[QueueClaim] == [
        "controller",
        "key",
        "token",
        "queue_version",
        "consecutive_errors",
        "expires_at",
        "fence",
    ]
