"""A batch of claims takes what as many single claims take, and leaves the same behind."""

from __future__ import annotations

from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import fencepost
from fencepost import Store
from tests.support import at, enqueue

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
def test_a_batch_does_what_single_claims_do(
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
