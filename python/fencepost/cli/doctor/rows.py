"""Rows that the store could not read."""

from __future__ import annotations

from collections.abc import Iterator

from ...engine.protocol import Engine
from ..rows import TABLES, pages, problem
from .finding import Finding

_SHOWN = 5


def look_at_rows(engine: Engine) -> Iterator[Finding]:
    """One finding a table that has unreadable rows."""
    for table in TABLES:
        found: list[str] = []
        count = 0
        for row in pages(engine, table):
            wrong = problem(table, row)
            if wrong is not None:
                count += 1
                if len(found) < _SHOWN:
                    found.append(wrong)
        if count:
            yield Finding(
                "corrupt_rows",
                "error",
                f"{table}: {count} rows break the rules of the store: {'; '.join(found)}",
                "repair the rows with the sqlite3 tool, or delete them",
                {"table": table, "rows": count, "examples": found},
            )
