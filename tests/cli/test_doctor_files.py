"""Files of every kind and in every state, each named rightly."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fencepost
from fencepost.cli.filesystem import file_system, is_network
from tests.cli.support import Cli, codes, findings
from tests.processes.remote import Child
from tests.support import bytes_of, sql


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
