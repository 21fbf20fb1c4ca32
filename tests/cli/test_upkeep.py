"""Pruning, backups, checkpoints, exports and imports."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.cli import main
from fencepost.conformance.operations import dump
from tests.cli.support import Cli
from tests.processes.remote import Child
from tests.support import sql


def tables(path: str | Path, engine: str) -> dict[str, list[dict[str, Any]]]:
    with fencepost.open(path, engine=engine, read_only=True) as store:
        return dump(store)


def test_prune(cli: Cli, filled: str) -> None:
    assert cli("prune").code == 254
    assert cli("prune", "--done-before", "yesterday").code == 254
    done = cli("prune", "--done-before", "1h", "--events-before", "2000-01-01", "--json")
    assert done.json() == {"runs": 0, "events": 0, "run_events": 0}
    done = cli("prune", "--done-before", "0s", "--events-before", "0s", "--json")
    assert done.json() == {"runs": 1, "events": 1, "run_events": 2}
    done = cli("prune", "--events-before", "0s", "--unread", "--limit", "1", "--json")
    assert done.json() == {"runs": 0, "events": 0, "run_events": 1}


def test_a_backup_beside_a_writer(
    cli: Cli, start: Callable[..., Child], engine: str, filled: str, tmp_path: Path
) -> None:
    writer = start().open(Path(filled), engine)
    target = tmp_path / "copy.sqlite"
    assert cli("backup", str(target)).code == 0
    assert tables(target, engine) == tables(filled, engine)
    assert cli("backup", str(target)).code == 1
    assert writer.finish() == 0


def test_checkpoint(cli: Cli, start: Callable[..., Child], engine: str, filled: str) -> None:
    writer = start().open(Path(filled), engine)
    writer.call("feed.record", run_id="r0", workflow_ref="w", type="t")
    done = cli("checkpoint", "--mode", "truncate", "--json")
    assert (done.code, done.json()["complete"]) == (0, True)
    assert Path(f"{filled}-wal").stat().st_size == 0
    assert writer.finish() == 0
    assert cli("checkpoint", "--store", f"{filled}-none").code == 1
    assert not Path(f"{filled}-none").exists()


def exported(cli: Cli) -> list[str]:
    done = cli("export")
    assert done.code == 0
    return done.out.splitlines()


def test_there_and_back(cli: Cli, engine: str, filled: str, tmp_path: Path) -> None:
    file, target = tmp_path / "lines.ndjson", tmp_path / "new.sqlite"
    assert cli("export", str(file), "--json").json()["rows"]["workflow_run_queue"] == 4
    assert cli("export", str(file)).code == 254
    assert file.stat().st_mode & 0o777 == 0o600
    done = cli("import", str(file), "--store", str(target), "--json")
    assert done.code == 0
    assert sum(done.json()["rows"].values()) == len(file.read_text().splitlines()) - 2
    assert tables(target, engine) == tables(filled, engine)
    assert cli("doctor", str(target)).code == 0
    names = sql(target, "SELECT name FROM sqlite_schema WHERE name LIKE 'fencepost_import%'")
    assert names == []


def test_fences_and_sequences_go_on(cli: Cli, engine: str, filled: str, tmp_path: Path) -> None:
    with fencepost.open(filled, engine=engine, synchronous="off") as store:
        store.prune(events_before="2999-01-01", unread=True)
        first = store.runs.get(run_id="r0")
        assert first is not None
        assert first.fence is not None
    target = tmp_path / "new.sqlite"
    lines = "\n".join(exported(cli))
    assert cli("import", "--store", str(target), stdin=lines).code == 0
    with fencepost.open(target, engine=engine, synchronous="off") as store:
        assert store.feed.record(run_id="r0", workflow_ref="w", type="t") == 5
        assert store.events.record(controller="c", key="k", type="t").seq == 2
        kept = store.runs.get(run_id="r0")
        assert kept is not None
        assert kept.fence is not None
        assert kept.claim_token == first.claim_token
        assert kept.fence > first.fence
        taken = store.runs.claim_next(runner_id="bob", lease_ms=1_000)
        assert taken is not None
        assert taken.fence is not None
        assert taken.fence > kept.fence


def spoiled(lines: list[str], how: str) -> list[str]:
    """An export that is wrong in one way."""

    def changed(table: str, **values: Any) -> list[str]:
        out, done = [], False
        for line in lines:
            value = json.loads(line)
            if value.get("table") == table and not done:
                value["row"].update(values)
                done = True
            out.append(json.dumps(value))
        return out

    ways: dict[str, Callable[[], list[str]]] = {
        "cut off": lambda: lines[:-1],
        "a row less": lambda: [lines[0], *lines[2:]],
        "no header": lambda: lines[1:],
        "no lines": list,
        "twice": lambda: lines + lines[1:],
        "no json": lambda: [lines[0], "{", *lines[2:]],
        "no object": lambda: [lines[0], "[]", *lines[2:]],
        "another table": lambda: [line.replace('"effects"', '"sqlite_schema"') for line in lines],
        "another column": lambda: changed("effects", more=1),
        "a status": lambda: changed("workflow_run_queue", status="lost"),
        "a number": lambda: changed("resources", resource_version="1"),
        "a null": lambda: changed("queue", available_at=None),
        "a time": lambda: changed("events", recorded_at="2026-08-04 10:00"),
        "a run id": lambda: changed("workflow_run_queue", run_id="../r"),
        "stored json": lambda: changed("resources", spec_json="{"),
        "a payload": lambda: changed("run_events", payload_json="[]"),
        "a duplicate": lambda: changed("workflow_run_queue", run_id="r1"),
        "an orphan": lambda: changed("effects", resource_uid="nobody"),
        "another schema": lambda: [lines[0].replace(".v1", ".v9"), *lines[1:]],
        "another format": lambda: [lines[0].replace('_export": 1', '_export": 2'), *lines[1:]],
    }
    return ways[how]()


WAYS = (
    "cut off;a row less;no header;no lines;twice;no json;no object;another table;another column;"
    "a status;a number;a null;a time;a run id;stored json;a payload;a duplicate;an orphan;"
    "another schema;another format"
).split(";")


def test_what_is_wrong_is_not_imported(cli: Cli, filled: str, tmp_path: Path) -> None:
    """And leaves nothing behind, neither a store nor a folder."""
    target = tmp_path / "new" / "folders" / "new.sqlite"
    lines = exported(cli)
    for how in WAYS:
        stdin = "\n".join(spoiled(lines, how))
        done = cli("import", "--store", str(target), stdin=stdin)
        assert (done.code, done.out) == (1, ""), how
        assert "please report" not in done.err, how
        assert not (tmp_path / "new").exists(), how
    assert cli("import", "--store", str(target), stdin="\n".join(lines)).code == 0
    assert [file.name for file in target.parent.iterdir()] == ["new.sqlite"]
    assert [target.stat().st_mode & 0o777, target.parent.stat().st_mode & 0o777] == [0o600, 0o700]


def test_an_existing_store_is_left_as_it_was(
    cli: Cli, engine: str, filled: str, tmp_path: Path
) -> None:
    target = tmp_path / "new.sqlite"
    fencepost.open(target, engine=engine).close()
    done = cli("import", "--store", str(target), stdin="\n".join(exported(cli)[:-1]))
    assert done.code == 1
    rows = tables(target, engine)
    assert [name for name in rows if rows[name]] == ["schema_info"]


def test_an_import_overwrites_nothing(cli: Cli, filled: str, tmp_path: Path) -> None:
    (tmp_path / "new.sqlite.unfinished").write_text("somebody else's")
    done = cli("import", "--store", str(tmp_path / "new.sqlite"), stdin="\n".join(exported(cli)))
    assert done.code == 254
    assert (tmp_path / "new.sqlite.unfinished").read_text() == "somebody else's"
    assert not (tmp_path / "new.sqlite").exists()


def test_an_import_where_files_have_one_name(
    cli: Cli, engine: str, filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system without hard links: it is noticed before a row is read."""

    def refuse(*_names: str) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    lines = exported(cli)
    monkeypatch.setattr(os, "link", refuse)
    target, file = tmp_path / "folder" / "new.sqlite", tmp_path / "lines"
    import_it = ["import", str(file), "--store", str(target), "--engine", engine]
    file.write_text("\n".join(lines[:-1]))
    assert main(import_it) == 1
    assert [name for name, rows in tables(target, engine).items() if rows] == ["schema_info"]
    file.write_text("\n".join(lines))
    assert main(import_it) == 0
    assert tables(target, engine) == tables(Path(filled), engine)
    assert [left.name for left in target.parent.iterdir()] == ["new.sqlite"]


