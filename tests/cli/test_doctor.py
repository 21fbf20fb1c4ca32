"""Files of every kind, each named rightly, and stores that are healthy or not."""

from __future__ import annotations

import ast
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.cli import doctor
from fencepost.cli.filesystem import file_system, is_network
from fencepost.sqlite_versions import can_lose_commits
from tests.cli.support import Cli
from tests.processes.remote import Child
from tests.support import bytes_of, sql

ROOT = Path(__file__).parents[2]
TOKEN = "UPDATE workflow_run_queue SET"


def findings(done: Any) -> dict[str, dict[str, Any]]:
    return {finding["code"]: finding for finding in done.json()["findings"]}


def codes(done: Any) -> set[str]:
    """The codes of what is more than a note."""
    return {code for code, found in findings(done).items() if found["severity"] != "note"}


def in_a_process(code: str, path: str) -> None:
    """Damage is done by a process that ends: the file is nobody's then."""
    subprocess.run([sys.executable, "-c", code, path], check=True)


WRITE = "import sys; open(sys.argv[1], 'wb').write({!r})"
PATCH = (
    "import os, sys\n"
    "with open(sys.argv[1], 'r+b') as file:\n"
    "    size = os.path.getsize(sys.argv[1])\n"
    "    {}\n"
)

NO_STORES = {
    "missing": ("missing", None),
    "empty": ("empty", WRITE.format(b"")),
    "text": ("text", WRITE.format("# notes\nüber alles\n".encode())),
    "cut text": ("text", WRITE.format(b"a" + "ü".encode() * 4096)),
    "a picture": ("not_a_database", WRITE.format(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))),
    "zeros": ("damaged", WRITE.format(bytes(8192))),
    "a header alone": ("truncated", WRITE.format(b"SQLite format 3\0\x10\0")),
    "a database of nobody": (
        "empty",
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('VACUUM')",
    ),
    "another program's": (
        "foreign",
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('CREATE TABLE songs (name)')",
    ),
    "a later schema": (
        "newer",
        "import sqlite3, sys\n"
        "with sqlite3.connect(sys.argv[1]) as c:\n"
        "    c.execute('CREATE TABLE schema_info (singleton INTEGER, schema_id TEXT)')\n"
        "    c.execute(\"INSERT INTO schema_info VALUES (1, 'pi-workflows.controller-store.v2')\")",
    ),
}


@pytest.mark.parametrize("name", NO_STORES)
def test_what_is_no_store(cli: Cli, path: str, name: str) -> None:
    code, make = NO_STORES[name]
    if make is not None:
        in_a_process(make, path)
    before = bytes_of(path) if make is not None else None
    done = cli("doctor", path, "--json")
    assert done.code == 1
    found = findings(done)
    assert found[code]["severity"] == "error"
    assert found[code]["advice"]
    assert codes(done) - {code, "journal"} == set()
    words = cli("doctor", path)
    assert words.code == 1
    assert f"error    {code}: {found[code]['message']}" in words.out
    if before is None:
        assert not Path(path).exists()
    else:
        assert bytes_of(path) == before


