"""The logger `fencepost`: what it says at which level, and what it never says."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fencepost
from fencepost import Store
from tests.support import SetClock, at, enqueue, put, sql
from tests.test_engine_choice import environment

Said = list[tuple[str, str]]


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], Said]:
    """What was logged since the last look, as (level, message)."""
    caplog.set_level(logging.DEBUG, "fencepost")

    def look() -> Said:
        found = [(record.levelname, record.getMessage()) for record in caplog.records]
        assert {record.name for record in caplog.records} <= {"fencepost"}
        caplog.clear()
        return found

    return look


def test_opening_and_closing(
    open_store: Callable[..., Store], path: str, engine: str, said: Callable[[], Said]
) -> None:
    with open_store() as store:
        store.close()
    reason = f"opened with the {engine} engine: the engine argument asks for it"
    assert said() == [
        ("INFO", f"{path}: the schema was created"),
        ("DEBUG", f"{path}: {reason}"),
        ("DEBUG", f"{path}: closed"),
    ]
    with open_store(read_only=True):
        pass
    assert said()[0] == ("DEBUG", f"{path}: {reason.replace('opened', 'opened for reading')}")


def test_what_is_added_to_another_programs_tables(
    open_store: Callable[..., Store], path: str, said: Callable[[], Said]
) -> None:
    open_store().close()
    sql(path, "DROP INDEX fencepost_queue_idle")
    said()
    open_store()
    assert said()[0] == ("INFO", f"{path}: added to the shared tables: fencepost_queue_idle")


def test_refusals(store: Store, path: str, clock: SetClock, said: Callable[[], Said]) -> None:
    enqueue(store, "r", claim_token="t", now=None)
    put(store, now=None)
    claim = store.queue.claim_next(controllers=["ctl"], lease_ms=1000)
    assert claim is not None
    clock.advance(1000)
    said()
    late = {"run_id": "r", "claim_token": "t"}
    wrong = {"run_id": "r", "claim_token": "s3cret"}
    store.runs.renew(**late, lease_ms=1)
    store.runs.verify(**late)
    store.runs.park(**wrong)
    store.runs.complete(**wrong)
    store.runs.delete(**wrong)
    store.runs.renew_many(claims=[("r", "t"), ("q", "s3cret")], lease_ms=1)
    store.runs.complete_many(claims=[("r", "t"), ("q", "s3cret")])
    store.queue.renew(claim=claim, lease_ms=1)
    store.queue.settle_many(claims=[claim, claim])
    store.queue.requeue(claim=claim, available_at=at())

    def refused(operation: str, subject: str) -> tuple[str, str]:
        level = "DEBUG" if operation == "runs.verify" else "WARNING"
        return level, f"{path}: {operation} of {subject} refused: the claim is lost or expired"

    assert said() == [
        refused("runs.renew", "r"),
        refused("runs.verify", "r"),
        refused("runs.park", "r"),
        refused("runs.complete", "r"),
        refused("runs.delete", "r"),
        refused("runs.renew", "r"),
        refused("runs.renew", "q"),
        refused("runs.complete", "q"),
        refused("queue.renew", "ctl/k"),
        refused("queue.settle", "ctl/k"),
        refused("queue.requeue", "ctl/k"),
    ]


def test_what_is_kept_is_not_logged(store: Store, said: Callable[[], Said]) -> None:
    enqueue(store, "r", claim_token="s3cret", input={"password": "s3cret"})
    put(store, spec={"password": "s3cret"})
    claim = store.queue.claim_next(controllers=["ctl"], lease_ms=1000, now=at())
    assert claim is not None
    said()
    claims = [("r", "s3cret")]
    assert store.runs.renew_many(claims=claims, lease_ms=1000, now=at()) == [True]
    assert store.runs.complete(run_id="r", claim_token="s3cret")
    assert store.queue.settle(claim=claim)
    assert store.checkpoint().complete
    assert said() == []


def test_a_checkpoint_that_a_reader_holds_up(
    open_store: Callable[..., Store], path: str, said: Callable[[], Said]
) -> None:
    store = open_store(busy_timeout_ms=0)
    script = (
        "import sqlite3, sys\n"
        "reader = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "reader.execute('BEGIN')\n"
        "reader.execute('SELECT count(*) FROM queue').fetchone()\n"
        "print('reads', flush=True)\n"
        "sys.stdin.read()\n"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"reads\n"
        enqueue(store, "r")
        said()
        done = store.checkpoint("truncate")
        reader.communicate()
    assert not done.complete
    ((level, message),) = said()
    assert level == "WARNING"
    assert message.startswith(
        f"{path}: the truncate checkpoint moved {done.moved_frames} of {done.wal_frames} pages, "
        f"others read or write; at this moment reads: {reader.pid} ({sys.executable} -c "
    )


def test_a_log_that_a_reader_keeps_from_being_emptied(
    open_store: Callable[..., Store], path: str, said: Callable[[], Said]
) -> None:
    """It is told once, until the log could be emptied; then the next time counts again."""
    store = open_store(synchronous="off")
    script = (
        "import sqlite3, sys\n"
        "reader = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "reader.execute('BEGIN')\n"
        "reader.execute('SELECT count(*) FROM queue').fetchone()\n"
        "print('reads', flush=True)\n"
        "sys.stdin.read()\n"
    )

    def write(name: str, runs: int) -> Said:
        said()
        for number in range(runs):
            enqueue(store, f"{name}-{number}", input="x" * 1_000_000)
        return said()

    assert write("alone", 20) == []
    for name in ("one", "other"):
        command = [sys.executable, "-c", script, path]
        with subprocess.Popen(command, stdin=-1, stdout=-1) as reader:
            assert reader.stdout is not None
            assert reader.stdout.readline() == b"reads\n"
            assert write(f"{name}-short", 12) == []
            ((level, message),) = write(name, 20)
            reader.communicate()
        assert level == "WARNING"
        size = r"1[6-9]|2[0-4]"
        assert re.fullmatch(
            f"{re.escape(path)}: the write-ahead log has ({size}) MiB and can't be emptied, "
            f"others read or write; at this moment reads: {reader.pid} \\(.*\\)",
            message,
        ), message
        assert write(f"{name}-later", 8) == []
        assert store.stats().wal_bytes < 16 * 2**20


def test_a_long_file_with_a_short_log_is_not_held(
    open_store: Callable[..., Store], path: str, said: Callable[[], Said]
) -> None:
    """As another process leaves it that begins the log anew, and does not cut it."""
    script = (
        "import sqlite3, sys\n"
        "writer = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "writer.execute('PRAGMA wal_autocheckpoint = 0')\n"
        "writer.execute('CREATE TABLE filler (x)')\n"
        "writer.execute('INSERT INTO filler VALUES (zeroblob(20000000))')\n"
        "writer.execute('PRAGMA wal_checkpoint(RESTART)').fetchone()\n"
        "writer.execute('INSERT INTO filler VALUES (1)')\n"
        "reader = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "reader.execute('BEGIN')\n"
        "reader.execute('SELECT count(*) FROM queue').fetchone()\n"
        "print('reads', flush=True)\n"
        "sys.stdin.read()\n"
    )
    store = open_store(synchronous="off")
    with subprocess.Popen([sys.executable, "-c", script, path], stdin=-1, stdout=-1) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"reads\n"
        assert store.stats().wal_bytes > 16 * 2**20
        said()
        enqueue(store, "r")
        assert said() == []
        for number in range(30):
            enqueue(store, f"r-{number}", input="x" * 1_000_000)
        ((level, message),) = said()
        assert (level, "can't be emptied" in message) == ("WARNING", True), "now it is"
        other.communicate()


def test_a_handler_that_raises_changes_nothing(
    open_store: Callable[..., Store], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is said at whatever level, the call does what it does without a log."""

    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError(f"no room for {record.levelname}")

    logger, broken = logging.getLogger("fencepost"), Broken()
    before = logger.level
    logger.addHandler(broken)
    logger.setLevel(logging.DEBUG)
    try:
        with open_store(path) as store:
            enqueue(store, "r")
            store.hooks.add(lambda event: 1 // 0)
            claims = [("r", "t-r"), ("r", "another")]
            assert store.runs.complete_many(claims=claims, now=at()) == [True, False]
            store._telling.waited(2.0)
            store._telling.log_held()
    finally:
        logger.setLevel(before)
        logger.removeHandler(broken)
    said = capsys.readouterr().err
    assert all(f"OSError: no room for {level}" in said for level in ("INFO", "WARNING", "ERROR"))
    assert said.count("--- Logging error ---") >= 6


def test_the_reason_for_the_python_engine(tmp_path: Path) -> None:
    code = (
        "import logging, sys, fencepost;"
        "logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format='%(message)s');"
        "fencepost.open(sys.argv[1]).close()"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "s")],
        capture_output=True,
        text=True,
        check=True,
        env=environment(tmp_path, "absent", FENCEPOST_ENGINE="auto"),
    )
    # A pure wheel adds why.
    said = f"{tmp_path / 's'}: opened with the python engine: the native extension is not installed"
    assert any(line.startswith(said) for line in done.stdout.splitlines()), done.stdout


