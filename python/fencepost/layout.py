"""The layout of a file: what it must hold, checked before anything is written to it.

A later version of the other store kept the schema id and changed columns, so the
columns are compared too. What they should be is read out of `sql/schema.sql`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TypeAlias

from . import logs
from .engine.protocol import Engine
from .errors import UnsupportedSchemaError
from .statements import script

SCHEMA_ID = "pi-workflows.controller-store.v1"

_Columns: TypeAlias = "dict[str, dict[str, tuple[str, bool, int]]]"
_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+) \((.*?)\n\)", re.DOTALL)
_COLUMN = re.compile(r"\s*([a-z_]+) (TEXT|INTEGER)(.*)")
_PRIMARY_KEY = re.compile(r"PRIMARY KEY \(([^)]*)\)")
_ADDITION = re.compile(
    r"^CREATE (?:TABLE|INDEX|TRIGGER) IF NOT EXISTS (fencepost_\w+)", re.MULTILINE
)


@cache
def expected_columns() -> _Columns:
    """Each table's columns: declared type, NOT NULL, position in the primary key or 0."""
    tables: _Columns = {}
    for name, body in _TABLE.findall(script("schema")):
        columns: dict[str, tuple[str, bool, int]] = {}
        for line in body.splitlines():
            column = _COLUMN.match(line)
            if column:
                inline_key = "PRIMARY KEY" in column[3]
                columns[column[1]] = (column[2], "NOT NULL" in column[3], int(inline_key))
        key = _PRIMARY_KEY.search(body)
        for place, column_name in enumerate(key[1].split(", ") if key else [], start=1):
            kind, not_null, _ = columns[column_name]
            columns[column_name] = (kind, not_null, place)
        tables[name] = columns
    return tables


@cache
def additions() -> frozenset[str]:
    """The names of everything that fencepost adds to the shared tables."""
    return frozenset(_ADDITION.findall(script("additions")))


def prepare(engine: Engine, path: str, *, read_only: bool) -> None:
    """Check the file behind `engine`, and create what is missing of its layout.

    Raises UnsupportedSchemaError for a foreign, a newer or (read-only) an unfinished
    file; nothing was written to it then.
    """
    foreign = [str(row[0]) for row in engine.read("layout.foreign_tables", {})]
    if foreign:
        raise _foreign(path, foreign)
    tables = {str(row[0]) for row in engine.read("layout.tables", {})}
    if "schema_info" in tables:
        _check_columns(engine, path, ["schema_info"])
    unfinished = tables <= {"schema_info"} and not _schema_id(engine, tables)
    if unfinished and read_only:
        raise UnsupportedSchemaError(
            f"{path}: has no schema; open it once for writing to create it"
        )
    if not unfinished:
        _check(engine, path, tables)
    missing = additions() - _present(engine)
    if read_only:
        if missing:
            raise UnsupportedSchemaError(
                f"{path}: lacks what fencepost adds to the shared tables ({min(missing)} and the "
                "like); open it once for writing to complete it"
            )
        return
    engine.use_wal()
    if missing:
        foreign = engine.create_schema()
        if foreign:
            raise _foreign(path, foreign)
        _check(engine, path, {str(row[0]) for row in engine.read("layout.tables", {})})
        logs.created(path, missing, new=unfinished)


def _schema_id(engine: Engine, tables: set[str]) -> str | None:
    if "schema_info" not in tables:
        return None
    rows = engine.read("layout.schema_id", {})
    return str(rows[0][0]) if rows else None


def _present(engine: Engine) -> set[str]:
    return {str(row[1]) for row in engine.read("layout.additions", {})}


def _check(engine: Engine, path: str, tables: set[str]) -> None:
    if "schema_info" not in tables:
        raise _foreign(path, sorted(tables))
    found_id = _schema_id(engine, tables)
    if found_id != SCHEMA_ID:
        raise UnsupportedSchemaError(
            f"{path}: has the schema {found_id!r}, this version of fencepost knows {SCHEMA_ID!r}; "
            "use the program that made the file, or another file",
            table="schema_info",
        )
    _check_columns(engine, path, list(expected_columns()))


def _check_columns(engine: Engine, path: str, tables: list[str]) -> None:
    found: _Columns = {}
    for table, column, kind, not_null, place in engine.read("layout.columns", {}):
        found.setdefault(table, {})[column] = (kind, bool(not_null), place)
    for table in tables:
        differences = column_differences(expected_columns()[table], found.get(table))
        if differences:
            raise UnsupportedSchemaError(
                f"{path}: the table {table} has another layout: {'; '.join(differences)}; "
                "it was made by another version of the store, use that one",
                table=table,
            )


def column_differences(
    expected: dict[str, tuple[str, bool, int]], found: dict[str, tuple[str, bool, int]] | None
) -> list[str]:
    """What is different in a table's columns, in words; `found` is None for no such table."""
    if found is None:
        return ["it is missing"]
    differences = [f"the column {name} is missing" for name in expected if name not in found]
    differences += [f"it has a column {name}" for name in found if name not in expected]
    differences += [
        f"the column {name} is declared otherwise"
        for name in expected
        if name in found and found[name] != expected[name]
    ]
    return differences


def _foreign(path: str, tables: list[str]) -> UnsupportedSchemaError:
    shown = ", ".join(sorted(tables)[:5])
    return UnsupportedSchemaError(
        f"{path}: is the database of another program (it has the tables {shown}); use another file"
    )
