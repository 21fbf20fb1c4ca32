"""`fencepost import [FILE]`: what `export` wrote, into an empty store; all of it or nothing.

Lines are checked one by one and wait in a table of their own inside the store; one
statement then moves them all, which SQLite does as a whole or not at all.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import Any

from ..canonical import parse_json
from ..errors import FencepostError, InvalidArgumentError, UnsupportedSchemaError
from ..layout import SCHEMA_ID, expected_columns
from ..opening import open as open_store
from ..store import Store, engine_of
from ..validation import integer
from .arguments import UsageError, on_store
from .exits import OK
from .export import FORMAT
from .output import as_json, say
from .placing import in_place
from .rows import TABLES, problem
from .stores import path_of

_AT_ONCE = 500
_LONGEST_LINE = 16 * 1024 * 1024
_CONSTRAINT = re.compile(r"[A-Z ]+ constraint failed(?:: [\w., ]+)?|the store is not empty")
_SQLITE_CONSTRAINT = 19


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = on_store(
        commands,
        "import",
        import_lines,
        "fill an empty store with what export wrote",
        "Fill an empty or new store with what export wrote: every line is checked, and all of it "
        "is imported or nothing. Claims keep their tokens and leases; fences go on from where "
        "they stood.",
    )
    parser.add_argument(
        "source", nargs="?", default="-", metavar="FILE", help="default standard input"
    )


def import_lines(arguments: argparse.Namespace) -> int:
    """Read the lines and fill the store."""
    with ExitStack() as stack:
        source: Iterable[str]
        if arguments.source == "-":
            source = sys.stdin
        else:
            try:
                source = stack.enter_context(open(arguments.source, encoding="utf-8"))
            except OSError as error:
                raise UsageError(f"{arguments.source}: {error.strerror}") from error
        lines = _checked(source)
        header = next(lines, None)
        if header is None:
            raise InvalidArgumentError("import: there are no lines; use what export wrote")
        path = path_of(arguments)
        with in_place(path) as where, open_store(where, engine=arguments.engine) as store:
            counts = _fill(store, header, lines)
    if arguments.json:
        as_json({"path": path, "rows": counts})
    else:
        say(f"{path}: {sum(counts.values())} rows imported")
    return OK


def _fill(store: Store, header: _Line, lines: Iterator[_Line]) -> dict[str, int]:
    taken = engine_of(store).read("dump.some_row", {})
    if taken:
        raise InvalidArgumentError(
            f"import: {store.path} is not empty (its table {taken[0][0]} has rows); "
            "import into a new file"
        )
    counts = dict.fromkeys(TABLES, 0)
    change = engine_of(store).change
    for statement in ("import_drop", "import_table", "import_index", "import_move"):
        change(f"dump.{statement}", {})
    try:
        change("dump.import_lines", {"lines": json.dumps([header])})
        while batch := list(islice(lines, _AT_ONCE)):
            change("dump.import_lines", {"lines": json.dumps(batch)})
            for _, table, _ in batch:
                counts[table] += 1
        change("dump.import_end", {})
    except FencepostError as error:
        raise _explained(error) from error
    finally:
        change("dump.import_drop", {})
    return counts


def _explained(error: FencepostError) -> FencepostError:
    if error.sqlite_code is None or error.sqlite_code & 0xFF != _SQLITE_CONSTRAINT:
        return error
    said = _CONSTRAINT.search(str(error))
    why = said[0] if said else "a constraint failed"
    return InvalidArgumentError(f"import: the rows contradict each other ({why}); nothing was done")


_Line = tuple[int, str, str]
"""Its number, the table (`"header"` for the first), and the row as JSON text."""


def _checked(source: Iterable[str]) -> Iterator[_Line]:
    """The header and the rows, each checked; InvalidArgumentError names the line."""
    number, counts, ended = 0, dict.fromkeys(TABLES, 0), False
    for number, line in enumerate(_texts(source)):
        here = f"line {number + 1}"
        if ended:
            raise InvalidArgumentError(f"{here}: comes after the end; use one whole export")
        value = _object(line, here)
        if number == 0:
            yield 0, "header", _header(value)
        elif value.get("end") is True:
            if value.get("rows") != counts:
                raise InvalidArgumentError(f"{here}: the rows are not as many as were exported")
            ended = True
        else:
            table = value.get("table")
            if table not in counts or set(value) != {"table", "row"}:
                raise InvalidArgumentError(f"{here}: is no row of a table of the store")
            row = value["row"]
            if not isinstance(row, dict) or set(row) != set(expected_columns()[table]):
                raise InvalidArgumentError(f"{here}: has other columns than the table {table}")
            wrong = problem(table, row)
            if wrong is not None:
                raise InvalidArgumentError(f"{here}: {table} {wrong}")
            counts[table] += 1
            yield number, table, json.dumps(row)
    if number and not ended:
        raise InvalidArgumentError("import: the last line is missing: the export was cut off")


def _texts(source: Iterable[str]) -> Iterator[str]:
    try:
        for line in source:
            if len(line) > _LONGEST_LINE:
                raise InvalidArgumentError("import: a line is longer than any row can be")
            yield line
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"import: is no UTF-8: {error}") from None
    except OSError as error:
        raise UsageError(f"import: can't be read: {error.strerror}") from error


def _object(line: str, here: str) -> dict[str, Any]:
    try:
        value = parse_json(line)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{here}: is no JSON ({error})") from None
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{here}: is no JSON object")
    return value


def _header(value: dict[str, Any]) -> str:
    if value.get("fencepost_export") != FORMAT:
        raise InvalidArgumentError("line 1: is not the first line of an export of this version")
    if value.get("schema_id") != SCHEMA_ID:
        raise UnsupportedSchemaError(f"line 1: is of the schema {value.get('schema_id')!r}")
    last_seq = value.get("last_seq")
    if not isinstance(last_seq, dict):
        last_seq = {}
    counters = {
        "fence": integer(value.get("fence"), "line 1: fence", most=2**62),
        "last_seq": {
            feed: integer(last_seq.get(feed), f"line 1: last_seq.{feed}", most=2**62)
            for feed in ("events", "run_events")
        },
    }
    return json.dumps(counters)
