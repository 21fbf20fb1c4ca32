"""Files: made with the shared schema, completed where the other store made them, else refused."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import opening
from fencepost.errors import UnsupportedSchemaError
from fencepost.layout import additions, expected_columns
from tests.conftest import OpenStore
from tests.support import at, bytes_of, enqueue, park, put, readable, refused, sql, statements_of

SCHEMA = statements_of("schema")


def test_settings_of_the_connection(open_store: OpenStore, path: str) -> None:
    store = open_store()
    put(store)
    assert sql(path, "PRAGMA journal_mode") == [["wal"]]
    with refused("unknown_resource"):
        store.effects.reserve(
            key="e", resource_uid="x", generation=1, kind="k", request_fingerprint="f", now=at()
        )


def test_an_empty_file_becomes_a_store(open_store: OpenStore, path: str) -> None:
    Path(path).touch(0o600)
    enqueue(open_store())


def test_the_other_names_of_a_path(open_store: OpenStore, tmp_path: Path) -> None:
    assert open_store(Path(tmp_path / "p.sqlite")).path == str(tmp_path / "p.sqlite")
    odd = tmp_path / "a b%20?#é'\"&=;.sqlite"
    with open_store(odd) as store:
        enqueue(store)
        assert odd.exists()
        assert store.path == str(odd)
    with open_store(odd) as store:
        assert store.runs.get(run_id="r")


def test_a_relative_path_is_made_absolute(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("here.sqlite")
    assert store.path == str(tmp_path / "here.sqlite")
    monkeypatch.chdir("/")
    enqueue(store)


def test_the_schema_is_the_shared_one(open_store: OpenStore, path: str) -> None:
    open_store().close()
    found: dict[str, list[str]] = {}
    for table, column, kind, not_null, place in sql(
        path,
        'SELECT t.name, c.name, c.type, c."notnull", c.pk FROM sqlite_schema AS t, '
        "pragma_table_info(t.name) AS c WHERE t.type = 'table' AND t.name NOT LIKE 'fencepost%' "
        "AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, c.cid",
    ):
        found.setdefault(table, []).append(f"{column} {kind} {not_null} {place}")
    assert set(found) == set(expected_columns())
    assert found["session_watermarks"] == [
        "session_id TEXT 0 1",
        "last_event_seq INTEGER 1 0",
        "updated_at TEXT 1 0",
    ]
    names = {row[0] for row in sql(path, "SELECT name FROM sqlite_schema WHERE type = 'index'")}
    assert {
        "queue_ready",
        "workflow_run_queue_claimable",
        "workflow_run_queue_parent",
        "run_events_run",
        "events_resource",
    } <= names
    assert sql(path, "SELECT * FROM schema_info") == [[1, "pi-workflows.controller-store.v1"]]


def test_what_is_added_bears_our_prefix(open_store: OpenStore, path: str) -> None:
    open_store().close()
    shared = "CREATE (?:TABLE|(?:UNIQUE )?INDEX) IF NOT EXISTS (\\w+)"
    ours = set(re.findall(shared, " ".join(SCHEMA)))
    rows = sql(path, "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'")
    added = {row[0] for row in rows} - ours
    assert added == additions()
    assert all(name.startswith("fencepost_") for name in added)


def test_opening_again_changes_nothing(open_store: OpenStore, path: str) -> None:
    with open_store() as store:
        enqueue(store)
    before = bytes_of(path)
    open_store().close()
    assert bytes_of(path) == before


def other_stores_file(path: str, *more: str) -> None:
    """A file as the other store makes it: the shared tables alone."""
    sql(path, "PRAGMA journal_mode = WAL", *SCHEMA, *more)


RUN_ROW = (
    "INSERT INTO workflow_run_queue VALUES ('{0}', 'w', '/w', 'null', '{1}', {2}, {3}, {4}, 'x', "
    f"NULL, '{at()}', '{at()}')"
)
RESOURCE_ROW = (
    "INSERT INTO resources VALUES ('ctl', 'k', 'uid-1', 3, 2, '{}', "
    '\'{"observedGeneration":1,"conditions":[],"controllerStatus":null}\', '
    f"NULL, '[]', '{at()}')"
)


def test_a_file_of_the_other_store_is_completed(open_store: OpenStore, path: str) -> None:
    other_stores_file(
        path,
        RUN_ROW.format("live", "claimed", "'n'", "'token'", 10**15),
        RUN_ROW.format("expired", "claimed", "'n'", "'old'", 5),
        RUN_ROW.format("parked", "parked", "NULL", "NULL", "NULL"),
        RESOURCE_ROW,
        "INSERT INTO queue VALUES ('ctl', 'k', 5, 4, 0, NULL, 'key-token', 4, 6)",
    )
    store = open_store()
    live, expired = (store.runs.get(run_id=run_id) for run_id in ("live", "expired"))
    assert live is not None
    assert expired is not None
    assert live.fence is not None
    assert expired.fence is not None
    assert live.fence != expired.fence
    assert store.runs.renew(run_id="live", claim_token="token", lease_ms=10, now=at())
    taken = readable(store.runs.claim_many(runner_id="b", lease_ms=5, limit=9, now=at()))
    assert [run.run_id for run in taken] == ["expired", "parked"]
    fences = [live.fence, expired.fence, *(run.fence for run in taken)]
    assert len(set(fences)) == 4
    assert taken[0].fence is not None
    assert taken[0].fence > max(live.fence, expired.fence)
    claim = store.queue.claim_next(controllers=["ctl"], lease_ms=5, now=at())
    assert claim is not None
    assert claim.fence is not None
    assert claim.queue_version == 4
    assert claim.fence > max(fence or 0 for fence in fences)
    assert additions() <= {row[0] for row in sql(path, "SELECT name FROM sqlite_schema")}


def test_a_queue_claim_of_the_other_store_gets_a_fence(open_store: OpenStore, path: str) -> None:
    other_stores_file(
        path, RESOURCE_ROW, "INSERT INTO queue VALUES ('ctl', 'k', 5, 4, 0, NULL, 't', 4, 6)"
    )
    open_store().close()
    assert sql(path, "SELECT * FROM fencepost_queue_fences") == [["ctl", "k", 1]]
    assert sql(path, "SELECT last FROM fencepost_fence") == [[1]]


def test_a_file_whose_additions_are_incomplete_is_completed(
    open_store: OpenStore, path: str
) -> None:
    with open_store() as store:
        first = enqueue(store).fence
    sql(
        path,
        "DROP TRIGGER fencepost_run_claim",
        "DROP INDEX fencepost_runs_status",
        "DROP TABLE fencepost_run_fences",
    )
    store = open_store()
    assert store.runs.get(run_id="r")
    again = store.runs.claim_next(runner_id="b", lease_ms=5, now=at(10**6))
    assert again is not None
    assert first is not None
    assert again.fence is not None
    assert again.fence > first


Make = Callable[[str], Any]
ID = "pi-workflows.controller-store.v1"


def changed_schema(*more: str) -> Make:
    return lambda path: sql(path, *SCHEMA, *more)


def replaced(old: str, new: str) -> Make:
    """The schema with one text replaced, as another version would have it."""
    statements = [statement.replace(old, new) for statement in SCHEMA]
    assert statements != SCHEMA
    return lambda path: sql(path, *statements)


def cut_database(path: str) -> None:
    sql(path, *SCHEMA)
    os.truncate(path, 5000)


REFUSED: dict[str, tuple[str, Make, str]] = {
    "foreign": (
        "unsupported_schema",
        lambda path: sql(path, "CREATE TABLE albums (a)", "INSERT INTO albums VALUES (1)"),
        "albums",
    ),
    "foreign in wal": (
        "unsupported_schema",
        lambda path: sql(path, "PRAGMA journal_mode = WAL", "CREATE TABLE albums (a)"),
        "albums",
    ),
    "a foreign view": (
        "unsupported_schema",
        lambda path: sql(path, "CREATE VIEW v AS SELECT 1"),
        "v",
    ),
    "a view with our name": (
        "unsupported_schema",
        lambda path: sql(path, "CREATE VIEW resources AS SELECT 1"),
        "resources",
    ),
    "a foreign schema_info": (
        "unsupported_schema",
        lambda path: sql(path, "CREATE TABLE schema_info (version INTEGER)"),
        "version",
    ),
    "a foreign schema_info beside others": (
        "unsupported_schema",
        lambda path: sql(
            path, "CREATE TABLE schema_info (version INTEGER)", "CREATE TABLE other (a)"
        ),
        "version",
    ),
    "our prefix without our tables": (
        "unsupported_schema",
        lambda path: sql(path, "CREATE TABLE fencepost_fence (a)"),
        "fencepost_fence",
    ),
    "another schema id": (
        "unsupported_schema",
        changed_schema("UPDATE schema_info SET schema_id = 'pi-workflows.controller-store.v2'"),
        "controller-store.v2",
    ),
    "no schema id": (
        "unsupported_schema",
        changed_schema("DELETE FROM schema_info"),
        "None",
    ),
    "an extra column": (
        "unsupported_schema",
        changed_schema("ALTER TABLE workflow_run_queue ADD COLUMN workflow_source TEXT"),
        "workflow_source",
    ),
    "a missing column": (
        "unsupported_schema",
        changed_schema("ALTER TABLE workflow_run_queue DROP COLUMN affinity_runner_id"),
        "affinity_runner_id",
    ),
    "a renamed column": (
        "unsupported_schema",
        changed_schema(
            "ALTER TABLE workflow_run_queue RENAME COLUMN workflow_path TO workflow_source_ref"
        ),
        "workflow_source_ref",
    ),
    "another type": (
        "unsupported_schema",
        replaced("available_at INTEGER", "available_at TEXT"),
        "available_at",
    ),
    "a column that may be null": (
        "unsupported_schema",
        replaced("spec_json TEXT NOT NULL", "spec_json TEXT"),
        "spec_json",
    ),
    "another key": (
        "unsupported_schema",
        replaced("PRIMARY KEY (resource_uid, effect_key)", "PRIMARY KEY (effect_key)"),
        "effects",
    ),
    "a missing table": (
        "unsupported_schema",
        changed_schema("DROP TABLE session_watermarks"),
        "session_watermarks",
    ),
    "text": ("corrupt", lambda path: Path(path).write_text("Dear diary,\n" * 500), "SQLite"),
    "short text": ("corrupt", lambda path: Path(path).write_text("Dear diary"), "SQLite"),
    "a cut database": ("corrupt", cut_database, ""),
}


@pytest.mark.parametrize("read_only", [False, True], ids=["writing", "read-only"])
@pytest.mark.parametrize("name", REFUSED)
def test_other_files_are_refused_and_left_alone(
    name: str, read_only: bool, open_store: OpenStore, path: str
) -> None:
    code, make, named = REFUSED[name]
    make(path)
    before, folder = bytes_of(path), sorted(os.listdir(os.path.dirname(path)))
    with refused(code) as caught:
        open_store(read_only=read_only)
    assert path in str(caught[0])
    assert named in str(caught[0])
    assert bytes_of(path) == before
    assert sorted(os.listdir(os.path.dirname(path))) == folder


class Overtaken:
    """An engine, and another program that acts between the look at a file and its set-up."""

    def __init__(self, engine: Any, act: Callable[[], Any]) -> None:
        self._engine, self._act = engine, act

    def use_wal(self) -> None:
        self._engine.use_wal()
        act, self._act = self._act, lambda: None
        act()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


OVERTAKING: dict[str, tuple[list[str], Callable[[str], Any]]] = {
    "a newer layout in a new file": ([], changed_schema("ALTER TABLE queue ADD COLUMN later")),
    "a column more": (SCHEMA, lambda path: sql(path, "ALTER TABLE queue ADD COLUMN later")),
    "another program's table": ([], lambda path: sql(path, "CREATE TABLE albums (a)")),
    "another id": (
        SCHEMA[:1],
        lambda path: sql(path, "INSERT INTO schema_info VALUES (1, 'controller-store.v2')"),
    ),
}


@pytest.mark.parametrize("name", OVERTAKING)
def test_a_layout_that_comes_meanwhile_gets_no_additions(
    name: str, open_store: OpenStore, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, act = OVERTAKING[name]
    if before:
        sql(path, *before)
    connect = opening.connect
    monkeypatch.setattr(
        opening, "connect", lambda *given: Overtaken(connect(*given), lambda: act(path))
    )
    with refused("unsupported_schema"):
        open_store()
    found = sql(path, "SELECT name FROM sqlite_schema WHERE name LIKE 'fencepost%'")
    assert found == []


def test_two_that_make_a_file_at_once(
    open_store: OpenStore, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other store finishes first: what it made is completed, not made again."""
    connect = opening.connect
    monkeypatch.setattr(
        opening,
        "connect",
        lambda *given: Overtaken(connect(*given), lambda: sql(path, *SCHEMA)),
    )
    enqueue(open_store())


