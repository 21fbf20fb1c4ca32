"""A live store of another user, who may be looked at but not disturbed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.processes.remote import Child

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to be root to become another"
)

# What a nobody may not be allowed to load is loaded before; then the command runs as nobody.
AS_NOBODY = """
import os, sys, tempfile
import fencepost
from fencepost.cli import main
engine, path, *arguments = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    for read_only in (False, True):
        fencepost.open(f"{folder}/s", engine=engine, read_only=read_only).close()
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
os.environ.update(FENCEPOST_ENGINE=engine, FENCEPOST_STORE=path)
sys.exit(main(arguments))
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may look into, and only its owner may write to."""
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_everything_can_be_seen_and_nothing_done(
    start: Callable[..., Child], engine: str, public: Path
) -> None:
    path = public / "store.sqlite"
    owner = start().open(path, engine)
    run = owner.call(
        "runs.enqueue",
        run_id="r",
        workflow_name="w",
        workflow_source_ref="/w",
        runner_id="a",
        lease_ms=600_000,
    )
    owner.call("feed.record", run_id="r", workflow_ref="w", type="t")
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").chmod(0o644)
    beside = sorted(os.listdir(public))

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-c", AS_NOBODY, engine, str(path), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )

    owner.call("resources.put", controller="c", key="k", spec=1, initial_status=1)
    looks = "runs;run r;queue;resources;resource c k;effects;events;feed;top --json;export".split(
        ";"
    )
    for arguments in (*(look.split() for look in looks), ["info", str(path)]):
        done = command(*arguments)
        assert (done.returncode, done.stderr.strip()) in (
            (0, ""),
            (0, "no effects"),
        ), arguments
    examined = command("doctor", str(path), "--json")
    assert examined.returncode == 0, examined.stdout + examined.stderr
    assert '"read_only"' in examined.stdout
    for arguments in (["park", "r", "--yes"], ["checkpoint"], ["prune", "--done-before", "0s"]):
        refused = command(*arguments)
        assert (refused.returncode, refused.stdout) == (1, ""), arguments
        assert "may not be written" in refused.stderr

    assert sorted(os.listdir(public)) == beside
    assert owner.call("runs.renew", run_id="r", claim_token=run.claim_token, lease_ms=1000)
    assert owner.finish() == 0


@pytest.mark.parametrize("command", ["feed", "events"])
def test_following_what_another_user_writes(
    start: Callable[..., Child], engine: str, public: Path, command: str
) -> None:
    """No socket can be made in the owner's folder: looks have to do."""
    path = public / "store.sqlite"
    owner = start().open(path, engine)
    owner.call("feed.record", run_id="r", workflow_ref="w", type="first")
    owner.call("events.record", controller="c", key="k", type="first")
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").chmod(0o644)
    beside = sorted(os.listdir(public))
    follower = subprocess.Popen(
        [
            *(sys.executable, "-W", "ignore", "-c", AS_NOBODY, engine, str(path)),
            *(command, "--follow", "--json"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert follower.stdout is not None
    assert json.loads(follower.stdout.readline())["type"] == "first"
    for number in range(3):
        if command == "feed":
            owner.call("feed.record", run_id="r", workflow_ref="w", type=f"t{number}")
        else:
            owner.call("events.record", controller="c", key="k", type=f"t{number}")
        assert json.loads(follower.stdout.readline())["type"] == f"t{number}"
    follower.send_signal(signal.SIGINT)
    assert follower.communicate(timeout=60)[0] == ""
    assert follower.returncode == 130
    assert sorted(os.listdir(public)) == beside
    assert owner.finish() == 0
