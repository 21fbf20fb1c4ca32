"""The named SQL statements that both engines execute, read from `fencepost/sql`.

All of them are read at once, with the package: an upgrade under a process that runs must
not mix the SQL of one version with the code of another.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

_MARK = "-- name: "


def _read() -> dict[str, str]:
    folder = resources.files("fencepost").joinpath("sql")
    files = (file for file in folder.iterdir() if file.name.endswith(".sql"))
    return {file.name.removesuffix(".sql"): file.read_text("utf-8") for file in files}


_SCRIPTS = _read()


def scripts() -> dict[str, str]:
    """The whole texts of all `.sql` files, by their names without the suffix."""
    return dict(_SCRIPTS)


def script(name: str) -> str:
    """The whole text of one `.sql` file, such as `"schema"`."""
    return _SCRIPTS[name]


@cache
def table(name: str) -> dict[str, str]:
    """The statements of one `.sql` file by their names, comments left out."""
    statements: dict[str, str] = {}
    for part in script(name).split(_MARK)[1:]:
        title, _, body = part.partition("\n")
        lines = [line for line in body.splitlines() if not line.startswith("--")]
        statements[title.strip()] = "\n".join(lines).strip().rstrip(";")
    return statements


@cache
def statement(name: str) -> str:
    """One statement by its full name, such as `"runs.claim"`."""
    file, _, title = name.partition(".")
    return table(file)[title]