def test_what_differs_is_named(open_store: OpenStore, path: str) -> None:
    changed_schema(
        "ALTER TABLE workflow_run_queue RENAME COLUMN workflow_path TO source",
        "ALTER TABLE workflow_run_queue ADD COLUMN priority INTEGER",
    )(path)
    with pytest.raises(UnsupportedSchemaError) as caught:
        open_store()
    assert caught.value.table == "workflow_run_queue"
    assert (
        "the table workflow_run_queue has another layout: the column workflow_path is missing; "
        "it has a column source; it has a column priority"
    ) in str(caught.value)


def test_a_refused_file_is_free_again(engines_here: tuple[str, ...], path: str) -> None:
    """The refusal closes its connection: the other engine may open the file at once."""
    sql(path, "CREATE TABLE albums (a)")
    for engine in (*engines_here, *engines_here):
        with refused("unsupported_schema"):
            fencepost.open(path, engine=engine)


def test_an_indifferent_extra_is_accepted(open_store: OpenStore, path: str) -> None:
    """Other tables and indexes beside ours are nobody's harm."""
    changed_schema("CREATE TABLE notes (a)", "CREATE INDEX mine ON resources (updated_at)")(path)
    store = open_store()
    park(store)
    assert sql(path, "SELECT * FROM notes") == []
