"""Stores that are healthy or not, and what is wrong inside."""

from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import fencepost
from fencepost.cli import doctor
from fencepost.sqlite_versions import can_lose_commits
from tests.cli.support import Cli, codes, findings
from tests.processes.remote import Child
from tests.support import sql

ROOT = Path(__file__).parents[2]
TOKEN = "UPDATE workflow_run_queue SET"


def test_a_healthy_store(cli: Cli, filled: str) -> None:
    done = cli("doctor", filled, "--json")
    assert (done.code, done.json()["healthy"]) == (0, True)
    assert cli("doctor", filled).out.endswith("nothing is wrong\n")
    faulty = cli.engine == "python" and can_lose_commits(sqlite3.sqlite_version)
    assert ("sqlite_version" in findings(done)) == faulty


ROWS = {
    "foreign_keys": "INSERT INTO queue VALUES ('ctl', 'gone', 0, 1, 0, NULL, NULL, NULL, NULL)",
    "stuck_runs": f"{TOKEN} claim_expires_at = NULL WHERE run_id = 'r0'",
    "stuck_keys": "UPDATE queue SET claim_expires_at = NULL",
    "expired_claims": f"{TOKEN} claim_expires_at = unixepoch() * 1000 - 5 WHERE run_id = 'r0'",
    "idle_runs": f"{TOKEN} updated_at = '2026-01-01T00:00:00.000Z' WHERE run_id = 'r2'",
    "failing_keys": "UPDATE queue SET consecutive_errors = 12 WHERE resource_key = 'b'",
    "clock_ahead": "UPDATE run_events SET recorded_at = '2999-01-01T00:00:00.000Z' WHERE seq = 4",
    "clock_back": "UPDATE run_events SET recorded_at = '2026-01-01T00:00:00.000Z' WHERE seq = 3",
    "far_leases": f"{TOKEN} claim_expires_at = 32503680000000 WHERE run_id = 'r0'",
    "corrupt_rows": "UPDATE resources SET spec_json = '{' WHERE resource_key = 'a'",
    "incomplete": "DROP TRIGGER fencepost_run_claim",
    "incomplete, an index": "DROP INDEX fencepost_runs_status",
    "incomplete, a shared index": "DROP INDEX queue_ready",
    "foreign_keys, a child of nobody": "DELETE FROM resources WHERE resource_key = 'b'",
    "clock_ahead, a clock that jumped": (
        "UPDATE run_events SET recorded_at = '2990-01-01T00:00:00.000Z' WHERE seq > 1"
    ),
    "newer": "ALTER TABLE workflow_run_queue ADD COLUMN priority INTEGER",
    "other_layout": "ALTER TABLE effects DROP COLUMN external_ref",
    "unfinished_import": "CREATE TABLE fencepost_import (line INTEGER)",
    "journal": "PRAGMA journal_mode = delete",
}


@pytest.mark.parametrize("name", ROWS)
def test_what_is_wrong_inside(cli: Cli, filled: str, name: str) -> None:
    sql(filled, "PRAGMA foreign_keys = OFF", ROWS[name])
    code = name.partition(",")[0]
    done = cli("doctor", filled, "--json")
    assert done.code == 1
    assert codes(done) == {code}
    assert findings(done)[code]["details"] or code == "journal"


def test_opening_adds_what_is_missing(cli: Cli, filled: str) -> None:
    """As the advice says; also an index of the shared tables, without which lists fail."""
    sql(filled, "DROP INDEX queue_ready", "DROP INDEX fencepost_runs_status")
    assert cli("queue").code == 1
    fencepost.open(filled, engine=cli.engine).close()
    assert cli("queue").code == 0
    assert cli("doctor", filled).code == 0


def test_a_file_that_another_program_keeps_locked(
    cli: Cli, start: Callable[..., Child], filled: str
) -> None:
    child = start()
    child.sql(
        Path(filled),
        "PRAGMA locking_mode = EXCLUSIVE",
        "BEGIN IMMEDIATE",
        "UPDATE run_events SET type = 'x'",
    )
    done = cli("doctor", filled, "--json")
    assert (done.code, codes(done)) == (1, {"busy"})
    assert child.finish() == 0


