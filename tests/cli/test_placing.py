"""Where files get their names: what an import leaves behind, and what is said where none can be."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

import fencepost
from fencepost.cli import main
from fencepost.errors import StoreIOError
from tests.cli.support import Cli
from tests.cli.test_upkeep import exported


def test_a_second_name_that_is_somebody_elses_stays(cli: Cli, filled: str, tmp_path: Path) -> None:
    taken = tmp_path / "new.sqlite.unfinished.link"
    taken.write_text("somebody else's")
    lines = "\n".join(exported(cli))
    done = cli("import", "--store", str(tmp_path / "new.sqlite"), stdin=lines)
    assert (done.code, done.out) == (254, "")
    said = f"fencepost import: {taken}: exists already; remove it, if no import is at it\n"
    assert done.err == said
    assert [(file.name, file.read_text()) for file in tmp_path.glob("new*")] == [
        (taken.name, "somebody else's")
    ]
    taken.unlink()
    assert cli("import", "--store", str(tmp_path / "new.sqlite"), stdin=lines).code == 0
    assert [file.name for file in tmp_path.glob("new*")] == ["new.sqlite"]


@pytest.mark.parametrize("when", [1, 2])
def test_an_interrupt_at_a_link_leaves_nothing(
    cli: Cli,
    engine: str,
    filled: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when: int,
) -> None:
    """Of the file that was not whole; the second link gives the whole one its name."""
    target, file, link, links = tmp_path / "folder" / "new.sqlite", tmp_path / "lines", os.link, []
    file.write_text("\n".join(exported(cli)))

    def interrupted(source: str, name: str) -> None:
        link(source, name)
        links.append(name)
        if len(links) == when:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", interrupted)
    assert main(["import", str(file), "--store", str(target), "--engine", engine]) == 130
    if when == 1:
        assert not target.parent.exists()
    else:
        assert [left.name for left in target.parent.iterdir()] == ["new.sqlite"]


def test_a_source_that_can_not_be_read_is_named_so(
    cli: Cli,
    engine: str,
    filled: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Torn(io.StringIO):
        """A pipe that breaks after the first line."""

        def __next__(self) -> str:
            if self.tell():
                raise OSError(5, "Input/output error")
            return super().__next__()

    monkeypatch.setattr(sys, "stdin", Torn("\n".join(exported(cli))))
    target = tmp_path / "folder" / "new.sqlite"
    assert main(["import", "--store", str(target), "--engine", engine]) == 254
    assert "import: can't be read: Input/output error" in capsys.readouterr().err
    assert not target.parent.exists()


@pytest.mark.parametrize("where", ["file", "file/sub", "dangling"])
def test_a_folder_that_is_none_is_named(
    cli: Cli, engine: str, filled: str, tmp_path: Path, where: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    target = tmp_path / where / "new.sqlite"
    why = f"{tmp_path / where.split('/', maxsplit=1)[0]} is no folder"
    done = cli("import", "--store", str(target), stdin="\n".join(exported(cli)))
    assert (done.code, done.err) == (
        1,
        f"fencepost: {target}: can't be made: {why}; nothing was done\n",
    )
    done = cli("export", str(target))
    assert (done.code, done.err) == (254, f"fencepost export: {target}: {why}\n")
    with pytest.raises(StoreIOError) as refused:
        fencepost.open(target, engine=engine)
    assert str(refused.value) == f"{target}: can't be created: {why}; check the path"
    with (
        fencepost.open(filled, engine=engine) as store,
        pytest.raises(StoreIOError) as refused,
    ):
        store.backup(target)
    assert str(refused.value) == f"{target}: can't be created: {why}"
    assert (tmp_path / "file").read_text() == "no folder"
