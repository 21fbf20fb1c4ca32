"""The hook of the harness: where it is called, and that nobody asks without it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fencepost.engine import probe
from fencepost.errors import EffectNotFoundError
from tests.conftest import OpenStore

RUN = {
    "workflow_name": "build",
    "workflow_source_ref": "build.ts",
    "runner_id": "runner",
    "lease_ms": 60_000,
}


@pytest.fixture
def seen() -> Iterator[list[str]]:
    points: list[str] = []
    probe.install(points.append)
    yield points
    probe.install(None)


def test_each_write_comes_to_each_point(open_store: OpenStore, seen: list[str]) -> None:
    store = open_store()
    seen.clear()
    store.runs.enqueue(run_id="one", **RUN)
    assert seen == list(probe.POINTS)
    store.runs.list()
    assert seen == list(probe.POINTS)


def test_a_transaction_that_fails_only_begins(open_store: OpenStore, seen: list[str]) -> None:
    store = open_store()
    seen.clear()
    with pytest.raises(EffectNotFoundError):
        store.effects.update(resource_uid="nobody", key="none", state="applied")
    assert seen == ["begun"]


def test_a_store_without_one_is_not_asked(open_store: OpenStore, seen: list[str]) -> None:
    probe.install(None)
    store = open_store()
    store.runs.enqueue(run_id="one", **RUN)
    assert seen == []
