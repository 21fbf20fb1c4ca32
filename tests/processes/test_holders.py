"""Who holds the write lock, and how long others waited for it: said by name, and told."""

from __future__ import annotations

import errno
import logging
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import holders
from fencepost.errors import StoreBusyError
from fencepost.holders import Holder, write_lock_holders
from fencepost.observing import StoreEvent
from tests.processes.remote import Child

RUN: dict[str, Any] = {
    "workflow_name": "w",
    "workflow_source_ref": "w.py",
    "runner_id": "me",
    "lease_ms": 60_000,
}


def command_of(child: Child) -> str:
    whole = " ".join(str(word) for word in child.process.args)  # type: ignore[union-attr]
    return whole if len(whole) <= 80 else f"{whole[:79]}…"


def test_a_busy_store_names_who_holds_the_lock(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    """The holder is a living process, in a transaction of each library."""
    holder = start()
    told: list[StoreEvent] = []
    with fencepost.open(path, engine=engine, busy_timeout_ms=50, hooks=[told.append]) as store:
        holder.sql(path, "BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError) as refused:
            store.runs.enqueue(run_id="r", **RUN)
        error = refused.value
        assert error.holders == (Holder(holder.pid, command_of(holder)),)
        assert str(error).endswith(
            f"; the write lock is held by process {holder.pid} ({command_of(holder)})"
        )
        assert pickle.loads(pickle.dumps(error)).holders == error.holders  # noqa: S301 - our own
        busy = [event for event in told if event.kind == "busy"]
        assert [(event.facet, event.operation) for event in busy] == [("runs", "enqueue")]
        assert busy[0].holders == error.holders
        assert busy[0].seconds is not None
        assert 0.05 <= busy[0].seconds < 5
        assert told[-1].error == "busy"
        assert write_lock_holders(str(path)) == error.holders

        holder.sql(path, "ROLLBACK")
        assert write_lock_holders(str(path)) == ()
        store.runs.enqueue(run_id="r", **RUN)


def test_one_that_takes_part_is_named_too(
    start: Callable[..., Child], path: Path, engine: str, engines_here: tuple[str, ...]
) -> None:
    """A process that is stopped inside a transaction of the store itself."""
    for holding in engines_here:
        child = start()
        child.begin_run(stop_in_a_transaction, path=str(path), engine=holding)
        child.until_stopped()
        with (
            fencepost.open(path, engine=engine, busy_timeout_ms=50) as store,
            pytest.raises(StoreBusyError) as refused,
        ):
            store.runs.enqueue(run_id="r", **RUN)
        assert refused.value.holders is not None
        assert [found.pid for found in refused.value.holders] == [child.pid]
        child.resume()
        child.end()


def stop_in_a_transaction(*, path: str, engine: str) -> None:
    """Stops this process while it has the write lock; once it goes on, the call ends."""
    import signal

    from fencepost.engine import probe

    def stop(point: str) -> None:
        if point == "begun":
            os.kill(os.getpid(), signal.SIGSTOP)

    with fencepost.open(path, engine=engine) as store:
        store.runs.get(run_id="r")
    probe.install(stop)
    with fencepost.open(path, engine=engine) as store:
        probe.install(None)
        store.feed.set_watermark(session_id="s", seq=1)


def test_this_process_is_called_so(path: Path, engine: str) -> None:
    """Two stores on one file, one of them in a transaction: a thread waits for the other."""
    inside, done = threading.Event(), threading.Event()

    def clock() -> int:
        if threading.current_thread() is worker:
            inside.set()
            done.wait(30)
        return 1_800_000_000_000

    with (
        fencepost.open(path, engine=engine, clock=clock) as slow,
        fencepost.open(path, engine=engine, busy_timeout_ms=50) as store,
    ):
        worker = threading.Thread(target=slow.runs.enqueue, kwargs={"run_id": "a", **RUN})
        worker.start()
        try:
            assert inside.wait(30)
            with pytest.raises(StoreBusyError) as refused:
                store.runs.enqueue(run_id="b", **RUN)
        finally:
            done.set()
            worker.join()
    assert f"held by this process {os.getpid()} (" in str(refused.value)


def test_a_file_without_a_log_yet(start: Callable[..., Child], path: Path, engine: str) -> None:
    """Its lock is on the database itself."""
    holder = start()
    holder.sql(path, "CREATE TABLE schema_info (a)", "BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusyError) as refused:
        fencepost.open(path, engine=engine, busy_timeout_ms=50)
    assert refused.value.holders == (Holder(holder.pid, command_of(holder)),)


def test_a_wait_for_the_lock_is_told_and_logged(
    start: Callable[..., Child],
    path: Path,
    engine: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holder = start()
    told: list[StoreEvent] = []
    waiting = threading.Event()
    store = fencepost.open(path, engine=engine, busy_timeout_ms=30_000, hooks=[told.append])
    monkeypatch.setattr("fencepost.logs.SLOW_WAIT_SECONDS", 0.1)
    with store:
        store.runs.enqueue(run_id="before", **RUN)
        assert [event.kind for event in told] == ["enqueue", "call"], "nobody else was there"
        told.clear()
        holder.sql(path, "BEGIN IMMEDIATE")

        def write() -> None:
            waiting.set()
            store.runs.enqueue(run_id="r", **RUN)

        worker = threading.Thread(target=write)
        worker.start()
        assert waiting.wait(30)
        worker.join(0.3)
        assert worker.is_alive()
        assert told == []
        holder.sql(path, "COMMIT")
        worker.join()
    waited, enqueued, call = told
    assert (waited.kind, waited.facet, waited.operation) == ("busy_wait", "runs", "enqueue")
    assert enqueued.kind == "enqueue"
    assert waited.seconds is not None
    assert call.seconds is not None
    assert 0.1 < waited.seconds <= call.seconds < 30
    (logged,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert logged.getMessage() == f"{path}: waited {waited.seconds:.1f} s for the write lock"


def test_a_filter_that_raises_replaces_no_committed_result(
    start: Callable[..., Child],
    path: Path,
    engine: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The line is about a write that is committed; what the filter raised is on stderr."""

    def broken(record: logging.LogRecord) -> bool:
        raise OSError("no filter")

    holder = start()
    monkeypatch.setattr("fencepost.logs.SLOW_WAIT_SECONDS", 0.0)
    with fencepost.open(path, engine=engine, busy_timeout_ms=30_000) as store:
        holder.sql(path, "BEGIN IMMEDIATE")
        with ThreadPoolExecutor() as threads:
            call = threads.submit(store.runs.enqueue, run_id="r", **RUN)
            assert wait((call,), 0.1).not_done
            logging.getLogger("fencepost").addFilter(broken)
            try:
                holder.sql(path, "COMMIT")
                run = call.result(30)
            finally:
                logging.getLogger("fencepost").removeFilter(broken)
        assert store.runs.get(run_id="r") == run
    said = capsys.readouterr().err
    assert "OSError: no filter" in said
    assert "waited %.1f s for the write lock" in said


def test_a_short_wait_is_not_logged(
    path: Path, engine: str, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[StoreEvent] = []
    with fencepost.open(path, engine=engine, hooks=[told.append]) as store:
        store._telling.waited(0.9)
        store._telling.waited(1.0)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: waited 1.0 s for the write lock"
    ]
    assert [event.seconds for event in told] == [0.9, 1.0]


def test_where_the_system_does_not_tell(
    start: Callable[..., Child],
    path: Path,
    engine: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holder = start()
    monkeypatch.setattr(holders, "PROC", tmp_path / "no proc")
    with fencepost.open(path, engine=engine, busy_timeout_ms=0) as store:
        holder.sql(path, "BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError) as refused:
            store.runs.enqueue(run_id="r", **RUN)
    assert refused.value.holders is None
    assert str(refused.value).endswith("(SQLITE_BUSY, 5)")


LISTED = """\
1: POSIX  ADVISORY  WRITE 11 {index} 120 120
2: POSIX  ADVISORY  WRITE 12 {index} 121 122
2: -> POSIX  ADVISORY  WRITE 13 {index} 120 120
3: POSIX  ADVISORY  READ 14 {index} 124 124
4: POSIX  ADVISORY  READ 14 {database} 1073741826 1073742335
5: POSIX  ADVISORY  WRITE 15 {index} 123 127
6: FLOCK  ADVISORY  WRITE 16 00:00:1 0 EOF
7: POSIX  ADVISORY  WRITE 17 {index} 120 123
8: OFDLCK ADVISORY  WRITE -1 {index} 120 120
9: POSIX  ADVISORY  WRITE 18 {database} 1073741825 1073741825
10: POSIX  ADVISORY  WRITE 19 {database} 0 EOF
"""


def test_ranges_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system joins the locks of a process on neighbouring bytes."""
    path = tmp_path / "s"
    places = {}
    for name, file in (("database", path), ("index", Path(f"{path}-shm"))):
        file.touch()
        status = file.stat()
        device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
        places[name] = f"{device}:{status.st_ino}"
    monkeypatch.setattr(holders, "PROC", tmp_path)
    (tmp_path / "locks").write_text(LISTED.format(**places))
    assert holders.locks(str(path)) == {
        11: ["write"],
        12: ["checkpoint", "recover"],
        14: ["read"],
        15: [],
        17: ["write", "checkpoint", "recover"],
        18: ["write"],
        19: ["write"],
    }
    assert write_lock_holders(str(path)) == tuple(
        Holder(pid, "unknown") for pid in (11, 17, 18, 19)
    )
    assert str(Holder(11, "unknown")) == "process 11 (unknown)"


def elsewhere(proc: Path, path: Path, *shown: int) -> None:
    """A /proc as it is where a file has another device than its file system (btrfs).

    Processes show their descriptors, but for those that are not `shown`, if any are.
    """
    device = os.stat(path).st_dev
    (proc / "self").mkdir(parents=True)
    known = Path("/proc/locks").read_text("ascii")
    name = f"{os.major(device):02x}:{os.minor(device):02x}"
    (proc / "locks").write_text(known.replace(f" {name}:", " ff:ff:"))
    (proc / "self" / "mountinfo").write_text("20 1 255:255 / / rw - btrfs none rw\n")
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (not shown or int(folder.name) in shown):
            (proc / folder.name).symlink_to(folder)


def test_where_a_file_has_a_device_of_its_own(
    start: Callable[..., Child],
    path: Path,
    engine: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer, reader = start(), start()
    with fencepost.open(path, engine=engine):
        writer.sql(path, "BEGIN IMMEDIATE")
        reader.sql(path, "BEGIN", "SELECT count(*) FROM queue")
        elsewhere(tmp_path / "proc", path)
        monkeypatch.setattr(holders, "PROC", tmp_path / "proc")
        held = holders.locks(str(path))
        assert held is not None
        assert held[writer.pid] == ["write", "read"]
        assert held[reader.pid] == ["read"]
        assert write_lock_holders(str(path)) == (Holder(writer.pid, command_of(writer)),)
        writer.sql(path, "ROLLBACK")
        assert write_lock_holders(str(path)) == ()


def test_where_processes_do_not_show_their_files(
    path: Path, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody was found, and somebody could not be asked: that is not known, not nobody."""
    fencepost.open(path, engine=engine).close()
    elsewhere(tmp_path / "proc", path, os.getpid())
    monkeypatch.setattr(holders, "PROC", tmp_path / "proc")
    assert holders.locks(str(path)) == {}
    (tmp_path / "proc" / "1").mkdir()

    listed = os.listdir

    def listdir(folder: str | Path) -> list[str]:
        if Path(folder).parent.name == "1":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return listed(folder)

    monkeypatch.setattr(os, "listdir", listdir)
    assert holders.locks(str(path)) is None
    assert write_lock_holders(str(path)) is None


HIDDEN = """
import os, sys
from fencepost import holders
database = os.stat(sys.argv[1])
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
seen = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
print(seen == [os.getpid()], holders._asked_one_by_one(database, None))
"""


def test_where_processes_are_not_even_listed(start: Callable[..., Child], tmp_path: Path) -> None:
    """Under a /proc that hides other users' processes nobody is found who has the lock."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a /proc")
    database = tmp_path / "s"
    start().sql(database, "CREATE TABLE t (a)", "BEGIN IMMEDIATE")
    for option, known in (("hidepid=2", "True None"), ("hidepid=0", "False None")):
        mounting = f'mount -t proc -o {option} proc /proc && exec "$@"'
        command = ["unshare", "-m", "sh", "-c", mounting, "sh", sys.executable, "-c", HIDDEN]
        done = subprocess.run(
            [*command, str(database)], capture_output=True, text=True, check=False
        )
        if "mount" in done.stderr or "unshare" in done.stderr:
            pytest.skip(f"no /proc of our own here: {done.stderr.strip()}")
        assert (done.stdout.strip(), done.stderr) == (known, "")


def test_a_command_line_is_shortened(start: Callable[..., Child]) -> None:
    short, long = start(), start(python=["-X", f"fencepost={'a' * 80}"])
    short.ask("sql", path=":memory:", statements=[])  # it has begun to run its program
    long.ask("sql", path=":memory:", statements=[])
    assert holders.command(long.pid) == command_of(long)
    assert len(command_of(long)) == 80
    assert holders.command(short.pid).startswith(f"{sys.executable} ")
    assert holders.command(2**22 + 1) == "unknown"


def test_a_command_line_is_one_line_of_plain_text(start: Callable[..., Child]) -> None:
    child = start(python=["-X", "note=one\n two\t\x1b[31mthree"])
    child.ask("sql", path=":memory:", statements=[])
    assert holders.command(child.pid).startswith(f"{sys.executable} -X note=one two [31mthree ")
