"""The layout: whose database it is, and what differs from the store's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ... import layout
from ...engine.protocol import Engine
from .finding import Finding

_LATER = re.compile(r"pi-workflows\.controller-store\.v([0-9]+)")


def look_at_layout(engine: Engine) -> Iterator[Finding]:
    """What differs; nothing where the layout is the store's."""
    tables = {str(row[0]) for row in engine.read("layout.tables", {})}
    if not tables:
        yield Finding(
            "empty",
            "error",
            "is a database without tables",
            "if a store was here, restore a backup; else open it once for writing",
        )
        return
    foreign = _foreign(engine, tables)
    if foreign is not None:
        yield foreign
        return
    differences, newer = _differences(engine)
    if differences:
        yield Finding(
            "newer" if newer else "other_layout",
            "error",
            f"has other tables than this version knows: {'; '.join(differences)}",
            "use the version of the program that made the file",
            {"differences": differences},
        )
        return
    present = {str(row[1]) for row in engine.read("layout.additions", {})}
    missing = sorted((layout.additions() | layout.indexes()) - present)
    if missing:
        yield Finding(
            "incomplete",
            "warning",
            f"lacks indexes, triggers or side tables: {', '.join(missing)}",
            "open it once for writing, which adds it; the other store is not disturbed",
            {"missing": missing},
        )
    left = sorted(name for name in present if name.startswith("fencepost_import"))
    if left:
        yield Finding(
            "unfinished_import",
            "warning",
            f"holds what an import that was killed left behind: {', '.join(left)}",
            "run the import again; it clears this away",
            {"left": left},
        )


def _foreign(engine: Engine, tables: set[str]) -> Finding | None:
    shown = ", ".join(sorted(tables)[:8])
    rows = engine.read("layout.schema_id", {}) if _has_schema_info(engine, tables) else []
    if not rows:
        return Finding(
            "foreign",
            "error",
            f"is the database of another program (it has the tables {shown})",
            "check the path; fencepost writes nothing to it",
            {"tables": sorted(tables)},
        )
    found = str(rows[0][0])
    if found == layout.SCHEMA_ID:
        return None
    later = _LATER.fullmatch(found)
    return Finding(
        "foreign" if later is None else "newer",
        "error",
        f"has the schema {found!r}; this version knows {layout.SCHEMA_ID!r}",
        "use the version of the program that made the file",
        {"schema": found},
    )


def _has_schema_info(engine: Engine, tables: set[str]) -> bool:
    if "schema_info" not in tables:
        return False
    columns = {row[1] for row in engine.read("layout.columns", {}) if row[0] == "schema_info"}
    return {"singleton", "schema_id"} <= columns


def _differences(engine: Engine) -> tuple[list[str], bool]:
    """What differs, and whether there is something that this version does not know."""
    found: dict[str, dict[str, tuple[str, bool, int]]] = {}
    for table, column, kind, not_null, place in engine.read("layout.columns", {}):
        found.setdefault(table, {})[column] = (kind, bool(not_null), place)
    differences, newer = [], False
    for table, columns in layout.expected_columns().items():
        for difference in layout.column_differences(columns, found.get(table)):
            differences.append(f"{table}: {difference}")
        newer = newer or bool(set(found.get(table, {})) - set(columns))
    return differences, newer