def test_a_name_that_is_taken_meanwhile(
    cli: Cli,
    engine: str,
    filled: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Another process makes a file while the import is at it: that one stays."""
    target, file, link = tmp_path / "new.sqlite", tmp_path / "lines", os.link
    file.write_text("\n".join(exported(cli)))

    def late(source: str, name: str) -> None:
        if name == str(target):
            target.write_text("somebody else's")
        link(source, name)

    monkeypatch.setattr(os, "link", late)
    assert main(["import", str(file), "--store", str(target), "--engine", engine]) == 1
    said = f"fencepost: {target}: can't be made: File exists; nothing was done\n"
    assert capsys.readouterr().err == said
    assert target.read_text() == "somebody else's"
    assert [left.name for left in tmp_path.glob("new*")] == ["new.sqlite"]


@pytest.mark.parametrize("taken", ["resources", "run_events"])
def test_only_into_an_empty_store(
    cli: Cli, engine: str, filled: str, tmp_path: Path, taken: str
) -> None:
    target = tmp_path / "new.sqlite"
    with fencepost.open(target, engine=engine, synchronous="off") as store:
        if taken == "resources":
            store.resources.put(controller="c", key="k", spec=1, initial_status=1)
        else:
            store.feed.record(run_id="r", workflow_ref="w", type="t")
    before = tables(target, engine)
    done = cli("import", "--store", str(target), stdin="\n".join(exported(cli)))
    assert done.code == 1
    assert "is not empty" in done.err
    assert tables(target, engine) == before