def test_every_difference_is_named(cli: Cli, filled: str) -> None:
    sql(
        filled,
        "ALTER TABLE workflow_run_queue ADD COLUMN priority INTEGER",
        "ALTER TABLE effects DROP COLUMN external_ref",
    )
    found = findings(cli("doctor", filled, "--json"))["newer"]
    assert found["details"]["differences"] == [
        "workflow_run_queue: it has a column priority",
        "effects: the column external_ref is missing",
    ]


def test_several_things_at_once(cli: Cli, filled: str) -> None:
    sql(filled, ROWS["stuck_runs"], ROWS["clock_ahead"], ROWS["corrupt_rows"])
    done = cli("doctor", filled)
    assert done.code == 1
    assert done.out.splitlines()[-1].startswith("2 errors, 1 warning")
    assert "corrupt_rows" not in cli("doctor", filled, "--quick").out


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's /proc")
def test_who_has_it_open(cli: Cli, start: Callable[..., Child], engine: str, filled: str) -> None:
    child = start().open(Path(filled), engine)
    child.call("feed.record", run_id="r0", workflow_ref="w", type="t")
    done = cli("doctor", filled, "--json")
    assert done.code == 0
    processes = findings(done)["open"]["details"]["processes"]
    assert [process["pid"] for process in processes] == [child.pid]
    assert engine in processes[0]["engines"]
    assert child.call("feed.record", run_id="r0", workflow_ref="w", type="t") == 6
    assert child.finish() == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's /proc")
def test_both_engines_at_work(
    cli: Cli, start: Callable[..., Child], both_engines: tuple[str, ...], filled: str
) -> None:
    children = [start().open(Path(filled), name) for name in both_engines]
    done = cli("doctor", filled, "--json")
    assert (done.code, codes(done)) == (0, set())
    assert findings(done)["both_engines"]["details"] == {"engines": sorted(both_engines)}
    assert [child.finish() for child in children] == [0, 0]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs Linux's /proc")
def test_who_keeps_the_log(cli: Cli, start: Callable[..., Child], filled: str) -> None:
    reader, writer = start(), start()
    reader.sql(Path(filled), "BEGIN", "SELECT count(*) FROM run_events")
    writer.sql(Path(filled), "BEGIN IMMEDIATE")
    found = findings(cli("doctor", filled, "--json"))["open"]["details"]["processes"]
    holds = {process["pid"]: process["holds"] for process in found}
    assert holds[reader.pid] == ["read"]
    assert "write" in holds[writer.pid]
    locked = findings(cli("doctor", filled, "--json"))["locked"]
    assert locked["details"] == {"writers": [writer.pid]}
    assert f"process {writer.pid} (" in locked["message"]
    assert reader.finish() == writer.finish() == 0


def test_a_large_log(cli: Cli, start: Callable[..., Child], engine: str, filled: str) -> None:
    reader, writer = start(), start()
    reader.sql(Path(filled), "BEGIN", "SELECT count(*) FROM run_events")
    writer.sql(
        Path(filled),
        "CREATE TABLE fencepost_ballast (data)",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70) "
        "INSERT INTO fencepost_ballast SELECT zeroblob(1000000) FROM n",
    )
    found = findings(cli("doctor", filled, "--quick", "--json"))["large_log"]
    assert found["details"]["readers"] == [reader.pid]
    assert reader.finish() == writer.finish() == 0


def test_every_finding_is_documented() -> None:
    """Both ways: what doctor may say, and what its page lists."""
    sources = [file.read_text("utf-8") for file in Path(doctor.__file__).parent.glob("*.py")]
    words = {
        node.value
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    said = {
        argument.value
        for source in sources
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and getattr(call.func, "id", None) == "Finding"
        for argument in ast.walk(call.args[0])
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    page = (ROOT / "docs" / "reference" / "doctor.md").read_text("utf-8")
    listed = {
        code
        for line in page.splitlines()
        if line.startswith("| `")
        for code in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert len(said) > 20
    assert said <= listed
    assert listed <= words
