"""The harness as a library: code of one's own under faults, and the pytest fixture."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import code_under_test as code
import pytest
from deciding import until_decided

from fencepost_stress.check import check
from fencepost_stress.custom import CodeError, code_of
from fencepost_stress.history import NOT_OPENED
from fencepost_stress.library import Result, Worker, run_code
from fencepost_stress.recorded import NotRecordedError, RecordedStore
from fencepost_stress.session import Answer

GIVEN: dict[str, Any] = {"engine": "python", "processes": 3, "seed": 4}


def stressed(function: Callable[[Worker], None], folder: Path, **options: Any) -> Result:
    return until_decided(
        lambda seconds, name: run_code(
            function, folder / name, **{**GIVEN, **options}, seconds=seconds
        ),
        lambda result: result.verdict.verdict == "unknown",
        2.5,
    )


def verdict_of(result: Result, key: str) -> str:
    return next(one.verdict for one in result.verdict.properties if one.id == key)


def test_code_that_keeps_its_promises(tmp_path: Path) -> None:
    result = stressed(code.work, tmp_path)
    assert result.valid, result.explain()
    assert result.verdict.counts["calls"] > 100
    assert verdict_of(result, "F1") == "valid"
    assert verdict_of(result, "S1") == "valid"
    # What the code does not do is not held against it.
    assert verdict_of(result, "E1") == "not claimed"
    assert result.report.exists()
    assert verdict_of(result, "L1") == "valid"
    told_busy_at_once(result.report.parent)
    again = check(result.report.parent)
    (reason,) = (one.reason for one in again.properties if one.verdict == "invalid")
    assert "opening the store, was told busy after 1 ms" in reason


def told_busy_at_once(run: Path) -> None:
    """Plant the note of a worker that the store refused, as it does not wait for the lock."""
    history = next((run / "history").glob("worker-*.jsonl"))
    facts = {"code": "busy", "said": "database is locked", "since": 1_000_000}
    with history.open("a") as file:
        file.write(json.dumps(["n", 2_000_000, NOT_OPENED, facts]) + "\n")


def test_code_of_the_reconcile_queue(tmp_path: Path) -> None:
    result = stressed(code.reconcile, tmp_path, faults=("kill",))
    assert result.valid, result.explain()
    assert verdict_of(result, "Q1") == "valid"


def test_what_the_code_itself_objects_to(tmp_path: Path) -> None:
    result = stressed(code.objects, tmp_path, faults=())
    assert not result.valid
    assert "times: this does not hold" in result.explain()


@pytest.mark.parametrize(
    "function, why",
    [(code.dies, "KeyError: 'a defect'"), (code.leaves_work, "work was left 2 s after")],
)
def test_code_that_fails_is_no_pass(
    function: Callable[[Worker], None], why: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    result = run_code(function, out, **GIVEN, faults=(), seconds=1.0, heal_seconds=2)
    assert not result.valid
    assert why in result.explain()


def test_only_functions_that_another_process_can_find() -> None:
    def local(_worker: Worker) -> None:
        """Nobody else can find it."""

    with pytest.raises(CodeError):
        code_of(local)
    with pytest.raises(CodeError):
        code_of(lambda _worker: None)
    assert code_of(code.work).name == "work"


def test_an_unknown_fault_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="meteor"):
        stressed(code.work, tmp_path, faults=("meteor",))


class Calls:
    """A session that makes no calls, and remembers them."""

    def __init__(self) -> None:
        self.made: list[tuple[str, dict[str, Any]]] = []

    def call(self, name: str, **args: Any) -> Answer:
        self.made.append((name, args))
        return Answer(True)


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
def store(calls: Calls) -> RecordedStore:
    serial = iter(range(100))
    return RecordedStore(calls, lambda kind: f"{kind}-{next(serial)}")  # type: ignore[arg-type]


def test_each_call_is_told_apart(store: RecordedStore, calls: Calls) -> None:
    store.runs.claim_next(runner_id="r", lease_ms=5)
    store.runs.claim_next(runner_id="r", lease_ms=5, claim_token="mine")
    for _ in range(2):
        store.runs.renew(run_id="r", claim_token="mine", lease_ms=5)
    store.runs.renew_many(claims=[("r", "mine"), ("s", "other")], lease_ms=5)
    spec = {"size": 1}
    store.resources.put(controller="c", key="k", spec=spec, initial_status={})
    store.events.record(controller="c", key="k", type="t")
    assert [args.get("claim_token") for _, args in calls.made[:2]] == ["token-0", "mine"]
    assert [args["lease_ms"] for _, args in calls.made[2:5]] == [6, 7, 8]
    assert calls.made[5][1]["spec"] == {"size": 1, "token": "mark-1"}
    assert spec == {"size": 1}
    assert calls.made[6][1]["payload"] == {"token": "mark-2"}


@pytest.mark.parametrize(
    "facet, method, args",
    [
        ("effects", "update", {"resource_uid": "u", "key": "k", "state": "done"}),
        ("requests", "update", {"request_id": "q", "state": "done"}),
        ("feed", "record", {"payload": [1]}),
        ("queue", "enqueue_many", {"items": [("c", "k"), ("c", "l")]}),
        ("runs", "park", {"run_id": "r", "claim_token": "t", "now": "2026-01-01T00:00:00Z"}),
    ],
)
def test_what_cannot_be_told_apart_is_refused(
    store: RecordedStore, facet: str, method: str, args: dict[str, Any]
) -> None:
    with pytest.raises(NotRecordedError):
        getattr(getattr(store, facet), method)(**args)


def test_what_takes_no_part_is_not_there(store: RecordedStore) -> None:
    with pytest.raises(AttributeError):
        store.close()  # type: ignore[operator]
    with pytest.raises(AttributeError):
        store.runs.vanish()


_TESTS = """
from code_under_test import objects, work


def test_good(stress_scenario):
    assert stress_scenario(work, engine="python", processes=2, seconds=1.5, faults=()).valid


def test_bad(stress_scenario):
    stress_scenario(objects, engine="python", processes=2, seconds=1.5, faults=())
"""


def test_the_fixture_in_somebodys_test_suite(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(_TESTS)
    (tmp_path / "code_under_test.py").write_text(Path(code.__file__).read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "times: this does not hold" in done.stdout
    assert "again: pytest 'test_mine.py::test_bad' --stress-seed" in done.stdout
