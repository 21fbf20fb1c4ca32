"""`fencepost export [FILE]`: the shared tables as lines of JSON.

The first line says what the file is and where its counters stand; each other line is one
row, `{"table": ..., "row": {column: value}}`, values as SQLite holds them; the last line
counts the rows, so that a file that was cut off is noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from ..errors import CorruptRowError
from ..layout import SCHEMA_ID
from ..opening import open as open_store
from ..shown import why_not
from ..store import Store, engine_of
from .arguments import UsageError, on_store
from .exits import OK
from .output import as_json, say
from .rows import TABLES, pages
from .stores import reading

FORMAT = 1


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = on_store(
        commands,
        "export",
        export,
        "write the shared tables as lines of JSON",
        "Write one snapshot of the shared tables as lines of JSON. It is read from a temporary "
        "copy (in $TMPDIR), so others go on meanwhile.",
    )
    parser.add_argument(
        "target", nargs="?", default="-", metavar="FILE", help="a new file; default standard output"
    )


def export(arguments: argparse.Namespace) -> int:
    """Write the lines."""
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        copy = os.path.join(folder, "copy.sqlite")
        with reading(arguments) as store:
            store.backup(copy)
            engine = store.engine_name
        with open_store(copy, engine=engine, read_only=True) as snapshot:
            if arguments.target == "-":
                _write(snapshot, print)
                return OK
            counts = _write_file(snapshot, arguments.target)
    if arguments.json:
        as_json({"path": arguments.target, "rows": counts})
    else:
        say(f"{arguments.target}: {sum(counts.values())} rows", sys.stderr)
    return OK


def _write_file(store: Store, target: str) -> dict[str, int]:
    try:
        with open(target, "x", encoding="ascii", opener=_private) as file:
            return _write(store, lambda line: print(line, file=file))
    except FileExistsError:
        raise UsageError(f"{target}: exists already; choose another path") from None
    except OSError as error:
        raise UsageError(f"{target}: {why_not(target, error)}") from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write(store: Store, emit: Callable[[str], object]) -> dict[str, int]:
    fence, events, run_events = engine_of(store).read("dump.counters", {})[0]
    header = {
        "fencepost_export": FORMAT,
        "schema_id": SCHEMA_ID,
        "fence": fence,
        "last_seq": {"events": events, "run_events": run_events},
    }
    emit(json.dumps(header))
    counts = dict.fromkeys(TABLES, 0)
    for table in TABLES:
        for row in pages(engine_of(store), table):
            for column, value in row.items():
                if not (value is None or type(value) in (int, str)):
                    key = str(next(iter(row.values())))
                    raise CorruptRowError(
                        f"{table} {key}: the column {column} can't be exported; repair the row",
                        table=table,
                        key=key,
                        column=column,
                    )
            emit(json.dumps({"table": table, "row": row}))
            counts[table] += 1
    emit(json.dumps({"end": True, "rows": counts}))
    return counts
