"""What commands print: JSON, tables and pairs, safe for any terminal and any pipe."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TextIO

from ..clock import ms_from_time
from ..errors import InvalidArgumentError
from ..shown import one_line

_COLORS = {"error": "31", "warning": "33", "note": "36", "good": "32", "head": "1"}
_MEASURED = 200
_WIDEST = 60
_NARROWEST = 20


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its heading, and what it shows of a row."""

    heading: str
    show: Callable[[Any], str]
    right: bool = False


def as_json(value: Any) -> None:
    """One value on one line; ASCII, so that no locale can spoil it."""
    print(json.dumps(value))


def safe(text: object) -> str:
    """Text without control characters, which a stored value must not send to a terminal."""
    return one_line(str(text))


def say(text: str, stream: TextIO | None = None) -> None:
    """Print one line, whatever names and paths are in it."""
    print(safe(text), file=sys.stdout if stream is None else stream)


def colored(text: str, color: str, stream: TextIO | None = None) -> str:
    """The text in a color, where the stream is a terminal that wants colors."""
    stream = sys.stdout if stream is None else stream
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not stream.isatty():
        return text
    return f"\x1b[{_COLORS[color]}m{text}\x1b[0m"


def table(columns: Sequence[Column], rows: Iterable[Any]) -> int:
    """Print rows as they come; gives their number. Widths are those of the first rows."""
    rows = iter(rows)
    first = list(islice(rows, _MEASURED))
    if not first:
        return 0
    shown = [[safe(column.show(row)) for column in columns] for row in first]
    widths = [
        max(len(column.heading), *(min(len(cells[index]), _WIDEST) for cells in shown))
        for index, column in enumerate(columns)
    ]
    print(colored(_line(columns, widths, [column.heading for column in columns]), "head"))
    number = 0
    rest: Iterator[list[str]] = ([safe(column.show(row)) for column in columns] for row in rows)
    for cells in chain(shown, rest):
        print(_line(columns, widths, cells))
        number += 1
    return number


def _line(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str]) -> str:
    line = "  ".join(
        cell.rjust(width) if column.right else cell.ljust(width)
        for column, width, cell in zip(columns, widths, cells, strict=True)
    ).rstrip()
    width = terminal_width()
    # A full line would wrap; whoever pipes gets all of it.
    return line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def terminal_width() -> int | None:
    """How many columns standard output has; None where it is no terminal, or does not say."""
    if not sys.stdout.isatty():
        return None
    return os.get_terminal_size(sys.stdout.fileno()).columns or None


def indented(first: str, text: str, margin: int) -> str:
    """A paragraph after `first`, on a terminal broken between words, lines below at `margin`.

    What is piped has one line, whatever its length.
    """
    width = terminal_width()
    if width is None or width < margin + _NARROWEST:
        return f"{first}{text}"
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * margin,
        break_on_hyphens=False,
    )


def pairs(members: Iterable[tuple[str, object]]) -> None:
    """Print names and values below each other."""
    listed = list(members)
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        print(indented(f"{name.ljust(width)}  ", safe(value), width + 2))


def listing(
    records: Iterable[Any],
    columns: Sequence[Column],
    *,
    limit: int,
    as_lines: bool,
    nothing: str,
) -> None:
    """Print up to `limit` records (0: all): JSON lines, or a table that says if there is more."""
    records = iter(records)
    chosen = islice(records, limit) if limit else records
    if as_lines:
        for record in chosen:
            as_json(record.to_dict())
        return
    if table(columns, chosen) == 0:
        print(nothing, file=sys.stderr)
    elif limit and next(records, None) is not None:
        print(f"(there are more; --limit 0 shows all, now {limit})", file=sys.stderr)


def page_size(limit: int) -> int:
    """How many rows to read at once for a listing of so many."""
    return min(limit + 1, 500) if limit else 500


def span(ms: int) -> str:
    """A length of time in two digits or so: `850 ms`, `12.3 s`, `4 m`, `3 h`, `2 d`."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1_000:.1f} s"
    for unit, size, most in (("m", 60_000, 120), ("h", 3_600_000, 72)):
        if ms < size * most:
            return f"{ms // size} {unit}"
    return f"{ms // 86_400_000} d"


def lease(expires_at: str | None, now: int) -> str:
    """How long a lease still lasts, or that it has ended."""
    if expires_at is None:
        return "-"
    try:
        left = ms_from_time(expires_at, "claim_expires_at") - now
    except InvalidArgumentError:
        return expires_at
    return f"{span(left)} left" if left > 0 else f"ended {span(-left)} ago"


def size(number: int) -> str:
    """A number of bytes for people."""
    amount = float(number)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def or_dash(value: object) -> str:
    """The value as text; a dash for None."""
    return "-" if value is None else str(value)
