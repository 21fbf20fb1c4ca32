"""What the pages show is what happens, on either engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import require
from tests.docs.pages import ROOT, RUN_ELSEWHERE, Runner, commands, has_examples, pages, text
from tests.docs.shell import Shell


@pytest.mark.parametrize("page", [page for page in pages() if has_examples(page)])
def test_the_examples_of_a_page(
    page: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if 'engine="native"' in text(page):
        require("native")
    monkeypatch.setenv("FENCEPOST_ENGINE", engine)
    monkeypatch.chdir(tmp_path)
    with Shell(tmp_path, FENCEPOST_ENGINE=engine, HOME=str(tmp_path)) as shell:
        runner = Runner(tmp_path, shell)
        runner.run(page)
    assert runner.count > 0


def test_what_is_run_elsewhere_is_run_there() -> None:
    for page, test in RUN_ELSEWHERE.items():
        assert f"{page}.md" in (ROOT / test).read_text("utf-8"), (page, test)
        assert "```console" not in text(page), page


def test_another_output_is_noticed(tmp_path: Path) -> None:
    with Shell(tmp_path) as shell:
        assert shell.run("echo one; false") == "one\nexit code 1\n"
        assert shell.run("pwd") == f"{tmp_path}\n"
    assert commands("$ a \\\n  b\nshown\n$ c\n") == [("a \\\n  b", "shown\n"), ("c", "")]