def test_a_folder_and_a_pipe(cli: Cli, tmp_path: Path) -> None:
    assert codes(cli("doctor", str(tmp_path), "--json")) == {"not_a_file"}
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert codes(cli("doctor", str(pipe), "--json")) == {"not_a_file"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to be root")
def test_a_file_of_another_user(cli: Cli, filled: str) -> None:
    """As nobody, who may not even enter: the folders of the tests are their owner's."""
    code = (
        "import json, os, sys\n"
        "from fencepost.cli.doctor import examine\n"
        "os.chdir(os.path.dirname(sys.argv[1]))\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "print([f.code for f in examine(os.path.basename(sys.argv[1]), None, quick=True)][0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, filled], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("unreadable\n", "")


def test_a_healthy_store(cli: Cli, filled: str) -> None:
    done = cli("doctor", filled, "--json")
    assert (done.code, done.json()["healthy"]) == (0, True)
    assert cli("doctor", filled).out.endswith("nothing is wrong\n")
    faulty = cli.engine == "python" and can_lose_commits(sqlite3.sqlite_version)
    assert ("sqlite_version" in findings(done)) == faulty


DAMAGE = {
    "pages overwritten": "file.seek(4096); file.write(b'\\xff' * (size - 4096))",
    "one page overwritten": "file.seek(4096 * 3); file.write(b'\\xff' * 4096)",
    "cut off": "file.truncate(size // 2 // 4096 * 4096)",
    "cut off in a page": "file.truncate(size - 1000)",
    "the schema overwritten": "file.seek(100); file.write(b'\\xff' * 3996)",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage(cli: Cli, filled: str, name: str) -> None:
    in_a_process(PATCH.format(DAMAGE[name]), filled)
    done = cli("doctor", filled, "--json")
    assert done.code == 1
    assert codes(done) & {"damaged", "truncated"}
    assert "internal" not in findings(done)


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


# The index keeps what a row had before: SQLite is made to forget and to remember it.
DAMAGED_INDEX = (
    "PRAGMA writable_schema = ON",
    "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'queue_ready'",
    "DELETE FROM sqlite_schema WHERE name = 'queue_ready'",
    "PRAGMA writable_schema = RESET",
    "UPDATE queue SET available_at = 7",
    "PRAGMA writable_schema = ON",
    "INSERT INTO sqlite_schema SELECT * FROM kept",
    "PRAGMA writable_schema = RESET",
    "DROP TABLE kept",
)


def test_a_damaged_index(cli: Cli, filled: str) -> None:
    sql(filled, *DAMAGED_INDEX)
    done = cli("doctor", filled, "--json")
    assert (done.code, codes(done)) == (1, {"damaged"})
    assert "index queue_ready" in findings(done)["damaged"]["message"]


LOGS = {
    "garbage": (b"\xa5" * 8192, "is no log of SQLite"),
    "a few bytes": (b"\x37\x7f\x06\x82", "is cut off inside its header"),
    "a header that is wrong": (
        b"\x37\x7f\x06\x82" + b"\0" * 28,
        "has a damaged header",
    ),
    "nothing": (b"", None),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_that_is_none(cli: Cli, filled: str, name: str) -> None:
    content, message = LOGS[name]
    log = Path(f"{filled}-wal")
    log.write_bytes(content)
    done = cli("doctor", filled, "--json")
    assert codes(done) == ({"damaged_log"} if message else set())
    if message is not None:
        assert message in findings(done)["damaged_log"]["message"]
        assert log.read_bytes() == content, "the evidence was touched"


def test_the_log_of_a_killed_process_is_sound(
    cli: Cli, start: Callable[..., Child], engine: str, filled: str
) -> None:
    for _ in range(2):
        child = start().open(Path(filled), engine)
        child.call("feed.record", run_id="r0", workflow_ref="w", type="t")
        child.kill()
        assert Path(f"{filled}-wal").stat().st_size > 0
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


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 0:41 / /home/me/local\\040disk rw - xfs /dev/sdb rw
"""


@pytest.mark.parametrize(
    "path, kind",
    [
        ("/var/store.sqlite", "ext4"),
        ("/homes/store.sqlite", "ext4"),
        ("/home/me/store.sqlite", "nfs4"),
        ("/home/me/local disk/store.sqlite", "xfs"),
    ],
)
def test_file_systems(path: str, kind: str) -> None:
    assert file_system(path, MOUNTS) == kind
    assert is_network(kind) is (kind == "nfs4")


def test_a_network_file_system_is_an_error(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fencepost.cli.doctor import file as files

    fencepost.open(path, engine="python", synchronous="off").close()
    monkeypatch.setattr(files, "file_system", lambda path: "cifs")
    found = {finding.code: finding for finding in files.look_at_surroundings(path)}
    assert found["network_file_system"].severity == "error"
    assert "cifs" in found["network_file_system"].message
