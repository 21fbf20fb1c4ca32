"""What is public is documented: the check that `make docs` makes finds what is missing.

The check itself needs no Sphinx. Here it is held to the code; the pages are held to it when
they are built, and by the tests below as far as their text goes.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fencepost
from fencepost import layout
from tests.docs.pages import DOCS, RUN_ELSEWHERE, pages, text


@pytest.fixture(scope="module")
def promised() -> ModuleType:
    pytest.importorskip(
        "click", reason="click, which the harness's commands are made with, is not here"
    )
    spec = importlib.util.spec_from_file_location("promised", DOCS / "_ext" / "promised.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(page: str) -> str:
    """A page's text as the check gets it from the built one: no code marks."""
    return text(page).replace("`", " ").replace("|", " ")


@pytest.mark.parametrize(
    "name",
    [
        "fencepost.open",
        "fencepost.UNSET",
        "fencepost.Store.wait",
        "fencepost.Lease.lost",
        "fencepost.runs.Runs.claim_next",
        "fencepost.Run.fence",
        "fencepost.errors.StoreBusyError",
        "fencepost.observing.StoreEvent",
        "fencepost.paths.default_store",
    ],
)
def test_a_name_that_is_missing_is_found(promised: ModuleType, name: str) -> None:
    names = promised.python_names()
    assert promised.missing_names(names) == []
    assert promised.missing_names(names - {name}) == [name]


def test_every_public_name_is_asked_for(promised: ModuleType) -> None:
    assert {f"fencepost.{name}" for name in fencepost.__all__} - promised.python_names() == {
        "fencepost.FencepostError"  # documented where it is defined, with the other errors
    }


def test_the_reference_names_every_class() -> None:
    reference = "\n".join(text(page) for page in pages() if page.startswith("reference/"))
    missing = [
        name
        for name in fencepost.__all__
        if isinstance(getattr(fencepost, name), type)
        and name != "FencepostError"
        and f"autoclass:: fencepost.{name}" not in reference
    ]
    assert missing == []


def test_a_command_that_is_missing_is_found(promised: ModuleType) -> None:
    pytest.importorskip("fencepost_stress", reason="the harness is not installed")
    commands: dict[str, Any] = promised.commands()
    page = "\n".join(f"fencepost {name} {' '.join(options)}" for name, options in commands.items())
    stress = "\n".join(
        f"fencepost {name} {' '.join(options)}"
        for name, options in promised.stress_commands().items()
    )
    assert list(promised.missing_commands(page, stress)) == []
    assert list(promised.missing_commands(page.replace("fencepost doctor", ""), stress)) == [
        "fencepost doctor"
    ]
    assert list(promised.missing_commands(page, stress.replace("--mutants", ""))) == [
        "fencepost stress --mutants"
    ]


def test_every_command_is_shown_at_work(promised: ModuleType) -> None:
    blocks = [
        block for page in pages() for block in re.findall(r"^```.*?^```", text(page), re.M | re.S)
    ]
    shown = set(re.findall(r"fencepost ([a-z]+)", "\n".join(blocks)))
    assert set(promised.commands()) - shown == set()


def test_codes_and_variables_are_told(promised: ModuleType) -> None:
    assert list(promised.missing_codes(text("reference/command-line"))) == []
    assert list(promised.missing_codes("0")) != []
    assert list(promised.missing_errors(words("reference/errors"))) == []
    assert len(list(promised.missing_errors(""))) == len(promised.error_classes())
    variables = words("reference/environment")
    assert list(promised.missing_variables(variables)) == []
    assert list(promised.missing_variables(variables.replace("NO_COLOR", ""))) == ["NO_COLOR"]


def test_the_file_format_is_told_column_by_column() -> None:
    page = text("reference/file-format")
    for table, columns in layout.expected_columns().items():
        section = re.search(rf"^## {table}\n(.*?)^## ", page, re.M | re.S)
        assert section is not None, table
        assert [one for one in columns if f"`{one}`" not in section[1]] == [], table
    assert [name for name in layout.additions() if f"`{name}`" not in page] == []


def test_every_page_begins_with_what_it_is_about() -> None:
    for page in pages():
        title, about = text(page).split("\n\n", 2)[:2]
        assert title.startswith("# "), page
        assert re.match(r"`?[A-Za-z]", about), page


def test_every_page_is_in_the_table_of_contents() -> None:
    trees = re.findall(r"^```{toctree}\n(.*?)^```", text("index"), re.M | re.S)
    listed = [line for tree in trees for line in tree.splitlines() if line and line[0] != ":"]
    assert sorted([*listed, "index"]) == pages()


def test_every_example_is_run(promised: ModuleType) -> None:
    root = Path(promised.__file__ or "").parents[2]
    for page in RUN_ELSEWHERE:
        assert (root / RUN_ELSEWHERE[page]).is_file()
    illustrations = {"shell", "typescript", "javascript", "{toctree}", "{eval-rst}", ""}
    illustrations |= {"{sphinx_argparse_cli}", "{click}", "{literalinclude}"}
    for page in pages():
        for language in re.findall(r"^```(\S*)[^\n]*\n.*?^```", text(page), re.M | re.S):
            assert language in {"python", "console", *illustrations}, (page, language)
