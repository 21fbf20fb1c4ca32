"""What an operator does to claims: fenced, confirmed and recorded."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from tests.cli.support import PATIENCE, Cli
from tests.processes.remote import Child
from tests.support import sql


def run_of(cli: Cli, run_id: str) -> Any:
    return cli("run", run_id, "--json").json()


def test_park_takes_a_live_run_from_its_owner(
    cli: Cli, start: Callable[..., Child], engine: str, filled: str
) -> None:
    owner = start().open(Path(filled), engine)
    run = run_of(cli, "r0")
    done = cli("park", "r0", "--yes", "--reason", "it hangs", "--json")
    assert done.code == 0
    assert done.json() == {"run_id": "r0", "status": "parked", "event_seq": 5}
    assert run_of(cli, "r0")["status"] == "parked"
    claim = {"run_id": "r0", "claim_token": run["claim_token"]}
    assert owner.call("runs.complete", **claim) is False
    assert owner.call("runs.renew", lease_ms=1000, **claim) is False
    event = cli("feed", "--after", "4", "--json").lines()[0]
    assert (event["type"], event["run_id"], event["runner_id"]) == ("operator.park", "r0", "alice")
    assert event["payload"]["reason"] == "it hangs"
    assert event["payload"]["fence"] == run["fence"]
    assert owner.finish() == 0


def test_release_refuses_a_live_claim(cli: Cli, filled: str) -> None:
    done = cli("release", "r0", "--yes")
    assert done.code == 1
    assert "`park` takes a live run" in done.err
    assert run_of(cli, "r0")["status"] == "claimed"


def test_release_parks_what_has_expired(cli: Cli, path: str) -> None:
    with fencepost.open(path, engine=cli.engine, clock=lambda: 1_000) as store:
        store.runs.enqueue(
            run_id="old", workflow_name="w", workflow_source_ref="/w", runner_id="a", lease_ms=1
        )
    assert cli("release", "old", "--yes").code == 0
    assert run_of(cli, "old")["status"] == "parked"
    assert cli("feed", "--json").lines()[0]["type"] == "operator.release"


@pytest.mark.parametrize("column", ["claim_token", "claim_expires_at"])
def test_what_is_stuck_for_ever_is_freed(cli: Cli, filled: str, column: str) -> None:
    """As doctor advises for claims that their owner can't end, or nobody take over."""
    sql(filled, f"UPDATE workflow_run_queue SET {column} = NULL WHERE run_id = 'r0'")
    assert '"stuck_runs"' in cli("doctor", filled, "--json").out
    assert cli("park", "r0", "--yes").code == 0
    assert run_of(cli, "r0")["status"] == "parked"
    assert cli("feed", "--run", "r0", "--json").lines()[-1]["type"] == "operator.park"
    if column == "claim_expires_at":
        sql(filled, "UPDATE queue SET claim_expires_at = NULL")
        assert cli("requeue", "ctl", "a", "--yes").code == 0
    assert cli("doctor", filled).code == 0


@pytest.mark.parametrize("command", ["release", "park"])
@pytest.mark.parametrize("run_id", ["r2", "r3", "none"])
def test_only_claimed_runs(cli: Cli, filled: str, command: str, run_id: str) -> None:
    assert cli(command, run_id, "--yes").code == 1
    assert len(cli("feed", "--json").lines()) == 4


@pytest.mark.parametrize(
    "command, word",
    [
        (["park", "none", "--yes"], "declined"),
        (["run", "none"], "declined"),
        (["resource", "ctl", "none"], "declined"),
        (["requeue", "ctl", "none", "--yes"], "declined"),
        (["park", "r0"], "usage"),
    ],
    ids=str,
)
def test_what_is_not_done_is_json_too(cli: Cli, filled: str, command: list[str], word: str) -> None:
    done = cli(*command, "--json")
    assert (done.code, done.out) == (254 if word == "usage" else 1, "")
    assert json.loads(done.err)["error"]["code"] == word


@pytest.mark.parametrize("command", [["park", "r0"], ["requeue", "ctl", "a"]], ids=str)
def test_nobody_to_ask(cli: Cli, filled: str, command: list[str]) -> None:
    done = cli(*command)
    assert (done.code, done.out) == (254, "")
    assert "--yes" in done.err
    assert run_of(cli, "r0")["status"] == "claimed"


