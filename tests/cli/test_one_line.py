"""No name, path or argument makes a line of its own in what commands print."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import fencepost
from tests.cli.support import Cli, Done

NASTY = "a\nFORGED\x85FORGED\u2028FORGED\u2029FORGED\x1b[31m\rFORGED"
IN_A_KEY = NASTY.translate({10: None, 13: None, 27: None})
"""What a key may have: the store refuses the control characters of ASCII, and no others."""


def plain(done: Done) -> bool:
    """Whether no line is forged and no terminal gets a command."""
    said = done.out + done.err
    assert "FORGED" in said, said
    return not re.search("[^\n -\x7e]", said) and not re.search("^FORGED", said, re.MULTILINE)


def test_hostile_paths(engine: str, tmp_path: Path, cli: Cli) -> None:
    """Of a store, of files that commands write and read, and in complaints about them."""
    store, file = str(tmp_path / f"{NASTY}.sqlite"), str(tmp_path / f"{NASTY}.jsonl")
    fencepost.open(store, engine=engine).close()
    at = ("--store", store)
    for command, code in (
        (("info", store), 0),
        (("doctor", store), 0),
        (("export", file, *at), 0),
        (("export", file, *at), 254),
        (("import", file, "--store", f"{store}.new"), 0),
        (("import", f"{file}.absent", "--store", f"{store}.more"), 254),
        (("backup", f"{file}.copy", *at), 0),
        (("runs", "--store", f"{store}.absent"), 1),
        (("conformance", file), 254),
        (("conformance", f"{file}.absent"), 254),
    ):
        done = cli(*command)
        assert done.code == code, (command, done)
        assert plain(done), (command, done)


@pytest.mark.parametrize(
    "command",
    [
        ("run", NASTY),
        ("resource", "ctl", NASTY),
        ("resource", NASTY, "k"),
        ("runs", "--limit", NASTY),
        ("runs", NASTY),
        ("events", "--controller", NASTY),
        ("park", NASTY, "--yes"),
        ("requeue", "ctl", IN_A_KEY, "--yes"),
        ("requeue", "ctl", "a", "--at", NASTY),
        ("prune", "--done-before", NASTY),
    ],
)
def test_hostile_arguments(command: tuple[str, ...], cli: Cli, filled: str) -> None:
    done = cli(*command)
    assert done.code != 0, done
    assert plain(done), done


def test_hostile_names_in_the_store(cli: Cli, path: str, engine: str) -> None:
    with fencepost.open(path, engine=engine) as store:
        resource = store.resources.put(controller="ctl", key=IN_A_KEY, spec={}, initial_status=None)
        run = {"workflow_name": IN_A_KEY, "workflow_source_ref": IN_A_KEY, "runner_id": IN_A_KEY}
        store.runs.enqueue(run_id="r", **run, lease_ms=3_600_000)
        store.effects.reserve(
            key=IN_A_KEY,
            resource_uid=resource.metadata.uid,
            generation=1,
            kind="k",
            request_fingerprint="f",
        )
        store.events.record(controller="ctl", key=IN_A_KEY, type="t")
        store.feed.record(run_id="r", workflow_ref=IN_A_KEY, type=IN_A_KEY)
    asked: Callable[..., Done] = cli
    for command in (
        ("runs",),
        ("run", "r"),
        ("resources",),
        ("resource", "ctl", IN_A_KEY),
        ("queue",),
        ("effects",),
        ("events",),
        ("feed",),
        ("release", "r", "--yes"),
        ("park", "r"),
        ("requeue", "ctl", IN_A_KEY),
        ("requeue", "ctl", IN_A_KEY, "--yes"),
    ):
        done = asked(*command)
        assert plain(done), (command, done)
