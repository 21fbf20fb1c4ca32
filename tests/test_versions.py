"""What docs/versions.md says of files that other versions have touched."""

from __future__ import annotations

from tests.conftest import OpenStore
from tests.support import at, enqueue, readable, sql

LATER = (
    "CREATE TABLE fencepost_later (run_id TEXT PRIMARY KEY, note TEXT)",
    "CREATE INDEX fencepost_later_index ON workflow_run_queue (updated_at)",
    "CREATE TRIGGER fencepost_later_trigger AFTER UPDATE ON workflow_run_queue "
    "WHEN new.status = 'done' BEGIN "
    "INSERT OR REPLACE INTO fencepost_later VALUES (new.run_id, 'done'); END",
)


def test_what_a_later_version_added_is_left_alone(open_store: OpenStore, path: str) -> None:
    open_store().close()
    sql(path, *LATER)
    store = open_store()
    enqueue(store, "r", claim_token="t")
    (run,) = readable(store.runs.claim_many(runner_id="b", lease_ms=9, limit=5, now=at(1000)))
    assert run.claim_token is not None
    assert store.runs.complete(run_id="r", claim_token=run.claim_token, now=at(1000))
    store.close()
    names = sql(path, "SELECT name FROM sqlite_schema WHERE name LIKE 'fencepost_later%'")
    assert sorted(name for (name,) in names) == [
        "fencepost_later",
        "fencepost_later_index",
        "fencepost_later_trigger",
    ]
    assert sql(path, "SELECT * FROM fencepost_later") == [["r", "done"]]
    assert open_store(read_only=True).runs.get(run_id="r") is not None
