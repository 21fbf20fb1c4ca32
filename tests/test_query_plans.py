"""The plan of every named statement: one seek, in order, at any size."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import fencepost
from fencepost.statements import statement, table

SQL = Path(fencepost.__file__).parent / "sql"
NAMES = sorted(f"{file.stem}.{name}" for file in SQL.glob("*.sql") for name in table(file.stem))
# An import works on a table that it makes for itself.
DATA = [
    name
    for name in NAMES
    if re.match(r"(SELECT|INSERT|UPDATE|DELETE)\b", statement(name))
    and not name.startswith("dump.import_")
]
# Reading all of a table is what these are for.
WHOLE_TABLES = ("dump.", "layout.", "stats.")
# Walks that a LIMIT ends, or over a table of one row a consumer, or over no table, or over
# what the caller gives.
BOUNDED = {
    "prune.events": r"SCAN (events|\(subquery-1\))",
    "connection.has_json": "SCAN CONSTANT ROW",
    "queue.next_due": "SCAN CONSTANT ROW",
    "runs.claim_many": "SCAN c VIRTUAL TABLE INDEX 1:",
    "runs.get_many": "SCAN c VIRTUAL TABLE INDEX 1:",
    "runs.insert_twenty": "SCAN 20 CONSTANT ROWS",
    "prune.feed": r"SCAN (run_events|\(subquery-1\)|session_watermarks)",
}

# The statements that find and list work, and the index that each of them walks.
INDEXES = {
    "runs.parked": "fencepost_runs_status",
    "runs.parked_affine": "fencepost_runs_affinity",
    "runs.expired": "fencepost_runs_status",
    "runs.expired_affine": "fencepost_runs_affinity",
    "runs.expired_some": "workflow_run_queue_claimable",
    "runs.list": "fencepost_runs_created",
    "runs.list_by_status": "fencepost_runs_status",
    "queue.ready": "fencepost_queue_idle",
    "queue.expired": "fencepost_queue_claimed",
    "queue.expired_some": "fencepost_queue_expiry",
    "queue.list": "queue_ready",
    "queue.list_by_controller": "queue_ready",
    "feed.after_of_run": "run_events_run",
    "feed.before_last_of_run": "run_events_run",
    "effects.list": "fencepost_effects_started",
    "requests.list": "fencepost_requests_resource",
    "events.list_by_controller": "fencepost_events_controller",
    "events.list_by_key": "fencepost_events_key",
    "events.list_by_resource": "events_resource",
}

MANY_ROWS = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
INSERT INTO workflow_run_queue
SELECT 'r' || i, 'w', '/w', 'null', CASE WHEN i % 100 THEN 'parked' ELSE 'claimed' END, 'a',
  CASE WHEN i % 100 THEN NULL ELSE 't' END, CASE WHEN i % 100 THEN NULL ELSE i END,
  'a', NULL, '2026', '2026' FROM n;
"""


@pytest.fixture(scope="module", params=["new", "full and analysed"])
def connection(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[sqlite3.Connection]:
    """A file that a store made and closed; statistics can lead the planner astray."""
    path = str(tmp_path_factory.mktemp("plans") / "store.sqlite")
    fencepost.open(path, engine="python", synchronous="off").close()
    opened = sqlite3.connect(path, isolation_level=None)
    if request.param != "new":
        opened.execute(MANY_ROWS)
        opened.execute("ANALYZE")
    yield opened
    opened.close()


def plan(connection: sqlite3.Connection, name: str) -> list[str]:
    text = statement(name)
    names = re.findall(r":(\w+)", text)
    # Without names they go by their order.
    params = dict.fromkeys(names) if names else [None] * text.count("?")
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", params)]


def test_the_statements_are_found() -> None:
    assert len(DATA) > 50
    assert {"runs.claim", "queue.claim", "resources.get", "feed.after"} <= set(DATA)
    others = set(NAMES) - set(DATA)
    assert all(name.startswith(("connection.", "dump.import_")) for name in others)


@pytest.mark.parametrize("name", DATA)
def test_nothing_is_sorted_and_nothing_is_scanned(
    connection: sqlite3.Connection, name: str
) -> None:
    steps = plan(connection, name)
    if name.startswith(WHOLE_TABLES):
        return
    for step in steps:
        assert "TEMP B-TREE" not in step, steps
        if not re.fullmatch(BOUNDED.get(name, "(?!)"), step):
            assert not step.startswith("SCAN"), steps


@pytest.mark.parametrize("name", INDEXES)
def test_work_is_found_through_its_index(connection: sqlite3.Connection, name: str) -> None:
    first = plan(connection, name)[0]
    assert re.search(rf"^SEARCH .* USING (COVERING )?INDEX {INDEXES[name]} \(", first), first


def test_dumps_are_read_in_order_without_sorting(connection: sqlite3.Connection) -> None:
    for name in DATA:
        if name.startswith("dump."):
            assert not [step for step in plan(connection, name) if "TEMP B-TREE" in step]


def test_the_triggers_of_the_fences_search(connection: sqlite3.Connection) -> None:
    """A trigger's statements are planned by themselves; their tables have the keys they use."""
    for text in (
        "UPDATE fencepost_fence SET last = last + 1",
        "DELETE FROM fencepost_run_fences WHERE run_id = 'r'",
        "DELETE FROM fencepost_queue_fences WHERE controller = 'c' AND resource_key = 'k'",
    ):
        steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")]
        one_row = "fencepost_fence" in text and "_fences" not in text
        assert all(step.startswith("SEARCH") or one_row for step in steps), steps


def test_a_claim_is_guarded_by_itself(connection: sqlite3.Connection) -> None:
    """Whoever runs the statement, and whatever was read before: a live claim stays."""
    connection.execute("BEGIN")
    connection.execute(
        "INSERT INTO workflow_run_queue VALUES ('live', 'w', '/w', 'null', 'claimed', 'a', 't', "
        "100, 'a', NULL, '2026', '2026')"
    )
    connection.execute("INSERT INTO resources VALUES ('c', 'k', 'u', 1, 1, '', '', NULL, '', '')")
    connection.execute("INSERT INTO queue VALUES ('c', 'k', 0, 1, 0, NULL, 't', 1, 100)")
    given = {
        "run_id": "live",
        "runner_id": "b",
        "claim_token": "other",
        "claim_expires_at": 200,
        "updated_at": "2026",
        "controller": "c",
        "key": "k",
        "workflow_name": "n",
        "workflow_source_ref": "/w",
        "old_workflow_path": "/w",
    }
    takers = ("runs.claim", "runs.repair_source", "runs.claim_legacy_source", "queue.claim")
    for now, changed in ((99, 0), (100, 1)):
        for name in takers:
            connection.execute("SAVEPOINT one")
            done = connection.execute(statement(name), {**given, "now": now})
            assert done.rowcount == changed, (name, now)
            connection.execute("ROLLBACK TO one")
    for name in ("runs.renew", "runs.park", "runs.complete", "runs.delete", "queue.renew"):
        assert connection.execute(statement(name), {**given, "now": 99}).rowcount == 0, name
    for name in ("queue.release", "queue.requeue", "queue.settle"):
        values = {**given, "now": 99, "available_at": 0, "error": None}
        assert connection.execute(statement(name), values).rowcount == 0, name
    connection.execute("ROLLBACK")