def test_without_logging_configured_nothing_is_printed(tmp_path: Path, engine: str) -> None:
    code = (
        "import sys, fencepost\n"
        "with fencepost.open(sys.argv[1], engine=sys.argv[2]) as store:\n"
        "    print(store.runs.complete(run_id='r', claim_token='t'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "s"), engine],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ},
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_logger_has_the_packages_name() -> None:
    handlers = logging.getLogger(fencepost.__name__).handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)


def test_a_path_that_is_no_text(
    open_store: Callable[..., Store], tmp_path: Path, said: Callable[[], Said]
) -> None:
    """Whatever writes the log can encode it."""
    with open_store(tmp_path / os.fsdecode(b"caf\xe9")) as store:
        store.runs.complete(run_id="r", claim_token="t")
    messages = [message for _, message in said()]
    assert len(messages) == 4
    assert all(message.startswith(f"{tmp_path}/caf\ufffd: ") for message in messages)


def test_a_name_makes_no_line_of_its_own(
    open_store: Callable[..., Store], tmp_path: Path, said: Callable[[], Said]
) -> None:
    """Neither that of a file nor a key, which may hold U+0085, U+2028 and U+2029."""
    key = "a\x85FORGED\u2028FORGED\u2029FORGED"
    with open_store(tmp_path / f"{key}\nFORGED\x1b[31m") as store:
        put(store, key=key)
        claim = store.queue.claim_next(controllers=["ctl"], lease_ms=1000, now=at())
        assert claim is not None
        assert store.queue.settle(claim=claim)
        assert not store.queue.settle(claim=claim)

        class Listener:
            def __repr__(self) -> str:
                return f"{key}\nFORGED"

            def __call__(self, event: object) -> None:
                raise ValueError

        store.hooks.add(Listener())
        store.queue.enqueue(controller="ctl", key=key)
    messages = [message for _, message in said()]
    assert len(messages) >= 6, messages
    assert all(message.isprintable() for message in messages), messages
    assert sum("settle of ctl/a\\x85FORGED\\u2028FORGED" in message for message in messages) == 1