@pytest.mark.parametrize("answer, code", [("y\n", 0), ("n\n", 254), ("\n", 254)])
def test_the_question(cli: Cli, filled: str, answer: str, code: int) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        cli.argv("park", "r0"),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=cli.environment(),
    )
    os.write(ours, answer.encode())
    _, err = process.communicate(timeout=PATIENCE)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == code
    assert err.startswith("park run 'r0', claimed by 'alice', ")
    assert run_of(cli, "r0")["status"] == ("parked" if code == 0 else "claimed")


def test_requeue_lifts_a_claim(
    cli: Cli, start: Callable[..., Child], engine: str, path: str
) -> None:
    owner = start().open(Path(path), engine)
    owner.call("resources.put", controller="ctl", key="k", spec=1, initial_status=None)
    claim = owner.call("queue.claim_next", controllers=["ctl"], lease_ms=600_000)
    done = cli("requeue", "ctl", "k", "--yes", "--json")
    due = done.json().pop("available_at")
    assert done.json() == {
        "controller": "ctl",
        "key": "k",
        "lifted": True,
        "available_at": due,
        "event_seq": 1,
    }
    assert cli("queue", "--json").lines()[0]["available_at"] == due
    assert owner.call("queue.settle", claim=claim) is False
    again = owner.call("queue.claim_next", controllers=["ctl"], lease_ms=600_000)
    assert again.fence > claim.fence
    event = cli("events", "--json").lines()[0]
    assert (event["type"], event["payload"]["fence"]) == ("operator.requeue", claim.fence)
    assert owner.finish() == 0


def test_requeue_at_a_time(cli: Cli, path: str) -> None:
    with fencepost.open(path, engine=cli.engine) as store:
        store.resources.put(controller="ctl", key="k", spec=1, initial_status=None)
        claim = store.queue.claim_next(controllers=["ctl"], lease_ms=600_000)
        assert claim is not None
        assert store.queue.settle(claim=claim)
    at = "2099-01-01T00:00:00.000Z"
    assert cli("requeue", "ctl", "k", "--yes", "--at", at).code == 0
    assert cli("queue", "--json").lines()[0]["available_at"] == at
    assert cli("requeue", "ctl", "k", "--yes", "--at", "tomorrow").code == 254
    assert cli("requeue", "ctl", "none", "--yes").code == 1


def test_requeue_for_later_leaves_an_earlier_time(cli: Cli, filled: str) -> None:
    """An enqueue is not put off: what is said is when the key is due."""
    waits = next(row for row in cli("queue", "--json").lines() if "claim_expires_at" not in row)
    named = (waits["controller"], waits["key"])
    later = ("--yes", "--at", "2099-01-01T00:00:00Z")
    done = cli("requeue", *named, *later)
    assert done.code == 0
    assert f"stays due at {waits['available_at']}" in done.out
    assert "2099" not in done.out
    assert cli("requeue", *named, *later, "--json").json()["available_at"] == waits["available_at"]


DIES_AT = """
import os, sys
from fencepost.cli import main
from fencepost.engine import probe

point, *arguments = sys.argv[1:]
probe.install(lambda reached: os._exit(9) if reached == point else None)
main(arguments)
"""


@pytest.mark.parametrize("point, done", [("written", False), ("committed", True)])
@pytest.mark.parametrize(
    "command", [["park", "r0"], ["requeue", "ctl", "a"], ["requeue", "ctl", "b"]], ids=str
)
def test_no_act_without_its_event(
    cli: Cli, filled: str, command: list[str], point: str, done: bool
) -> None:
    """Killed around its COMMIT, a command has done both or neither."""

    def state() -> tuple[Any, Any, int]:
        recorded = cli("feed", "--json").lines() + cli("events", "--json").lines()
        return run_of(cli, "r0")["status"], versions(cli), len(recorded)

    before = state()
    argv = [sys.executable, "-c", DIES_AT, point, *command, "--yes"]
    ended = subprocess.run(argv, check=False, timeout=PATIENCE, env=cli.environment())
    assert ended.returncode == 9
    after = state()
    assert (after[2] == before[2] + 1) == done
    assert (after[:2] != before[:2]) == done


def versions(cli: Cli) -> Any:
    """What tells a row of the queue that somebody acted on."""
    keys = [cli("resource", "ctl", key, "--json").json()["queue"] for key in ("a", "b")]
    return [(row["version"], row["claim_version"]) for row in keys]
