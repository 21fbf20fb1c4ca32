"""Errors: one hierarchy, stable codes, the same from both engines."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import Store, errors
from fencepost.errors import FencepostError
from tests.support import SetClock, at, enqueue, outcome, park, put, sql, without_ids

TABLE: dict[str, tuple[type[FencepostError], type[Exception]]] = {
    "invalid": (errors.InvalidArgumentError, ValueError),
    "too_large": (errors.ValueTooLargeError, errors.InvalidArgumentError),
    "resource_not_found": (errors.ResourceNotFoundError, LookupError),
    "unknown_resource": (errors.UnknownResourceError, LookupError),
    "resource_conflict": (errors.ResourceConflictError, FencepostError),
    "not_ready_for_deletion": (errors.ResourceNotReadyError, FencepostError),
    "effect_conflict": (errors.EffectConflictError, FencepostError),
    "effect_not_found": (errors.EffectNotFoundError, FencepostError),
    "effect_terminal": (errors.EffectSettledError, FencepostError),
    "workflow_conflict": (errors.RequestConflictError, FencepostError),
    "workflow_request_not_found": (errors.RequestNotFoundError, FencepostError),
    "run_exists": (errors.RunExistsError, FencepostError),
    "continuation_exists": (errors.ContinuationExistsError, FencepostError),
    "busy": (errors.StoreBusyError, FencepostError),
    "full": (errors.StoreFullError, FencepostError),
    "io": (errors.StoreIOError, FencepostError),
    "corrupt": (errors.CorruptStoreError, FencepostError),
    "corrupt_row": (errors.CorruptRowError, FencepostError),
    "read_only": (errors.ReadOnlyStoreError, FencepostError),
    "closed": (errors.StoreClosedError, FencepostError),
    "unsupported_schema": (errors.UnsupportedSchemaError, FencepostError),
    "engine_unavailable": (errors.EngineUnavailableError, FencepostError),
    "engine_conflict": (errors.EngineConflictError, FencepostError),
    "forked": (errors.ForkedStoreError, FencepostError),
}


def classes() -> list[type[FencepostError]]:
    return [
        cls
        for _, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, FencepostError) and cls is not FencepostError
    ]


@pytest.mark.parametrize("code", TABLE)
def test_codes_and_classes(code: str) -> None:
    cls, also = TABLE[code]
    assert cls.code == code
    assert issubclass(cls, also)
    assert issubclass(cls, FencepostError)
    assert cls.retryable is (code == "busy")


def test_codes_are_unique_and_documented() -> None:
    codes = [cls.code for cls in classes()]
    assert len(set(codes)) == len(codes)
    assert set(codes) - set(TABLE) == {"internal", "lease_lost"}
    assert all(inspect.getdoc(cls) for cls in classes())


@pytest.mark.parametrize("cls", classes(), ids=lambda cls: cls.__name__)
def test_errors_are_pickled_with_their_fields(cls: type[FencepostError]) -> None:
    more: dict[str, Any] = {"table": "runs", "key": "r"}
    if cls is errors.CorruptRowError:
        more["column"] = "input_json"
    else:
        more["sqlite_code"] = 261
    error = cls("text", **more)
    error.add_note("a note")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own
        assert type(other) is cls
        assert str(other) == "text"
        assert vars(other) == vars(error)
        assert (other.table, other.key, other.code) == ("runs", "r", cls.code)


def fill(store: Store) -> str:
    uid = put(store).metadata.uid
    enqueue(store, "parent")
    enqueue(store, "child", parent_run_id="parent")
    store.effects.reserve(
        key="e", resource_uid=uid, generation=1, kind="x", request_fingerprint="f", now=at()
    )
    store.effects.update(resource_uid=uid, key="e", state="applied", now=at())
    store.requests.reserve(resource_uid=uid, request_key="q", workflow="w", input_fingerprint="f")
    return uid


def closed(store: Store) -> Store:
    store.close()
    return store


Situation = Callable[[Store, str], Any]
RESOURCE = {"controller": "ctl", "key": "k", "now": at()}
NOBODY = {"controller": "ctl", "key": "nobody", "now": at()}
SITUATIONS: dict[str, tuple[str, Situation]] = {
    "a missing resource": (
        "resource_not_found",
        lambda store, uid: store.resources.request_deletion(**NOBODY),
    ),
    "another version": (
        "resource_conflict",
        lambda store, uid: store.resources.update_finalizers(
            **RESOURCE, expected_resource_version=9, finalizers=[]
        ),
    ),
    "a status at another version": (
        "resource_conflict",
        lambda store, uid: store.resources.update_status(
            **RESOURCE, expected_resource_version=0, status={"observed_generation": 0}
        ),
    ),
    "not ready": (
        "not_ready_for_deletion",
        lambda store, uid: store.resources.delete(
            controller="ctl", key="k", expected_resource_version=1
        ),
    ),
    "an enqueue of nothing": (
        "resource_not_found",
        lambda store, uid: store.queue.enqueue(controller="ctl", key="nobody"),
    ),
    "an unknown uid": (
        "unknown_resource",
        lambda store, uid: store.effects.reserve(
            key="e", resource_uid="x'y", generation=1, kind="x", request_fingerprint="f"
        ),
    ),
    "a request of nobody": (
        "unknown_resource",
        lambda store, uid: store.requests.reserve(
            resource_uid="", request_key="q", workflow="w", input_fingerprint="f"
        ),
    ),
    "another effect": (
        "effect_conflict",
        lambda store, uid: store.effects.reserve(
            key="e", resource_uid=uid, generation=2, kind="x", request_fingerprint="f"
        ),
    ),
    "no effect": (
        "effect_not_found",
        lambda store, uid: store.effects.update(resource_uid=uid, key="none", state="applied"),
    ),
    "a settled effect": (
        "effect_terminal",
        lambda store, uid: store.effects.update(resource_uid=uid, key="e", state="rejected"),
    ),
    "another request": (
        "workflow_conflict",
        lambda store, uid: store.requests.reserve(
            resource_uid=uid, request_key="q", workflow="v", input_fingerprint="f"
        ),
    ),
    "no request": (
        "workflow_request_not_found",
        lambda store, uid: store.requests.update(request_id="none", state="running"),
    ),
    "a used run id": ("run_exists", lambda store, uid: enqueue(store, "parent")),
    "a second continuation": (
        "continuation_exists",
        lambda store, uid: enqueue(store, "x", parent_run_id="parent"),
    ),
    "a lease without end": (
        "invalid",
        lambda store, uid: enqueue(store, "x", lease_ms=2**53 - 1),
    ),
    "a bad name": ("invalid", lambda store, uid: put(store, controller="é")),
    "a large spec": ("too_large", lambda store, uid: put(store, spec="x" * 2**21)),
    "a closed store": ("closed", lambda store, uid: put(closed(store))),
    "a closed store, reading": (
        "closed",
        lambda store, uid: closed(store).runs.list(),
    ),
    "a corrupt row": (
        "corrupt_row",
        lambda store, uid: (
            sql(store.path, "UPDATE workflow_run_queue SET input_json = '{'"),
            store.runs.list(),
        ),
    ),
    "a batch": (
        "",
        lambda store, uid: store.runs.enqueue_many(
            items=[
                {
                    "run_id": "child",
                    "workflow_name": "w",
                    "workflow_source_ref": "s",
                    "runner_id": "a",
                    "lease_ms": 1,
                    "parent_run_id": "nobody",
                },
                {
                    "run_id": "y",
                    "workflow_name": "w",
                    "workflow_source_ref": "s",
                    "runner_id": "a",
                    "lease_ms": 1,
                    "parent_run_id": "parent",
                },
            ],
            now=at(),
        ),
    ),
    "a batch of keys": (
        "",
        lambda store, uid: store.queue.enqueue_many(items=[("ctl", "k"), ("ctl", "nobody")]),
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_both_engines_say_the_same(
    name: str, engines_here: tuple[str, ...], tmp_path: Path
) -> None:
    code, situation = SITUATIONS[name]
    said = []
    for engine in engines_here:
        path = str(tmp_path / f"{engine}.sqlite")
        with fencepost.open(path, engine=engine, synchronous="off", clock=SetClock()) as store:
            uid = fill(store)
            said.append(without_ids(outcome(lambda: situation(store, uid)), path))  # noqa: B023
    assert said == [said[0]] * len(engines_here)
    if code:
        assert said[0]["code"] == code
        assert said[0]["message"]
        assert said[0]["class"] == TABLE[code][0].__name__


BROKEN_FILES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "text": ("corrupt", lambda path: Path(path).write_text("no database at all\n" * 100)),
    "a directory": ("io", lambda path: Path(path).mkdir()),
    "foreign": ("unsupported_schema", lambda path: sql(path, "CREATE TABLE other (a)")),
    "another id": (
        "unsupported_schema",
        lambda path: sql(
            path,
            "CREATE TABLE schema_info (singleton INTEGER PRIMARY KEY CHECK (singleton = 1), "
            "schema_id TEXT NOT NULL)",
            "INSERT INTO schema_info VALUES (1, 'v2')",
        ),
    ),
}


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_both_engines_refuse_files_alike(
    name: str, engines_here: tuple[str, ...], tmp_path: Path
) -> None:
    code, make = BROKEN_FILES[name]
    said = []
    for engine in engines_here:
        path = str(tmp_path / f"{engine}.sqlite")
        make(path)
        opening = outcome(lambda: fencepost.open(path, engine=engine))  # noqa: B023
        said.append(without_ids(opening, path))
    assert said == [said[0]] * len(engines_here)
    assert said[0]["code"] == code


def test_a_missing_file_read_only(engines_here: tuple[str, ...], tmp_path: Path) -> None:
    path = str(tmp_path / "none.sqlite")
    said = [
        outcome(lambda: fencepost.open(path, engine=engine, read_only=True))  # noqa: B023
        for engine in engines_here
    ]
    assert said == [said[0]] * len(engines_here)
    assert said[0]["code"] == "io"


LOCKER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
for _ in sys.stdin:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("COMMIT")
    print("locked", flush=True)
"""


def test_refused_work_leaves_no_transaction(store: Store, path: str) -> None:
    """After each refusal another process gets the write lock at once."""
    uid = fill(store)
    with subprocess.Popen(
        [sys.executable, "-c", LOCKER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as locker:
        assert locker.stdin is not None
        assert locker.stdout is not None
        for name, (_, situation) in SITUATIONS.items():
            if "closed" not in name:
                outcome(lambda: situation(store, uid))  # noqa: B023
                locker.stdin.write("\n")
                locker.stdin.flush()
                assert locker.stdout.readline() == "locked\n", name
    park(store, "after")
