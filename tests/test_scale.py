"""A claim costs the same among a million waiting runs as among a thousand."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import Any

import pytest

import fencepost
from fencepost import Store
from tests.support import at, statements_of

SMALL, LARGE = 1_000, 1_000_000
SMALL_KEYS, LARGE_KEYS = 1_000, 100_000
ROUNDS = 3
MOST = 1.5

# Waiting runs, oldest first, whose affinity is to many runners; then waiting keys.
FILL = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {runs})
INSERT INTO workflow_run_queue
SELECT printf('r%08d', i), 'w', '/w', 'null', 'parked', NULL, NULL, NULL, 'runner' || (i % 50),
  NULL, strftime('%Y-%m-%dT%H:%M:%S.000Z', 1750000000 + i, 'unixepoch'), '2026' FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {keys})
INSERT INTO resources
SELECT 'ctl', printf('k%08d', i), 'uid' || i, 1, 1, '1',
  '{{"conditions":[],"controllerStatus":null,"observedGeneration":0}}', NULL, '[]', '2026' FROM n;
INSERT INTO queue (controller, resource_key, available_at, version, consecutive_errors)
SELECT controller, resource_key, rowid, 1, 0 FROM resources;
"""


def fill(path: Path, runs: int, keys: int) -> str:
    """A file as the other store leaves it: our indexes are made at the first opening."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA cache_size = -200000; BEGIN;"
        + ";".join(statements_of("schema"))
        + ";"
        + FILL.format(runs=runs, keys=keys)
        + "COMMIT;"
    )
    connection.close()
    fencepost.open(path, engine="python", synchronous="off").close()
    return str(path)


def nanoseconds(action: Callable[[], Any]) -> int:
    begin = perf_counter_ns()
    done = action()
    spent = perf_counter_ns() - begin
    assert done is not None
    return spent


def claim_run(store: Store) -> Any:
    return store.runs.claim_next(runner_id="nobody", lease_ms=10**9, now=at())


def claim_affine_run(store: Store) -> Any:
    return store.runs.claim_next(runner_id="runner7", lease_ms=10**9, now=at())


def claim_key(store: Store) -> Any:
    return store.queue.claim_next(controllers=["ctl"], lease_ms=10**9, now=at())


def ratio(small: Store, large: Store, action: Callable[[Store], Any], count: int) -> float:
    """How many times longer the median takes on the large file; the two take turns."""
    times: tuple[list[int], list[int]] = ([], [])
    for _ in range(count):
        for store, spent in ((small, times[0]), (large, times[1])):
            spent.append(nanoseconds(lambda store=store: action(store)))  # type: ignore[misc]
    return median(times[1]) / median(times[0])


CLAIMING: tuple[tuple[Callable[[Store], Any], int], ...] = (
    (claim_run, 60),
    (claim_affine_run, 3),
    (claim_key, 60),
)
LISTING: tuple[Callable[[Store], Any], ...] = (
    lambda store: store.runs.list(limit=20),
    lambda store: store.runs.list(status="parked", limit=20),
    lambda store: store.queue.list(limit=20),
    lambda store: store.resources.list(controller="ctl", limit=20),
)


@pytest.mark.slow
def test_work_does_not_grow_with_the_table(tmp_path: Path, engines_here: tuple[str, ...]) -> None:
    """One test for both engines: the large file is made once."""
    files = (
        fill(tmp_path / "small.sqlite", SMALL, SMALL_KEYS),
        fill(tmp_path / "large.sqlite", LARGE, LARGE_KEYS),
    )
    for engine in engines_here:
        small, large = (fencepost.open(f, engine=engine, synchronous="off") for f in files)
        with small, large:
            for action, count in CLAIMING:
                for store in (small, large):
                    action(store)
                ratios = [ratio(small, large, action, count) for _ in range(ROUNDS)]
                assert median(ratios) <= MOST, (engine, action.__name__, ratios)
            for listing in LISTING:
                ratios = [ratio(small, large, listing, 20) for _ in range(ROUNDS)]
                assert median(ratios) <= MOST, (engine, ratios)
