"""A batch of runs does what as many single calls do, and leaves the same behind."""

from __future__ import annotations

from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

import fencepost
from fencepost import Store
from tests.support import at, enqueue

_ODD = st.sampled_from(
    [
        {"run_id": "there"},
        {"run_id": "r0"},
        {"parent_run_id": "there"},
        {"parent_run_id": "r0"},
        {"affinity_runner_id": "bob"},
        {"lease_ms": 2**53 - 1},
    ]
)
_RUN = st.fixed_dictionaries(
    {
        "created": st.integers(0, 2),
        "runner": st.sampled_from(["bob", "alice"]),
        "state": st.sampled_from(["parked", "parked", "expired", "expired", "live", "done"]),
    }
)


@settings(
    deadline=None,
    max_examples=40,
    # It is only a name.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    runs=st.lists(_RUN, max_size=12), excluded=st.sets(st.integers(0, 11)), limit=st.integers(1, 13)
)
@pytest.mark.parametrize("others", [0, 64])
def test_a_batch_of_claims_is_many_claims(
    engine: str, others: int, runs: list[dict[str, Any]], excluded: set[int], limit: int
) -> None:
    """Also where more have expired than are looked through; the fences and the rows too."""
    claim: dict[str, Any] = {"runner_id": "bob", "lease_ms": 10, "now": at(50)}
    claim["exclude_run_ids"] = [f"r{number}" for number in excluded]
    seen = []
    with TemporaryDirectory() as folder:
        for name in ("batch", "singles"):
            with fencepost.open(f"{folder}/{name}", engine=engine, synchronous="off") as store:
                for number, run in enumerate(
                    [{"created": 1, "runner": "eve", "state": "expired"}] * others + runs
                ):
                    _make(store, f"r{number - others}", run)
                if name == "batch":
                    claimed: Any = store.runs.claim_many(**claim, limit=limit)
                else:
                    singles = (store.runs.claim_next(**claim) for _ in range(limit))
                    claimed = [run for run in singles if run is not None]
                seen.append([replace(run, claim_token=None) for run in claimed])
                assert claimed == [store.runs.get(run_id=run.run_id) for run in claimed]
                seen.append([replace(run, claim_token=None) for run in store.runs.list()])
    assert seen[:2] == seen[2:]


def _make(store: Store, run_id: str, run: dict[str, Any]) -> None:
    lease_ms = 1000 if run["state"] == "live" else 1
    made = enqueue(
        store, run_id, now=at(run["created"]), lease_ms=lease_ms, affinity_runner_id=run["runner"]
    )
    if run["state"] == "parked":
        store.runs.park(**made.claim, now=at(5))
    elif run["state"] == "done":
        store.runs.complete(**made.claim, now=at(5))


@settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    count=st.sampled_from([1, 19, 20, 21, 65]),
    odd=st.dictionaries(st.integers(0, 64), _ODD, max_size=4),
)
@example(count=20, odd={5: {"affinity_runner_id": "bob"}, 6: {"parent_run_id": "there"}})
@example(count=20, odd={3: {"run_id": "there"}})
@example(count=65, odd={25: {"run_id": "r0"}})
@example(count=45, odd={2: {"parent_run_id": "r0"}, 4: {"parent_run_id": "r0"}})
@example(count=65, odd={44: {"lease_ms": 2**53 - 1}})
def test_a_batch_of_runs_is_many_enqueues(
    engine: str, count: int, odd: dict[int, dict[str, Any]]
) -> None:
    items: list[dict[str, Any]] = [
        {
            "run_id": f"r{number}",
            "workflow_name": "w",
            "workflow_source_ref": f"/{number}.py",
            "input": {"number": number},
            "runner_id": f"alice-{number}",
            "claim_token": f"t-{number}",
            "lease_ms": 10 + number,
            **odd.get(number, {}),
        }
        for number in range(count)
    ]
    seen = []
    with TemporaryDirectory() as folder:
        for name in ("batch", "singles"):
            with fencepost.open(f"{folder}/{name}", engine=engine, synchronous="off") as store:
                enqueue(store, "there")
                if name == "batch":
                    made = store.runs.enqueue_many(items=items, now=at())
                else:
                    made = [_enqueued(store, item) for item in items]
                seen.append([run if isinstance(run, fencepost.Run) else str(run) for run in made])
                seen.append(list(store.runs.list()))
                assert [run for run in seen[-2] if not isinstance(run, str)] == seen[-1][1:]
    assert seen[:2] == seen[2:]


def _enqueued(store: Store, item: dict[str, Any]) -> fencepost.Run | fencepost.FencepostError:
    try:
        return store.runs.enqueue(**item, now=at())
    except fencepost.FencepostError as refused:
        return refused
