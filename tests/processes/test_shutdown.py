"""The end of the interpreter, and what a careful run finds to complain about."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes.remote import Child, check_file

WAITING_THREAD = """
import sys, threading
import fencepost
from fencepost.errors import FencepostError

store = fencepost.open(sys.argv[1], engine=sys.argv[2], busy_timeout_ms=int(sys.argv[3]))

def wait():
    print("waiting", flush=True)
    store.runs.enqueue(run_id="never", workflow_name="w", workflow_source_ref="s",
                       runner_id="r", lease_ms=1000)

threading.Thread(target=wait, daemon=True).start()
sys.stdin.readline()
"""

CALLED_BACK = """
import sys, threading, time
import fencepost
from fencepost.engine import probe

path, engine, what = sys.argv[1:]
inside, worker = threading.Event(), None

class Late:
    def __del__(self, sleep=time.sleep):
        # The interpreter has ended, and the process has not.
        sleep(0.6)

sys.late = Late()

def slowly():
    if threading.current_thread() is worker:
        inside.set()
        time.sleep(0.2)

def clock():
    if what == "clock":
        slowly()
    return 1_800_000_000_000

def listen(event):
    if what == "wait" and event.kind == "busy_wait":
        slowly()

def point(name):
    if what == "probe" and name == "written":
        slowly()

def work():
    if what == "backup":
        store.backup(f"{path}.copy", pages=1, progress=lambda *_: slowly())
    else:
        store.feed.record(run_id="r", workflow_ref="w", type="t")

probe.install(point)
store = fencepost.open(path, engine=engine, clock=clock, hooks=[listen])
worker = threading.Thread(target=work, daemon=True)
if what == "wait":
    held = threading.Event()

    def hold():
        held.set()
        time.sleep(0.3)
        return 1_800_000_000_000

    with fencepost.open(path, engine=engine, clock=hold) as other:
        first = dict(session_id="s", seq=1)
        threading.Thread(target=other.feed.set_watermark, kwargs=first).start()
        assert held.wait(30)
        worker.start()
        assert inside.wait(30)
else:
    worker.start()
    assert inside.wait(30)
"""

CAREFUL = """
import gc, os, sys, threading
import fencepost

def work(store, number):
    for turn in range(5):
        run = store.runs.enqueue(run_id=f"{number}-{turn}", workflow_name="w", input={"a": [1]},
                                 workflow_source_ref="s", runner_id="r", lease_ms=1000)
        store.runs.complete(run_id=run.run_id, claim_token=run.claim_token)
        list(store.runs.iterate(page_size=2))
        next(store.runs.iterate(page_size=1))

path, engine = sys.argv[1:]
for read_only in (False, True):
    with fencepost.open(path, engine=engine, read_only=read_only) as store:
        if not read_only:
            threads = [threading.Thread(target=work, args=(store, n)) for n in range(3)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        store.runs.list()
try:
    fencepost.open(os.path.dirname(path), engine=engine)
except fencepost.FencepostError:
    pass
with fencepost.open(path, engine=engine) as store:
    with fencepost.open(path, engine=engine) as again:
        again.feed.record(run_id="r", workflow_ref="w", type="t")
    assert store.feed.latest_seq() == 1
del store, again
gc.collect()
"""

LEFT_OPEN = """
import sys
import fencepost

store = fencepost.open(sys.argv[1], engine=sys.argv[2])
store.feed.record(run_id="r", workflow_ref="w", type="t")
keep = [store, lambda: store]
keep.append(keep)
"""


@pytest.mark.parametrize("timeout_ms", [60_000, 30])
def test_the_end_is_quiet_and_quick_while_a_thread_waits(
    start: Callable[..., Child], path: Path, engine: str, timeout_ms: int
) -> None:
    """Also while the wait ends, and the thread wants back into an interpreter that is gone."""
    start().open(path, engine).close()
    holder = start()
    holder.sql(path, "BEGIN IMMEDIATE")
    command = [sys.executable, "-W", "ignore", "-c", WAITING_THREAD]
    for pause_ms in (0, 10, 30, 50) if timeout_ms < 1000 else (100,):
        with subprocess.Popen(
            [*command, str(path), engine, str(timeout_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"waiting\n"
            time.sleep(pause_ms / 1000)
            began = time.monotonic()
            _, stderr = process.communicate(b"\n", timeout=50)
            took = time.monotonic() - began
        if timeout_ms > 1000:
            # A short wait ends in the thread, whose traceback is not what is asked about.
            assert stderr == b""
            assert took < 10
        assert b"Fatal" not in stderr
        assert b"FATAL" not in stderr
        assert process.returncode == 0, stderr.decode()
    holder.sql(path, "COMMIT")
    assert holder.sql(path, "SELECT count(*) FROM workflow_run_queue") == [[(0,)]]
    check_file(holder, path)


@pytest.mark.parametrize("what", ["clock", "probe", "wait", "backup"])
def test_the_end_aborts_nobody_while_a_thread_is_in_the_application_s_code(
    start: Callable[..., Child], path: Path, engine: str, what: str
) -> None:
    """Which sleeps, and wants back into an interpreter that would be gone.

    A call that has more of it to call raises in its thread.
    """
    command = [sys.executable, "-W", "ignore", "-c", CALLED_BACK, str(path), engine, what]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "fatal" not in done.stderr.lower()
    if done.stderr:
        assert what == "backup"
        assert "RuntimeError: fencepost: the interpreter has ended" in done.stderr
    check_file(start(), path)


def test_a_careful_run_has_nothing_to_complain_about(
    path: Path, engine: str, tmp_path: Path
) -> None:
    ignored = "ignore::fencepost.SQLiteVersionWarning"
    command = [sys.executable, "-X", "dev", "-W", "error", "-c"]
    allow = f"import warnings, fencepost\nwarnings.simplefilter('ignore', {ignored[8:]})\n"
    done = subprocess.run(
        [*command, allow + CAREFUL, str(path), engine],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)


def test_a_store_left_open_at_the_end_loses_nothing(
    start: Callable[..., Child], path: Path, engine: str
) -> None:
    command = [sys.executable, "-W", "ignore", "-c", LEFT_OPEN, str(path), engine]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert start().open(path, engine).call("feed.latest_seq") == 1
    check_file(start(), path)
