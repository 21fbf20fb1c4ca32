"""The named SQL statements that both engines execute, read from `fencepost/sql`."""

from __future__ import annotations

from functools import cache
from importlib import resources

_MARK = "-- name: "


def script(name: str) -> str:
    """The whole text of one `.sql` file, such as `"schema"`."""
    return resources.files("fencepost").joinpath("sql", f"{name}.sql").read_text("utf-8")


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
