"""How `top` looks. The only module that needs rich."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import zip_longest

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...clock import iso_from_ms
from ..output import or_dash, safe, size, span
from .readings import Reading

_BAR = 10
_BAR_MS = 30_000
_SOON_MS = 5_000
_TALL = 32


@contextmanager
def shown() -> Iterator[Callable[[Reading], None]]:
    """The whole terminal; the function that it gives shows a reading."""
    console = Console()
    with Live(console=console, screen=True, auto_refresh=False) as live:
        yield lambda one: live.update(frame(one, *console.size), refresh=True)


def print_once(one: Reading) -> None:
    """One reading, below what is on the terminal."""
    width = shutil.get_terminal_size((100, 40)).columns
    Console(width=width).print(frame(one, width, 40))


def frame(one: Reading, width: int, height: int) -> RenderableType:
    """The view of one reading in so many columns and lines."""
    tall = height >= _TALL
    panel = 9 if tall else 6
    # The head has a line, and each of the two tables of claims three beside its rows.
    for_runs, for_keys = _shared(height - 1 - panel - 6, len(one.run_claims), len(one.key_claims))
    counts = Table.grid(expand=True, padding=(0, 1))
    counts.add_row(_counts(one, panel, tall=tall), _workers(one, panel), _rates(one, panel))
    return Group(_head(one, width), counts, _run_claims(one, for_runs), _key_claims(one, for_keys))


def _shared(lines: int, runs: int, keys: int) -> tuple[int, int]:
    """How many rows two tables get: half each, and what one does not need the other has."""
    half = max(2, lines // 2)
    if keys < half:
        return max(2, lines - max(1, keys)), max(1, keys)
    if runs < half:
        return max(1, runs), max(2, lines - max(1, runs))
    return max(2, lines - half), half


def _head(one: Reading, width: int) -> RenderableType:
    sizes = f"{size(one.stats.file_bytes)} + log {size(one.stats.wal_bytes)}"
    right = f"{one.engine}  {sizes}  {iso_from_ms(one.now)[11:19]} UTC  q ends"
    title, path = "fencepost  ", safe(one.path)
    # Where not all fits, the path's end says more than its beginning.
    room = max(8, width - len(title) - len(right) - 2)
    path = path if len(path) <= room else f"…{path[1 - room :]}"
    left = f"{title}{path.ljust(room)}  "
    return Text.assemble((left, "bold"), right, no_wrap=True, overflow="crop")


def _counts(one: Reading, height: int, *, tall: bool) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    runs, keys = list(one.stats.runs.items()), list(one.stats.queue.items())
    if tall:
        for what, counts in (("runs", runs), ("keys", keys)):
            for name, number in counts:
                table.add_row(f"{what} {name}", _number(name, number))
        return Panel(table, title="counts", height=height)
    for run, key in zip_longest(runs, keys, fillvalue=("", None)):
        table.add_row(run[0], _number(*run), "", key[0], _number(*key))
    return Panel(table, title="runs · keys", height=height)


def _number(name: str, number: int | None) -> Text:
    if number is None:
        return Text()
    bad = name == "expired" and number
    return Text(str(number), style="bold red" if bad else "bold", no_wrap=True)


def _workers(one: Reading, height: int) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    for worker in one.workers[: height - 2]:
        table.add_row(
            Text(safe(or_dash(worker.runner_id)), overflow="ellipsis", no_wrap=True),
            Text(f"{worker.runs} run{'s' * (worker.runs != 1)}", no_wrap=True),
            _left(worker.first_left_ms),
        )
    return Panel(table, title=f"workers ({len(one.workers)})", height=height)


def _rates(one: Reading, height: int) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    for name, rate in list(one.per_second.items())[: height - 2]:
        table.add_row(Text(safe(name), no_wrap=True), Text(f"{rate:.1f}/s", style="bold"))
    return Panel(table, title=f"feed (event {one.feed_seq})", height=height)


def _run_claims(one: Reading, rows: int) -> RenderableType:
    table = Table(expand=True, box=None)
    for heading in ("RUN", "WORKFLOW", "RUNNER", "FENCE", "LEASE"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "FENCE" else "left")
    for claim in one.run_claims[:rows]:
        table.add_row(
            Text(safe(claim.run_id)),
            Text(safe(claim.workflow)),
            Text(safe(or_dash(claim.runner_id))),
            or_dash(claim.fence),
            _bar(claim.left_ms),
        )
    return Panel(table, title=f"claimed runs ({one.stats.runs['claimed']})", height=rows + 3)


def _key_claims(one: Reading, rows: int) -> RenderableType:
    table = Table(expand=True, box=None)
    for heading in ("CONTROLLER", "KEY", "ERRORS", "LEASE"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "ERRORS" else "left")
    for claim in one.key_claims[:rows]:
        table.add_row(
            Text(safe(claim.controller)),
            Text(safe(claim.key)),
            str(claim.consecutive_errors),
            _bar(claim.left_ms),
        )
    return Panel(table, title=f"claimed keys ({one.stats.queue['claimed']})", height=rows + 3)


def _left(left_ms: int | None) -> Text:
    if left_ms is None:
        return Text("no end", style="bold red")
    if left_ms <= 0:
        return Text(f"ended {span(-left_ms)} ago", style="bold red", no_wrap=True)
    color = "yellow" if left_ms < _SOON_MS else "green"
    return Text(span(left_ms), style=color, no_wrap=True)


def _bar(left_ms: int | None) -> Text:
    """A bar of up to half a minute, and the time in words."""
    filled = 0 if left_ms is None else max(0, min(_BAR, -(-left_ms * _BAR // _BAR_MS)))
    words = _left(left_ms)
    bar = Text("█" * filled + "░" * (_BAR - filled) + " ", style=words.style)
    return bar.append_text(words)
