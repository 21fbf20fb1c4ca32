"""Looking into a store: lists, single rows, pipes and colors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from tests.cli.support import PATIENCE, Cli
from tests.processes.remote import Child
from tests.support import bytes_of, sql

LISTS = {
    "runs": ("run_id", ["r0", "r1", "r2", "r3"]),
    "queue": ("key", ["a", "b"]),
    "effects": ("key", ["e"]),
    "events": ("type", ["made"]),
    "feed": ("run_id", ["r0", "r1", "r2", "r3"]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_json_lines_and_tables(cli: Cli, filled: str, name: str) -> None:
    member, values = LISTS[name]
    done = cli(name, "--json")
    assert (done.code, done.err) == (0, "")
    assert [line[member] for line in done.lines()] == values
    table = cli(name)
    assert table.code == 0
    for value in values:
        assert value in table.out


def test_json_is_the_record(cli: Cli, filled: str) -> None:
    with fencepost.open(filled, engine=cli.engine, read_only=True) as store:
        runs = [run.to_dict() for run in store.runs.list()]
        resources = [resource.to_dict() for resource in store.resources.list()]
    assert cli("runs", "--json").lines() == runs
    assert cli("run", "r1", "--json").json() == runs[1]
    assert cli("resources", "--json").lines() == resources
    shown = cli("resource", "ctl", "b", "--json").json()
    assert shown["resource"] == resources[1]
    assert shown["queue"]["version"] == 1
    assert [effect["key"] for effect in shown["effects"]] == ["e"]
    assert [request["request_key"] for request in shown["requests"]] == ["q"]


def test_a_limit_says_that_there_is_more(cli: Cli, filled: str) -> None:
    done = cli("runs", "--limit", "2")
    assert len(done.out.splitlines()) == 3
    assert "--limit 0 shows all" in done.err
    everything = cli("runs", "--limit", "0")
    assert len(everything.out.splitlines()) == 5
    assert everything.err == ""
    assert [line["seq"] for line in cli("feed", "--json", "--limit", "2").lines()] == [3, 4]
    assert [line["seq"] for line in cli("feed", "--json", "--after", "1").lines()] == [2, 3, 4]


def test_filters(cli: Cli, filled: str) -> None:
    assert [run["run_id"] for run in cli("runs", "--status", "done", "--json").lines()] == ["r3"]
    assert cli("queue", "--controller", "none").err == "nothing waits\n"
    assert len(cli("queue", "--controller", "ctl", "--json").lines()) == 2
    assert cli("effects", "--state", "applied", "--json").out == ""
    assert cli("events", "--key", "b", "--json").out == ""
    assert [event["seq"] for event in cli("feed", "--run", "r2", "--json").lines()] == [3]


def test_a_filter_counts_before_the_limit(cli: Cli, filled: str) -> None:
    """A page is full as long as there are rows that fit, wherever they are."""
    with fencepost.open(filled, engine=cli.engine, synchronous="off") as store:
        for number in range(20):
            name = "r0" if number < 3 else "r1"
            store.feed.record(run_id=name, workflow_ref="w", type=f"t{number}")
            store.events.record(controller="other", key="x", type="t")
            store.resources.put(controller="aaa", key=f"k{number}", spec=1, initial_status=1)
        resource = store.resources.get(controller="ctl", key="a")
        assert resource is not None
        for number in range(5):
            store.effects.reserve(
                key=f"new{number}",
                resource_uid=resource.metadata.uid,
                generation=1,
                kind="call",
                request_fingerprint="f",
            )
        store.effects.update(resource_uid=resource.metadata.uid, key="new4", state="applied")

    def listed(*command: str) -> list[Any]:
        done = cli(*command, "--json")
        assert (done.code, done.err) == (0, "")
        return done.lines()

    assert [event["type"] for event in listed("feed", "--run", "r0", "--limit", "3")] == [
        *("t0", "t1", "t2"),
    ]
    assert [event["seq"] for event in listed("feed", "--run", "r0", "--after", "1")] == [5, 6, 7]
    assert len(listed("feed", "--run", "r1", "--limit", "0")) == 18
    assert [event["type"] for event in listed("events", "--key", "a", "--limit", "1")] == ["made"]
    assert [item["key"] for item in listed("queue", "--controller", "ctl", "--limit", "2")] == [
        *("a", "b"),
    ]
    assert len(listed("queue", "--controller", "aaa", "--limit", "0")) == 20
    assert [
        effect["key"] for effect in listed("effects", "--state", "applied", "--limit", "1")
    ] == ["new4"]
    assert len(listed("runs", "--status", "claimed", "--limit", "2")) == 2
    assert cli("queue", "--controller", "no name").code == 1


def test_more_rows_than_a_page(cli: Cli, path: str) -> None:
    with fencepost.open(path, engine=cli.engine, synchronous="off") as store:
        store.runs.enqueue_many(
            items=[
                {
                    "run_id": f"r{number}",
                    "workflow_name": "w",
                    "workflow_source_ref": "/w",
                    "runner_id": "a",
                    "lease_ms": 1,
                }
                for number in range(1203)
            ]
        )
    assert len(cli("runs", "--json", "--limit", "0").lines()) == 1203
    assert len(cli("runs", "--limit", "0").out.splitlines()) == 1204


@pytest.mark.parametrize("command", [["run", "none"], ["resource", "ctl", "none"]], ids=str)
def test_what_is_not_there(cli: Cli, filled: str, command: list[str]) -> None:
    done = cli(*command)
    assert (done.code, done.out) == (1, "")
    assert "none" in done.err


def test_errors_of_the_store(cli: Cli, path: str) -> None:
    done = cli("runs")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("fencepost: ")
    said = json.loads(cli("runs", "--json").err)["error"]
    assert said["code"] == "io"
    assert path in said["message"]
    assert not Path(path).exists()


def test_a_pipe_that_closes_is_no_error(cli: Cli, filled: str) -> None:
    first_line = [sys.executable, "-c", "print(input(), flush=True)"]
    reader = subprocess.Popen(first_line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert reader.stdin is not None
    with reader.stdin as pipe:
        pipe.write(b"x\n")
        pipe.flush()
        assert reader.stdout is not None
        assert reader.stdout.read() == b"x\n"
        reader.wait(PATIENCE)
        done = subprocess.run(
            cli.argv("runs"),
            stdout=pipe,
            stderr=subprocess.PIPE,
            check=False,
            env=cli.environment(),
            timeout=PATIENCE,
        )
    reader.stdout.close()
    assert (done.returncode, done.stderr) == (0, b"")


def test_control_characters_stay_in_the_store(cli: Cli, filled: str) -> None:
    sql(filled, "UPDATE effects SET error = 'red \x1b[31m'")
    done = cli("effects")
    assert "red \\x1b[31m" in done.out
    assert "\x1b" not in done.out


def test_nothing_is_written(cli: Cli, filled: str) -> None:
    before, beside = bytes_of(filled), sorted(Path(filled).parent.iterdir())
    for command in (["runs"], ["info", filled], ["doctor", filled], ["resource", "ctl", "a"]):
        assert cli(*command).code == 0, command
    assert bytes_of(filled) == before
    assert sorted(Path(filled).parent.iterdir()) == beside


def test_beside_a_process_that_writes(
    cli: Cli, start: Callable[..., Child], engine: str, filled: str
) -> None:
    writer = start().open(Path(filled), engine)
    for number in range(5):
        writer.call("feed.record", run_id="r0", workflow_ref="w", type=f"t{number}")
        assert cli("feed", "--json", "--limit", "1").lines()[0]["type"] == f"t{number}"
    assert cli("runs", "--json").lines()[0]["run_id"] == "r0"
    assert writer.finish() == 0


@pytest.mark.parametrize("command", ["feed", "events"])
def test_following(
    cli: Cli, start: Callable[..., Child], engine: str, filled: str, command: str
) -> None:
    writer = start().open(Path(filled), engine)
    follower = cli.start(command, "--follow", "--json", "--limit", "1")
    assert follower.stdout is not None
    assert json.loads(follower.stdout.readline())["seq"] == (4 if command == "feed" else 1)
    for number in range(3):
        if command == "feed":
            writer.call("feed.record", run_id="r0", workflow_ref="w", type=f"t{number}")
        else:
            writer.call("events.record", controller="ctl", key="a", type=f"t{number}")
        assert json.loads(follower.stdout.readline())["type"] == f"t{number}"
    follower.send_signal(2)
    out, err = follower.communicate(timeout=PATIENCE)
    assert (follower.returncode, out, err) == (130, "", "")
    assert writer.finish() == 0


def test_info_of_a_store(cli: Cli, filled: str) -> None:
    store = cli("info", filled, "--json").json()["store"]
    assert store["path"] == filled
    assert store["schema"] == "pi-workflows.controller-store.v1"
    assert store["journal"] == "wal"
    assert store["mode"] == "0600"
    assert store["runs"] == {"claimed": 2, "parked": 1, "done": 1, "expired": 0}
    assert store["pages"]["count"] * store["pages"]["bytes"] == store["file_bytes"]
    words = cli("info", filled).out
    assert "2 claimed, 1 parked, 1 done, 0 expired" in words
    assert cli("info", f"{filled}-none").code == 1


def test_info_tells_the_library_of_the_engine(cli: Cli, filled: str) -> None:
    info = cli("info", "--json").json()
    assert info["engine"] == cli.engine
    assert isinstance(info["native_sqlite_can_lose_commits"], bool)
