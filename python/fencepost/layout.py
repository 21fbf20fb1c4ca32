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
from .errors import CorruptStoreError, FencepostError, UnsupportedSchemaError
from .statements import script

SCHEMA_ID = "pi-workflows.controller-store.v1"
_MOST_LOOKS = 20
_SQLITE_CONSTRAINT_UNIQUE = 2067

_Columns: TypeAlias = "dict[str, dict[str, tuple[str, bool, int]]]"
_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+) \((.*?)\n\)", re.DOTALL)
_COLUMN = re.compile(r"\s*([a-z_]+) (TEXT|INTEGER)(.*)")
_PRIMARY_KEY = re.compile(r"PRIMARY KEY \(([^)]*)\)")
_INDEX = re.compile(r"^CREATE (?:UNIQUE )?INDEX IF NOT EXISTS (\w+)", re.MULTILINE)
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


@cache
def indexes() -> frozenset[str]:
    """The names of the shared tables' own indexes."""
    return frozenset(_INDEX.findall(script("schema")))


def prepare(engine: Engine, path: str, *, read_only: bool) -> None:
    """Check the file behind `engine`, and create what is missing of its layout.

    Raises UnsupportedSchemaError for a foreign, a newer or (read-only) an unfinished
    file; nothing was written to it then; CorruptStoreError where a unique index is missing
    and rows contradict it. Another process may make a layout meanwhile:
    nothing is created then either, and its layout is looked at.
    """
    for _ in range(_MOST_LOOKS):
        version = _version(engine)
        missing, schema_id = _missing(engine, path, read_only=read_only)
        if read_only:
            if missing:
                raise UnsupportedSchemaError(
                    f"{path}: lacks what belongs to its tables ({min(missing)} and the like); "
                    "open it once for writing to complete it"
                )
            return
        engine.use_wal()
        if not missing and _version(engine) == version:
            return
        if missing and _create(engine, path, version, schema_id):
            logs.created(path, missing, new=schema_id is None)
            return
    raise UnsupportedSchemaError(
        f"{path}: another program changes its tables all the time; open it when that is done"
    )


def _create(engine: Engine, path: str, version: int, schema_id: str | None) -> bool:
    try:
        return engine.create_schema(version, schema_id)
    except FencepostError as error:
        if error.sqlite_code != _SQLITE_CONSTRAINT_UNIQUE:
            raise
        raise CorruptStoreError(
            f"{path}: a unique index is missing, and rows contradict it by now ({error}); "
            "restore a backup, or remove the rows that are too many",
            sqlite_code=error.sqlite_code,
        ) from error


def _version(engine: Engine) -> int:
    return int(engine.read("layout.version", {})[0][0])


def _missing(engine: Engine, path: str, *, read_only: bool) -> tuple[frozenset[str], str | None]:
    """What is missing beside the tables, and the schema's id, of a file that may have it."""
    foreign = [str(row[0]) for row in engine.read("layout.foreign_tables", {})]
    if foreign:
        raise _foreign(path, foreign)
    tables = {str(row[0]) for row in engine.read("layout.tables", {})}
    schema_id = None
    if "schema_info" in tables:
        _check_columns(engine, path, ["schema_info"])
        rows = engine.read("layout.schema_id", {})
        schema_id = str(rows[0][0]) if rows else None
    if tables <= {"schema_info"} and schema_id is None:
        if read_only:
            raise UnsupportedSchemaError(
                f"{path}: has no schema; open it once for writing to create it"
            )
    else:
        _check(engine, path, tables, schema_id)
    present = {str(row[1]) for row in engine.read("layout.additions", {})}
    return (additions() | indexes()) - present, schema_id


def _check(engine: Engine, path: str, tables: set[str], found_id: str | None) -> None:
    if "schema_info" not in tables:
        raise _foreign(path, sorted(tables))
    if found_id != SCHEMA_ID:
        raise UnsupportedSchemaError(
            f"{path}: has the schema {found_id!r}, this version of fencepost knows {SCHEMA_ID!r}; "
            "use the program that made the file, or another file",
            table="schema_info",
        )
    _check_columns(engine, path, list(expected_columns()))


def _columns(engine: Engine) -> _Columns:
    found: _Columns = {}
    for table, column, kind, not_null, place in engine.read("layout.columns", {}):
        found.setdefault(table, {})[column] = (kind, bool(not_null), place)
    return found


def _check_columns(engine: Engine, path: str, tables: list[str]) -> None:
    found = _columns(engine)
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
