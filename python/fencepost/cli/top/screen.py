"""How `top` looks. The only module that needs rich."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


@contextmanager
def shown() -> Iterator[Callable[[Reading], None]]:
    """The whole terminal; the function that it gives shows a reading."""
    console = Console()
    with Live(console=console, screen=True, auto_refresh=False) as live:
        yield lambda one: live.update(frame(one, console.size.height), refresh=True)


def print_once(one: Reading) -> None:
    """One reading, below what is on the terminal."""
    Console(width=shutil.get_terminal_size((100, 40)).columns).print(frame(one, 40))


def frame(one: Reading, height: int) -> RenderableType:
    """The view of one reading in so many lines."""
    # Head 3, counts 8; the two tables of claims share what is left, with 4 lines of frame each.
    rows = max(2, (height - 11) // 2 - 4)
    counts = Table.grid(expand=True, padding=(0, 1))
    counts.add_row(_counts(one), _workers(one), _rates(one))
    return Group(_head(one), counts, _run_claims(one, rows), _key_claims(one, rows))


def _head(one: Reading) -> RenderableType:
    sizes = f"{size(one.stats.file_bytes)} + log {size(one.stats.wal_bytes)}"
    text = Text(f"{safe(one.path)}  {one.engine}  {sizes}  {iso_from_ms(one.now)[11:19]} UTC")
    return Panel(text, title="fencepost top", subtitle="q ends", style="bold")


def _counts(one: Reading) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    for name, number in one.stats.runs.items():
        table.add_row(f"runs {name}", _number(number, bad=name == "expired"))
    for name, number in one.stats.queue.items():
        table.add_row(f"keys {name}", _number(number, bad=name == "expired"))
    return Panel(table, title="counts", height=9)


def _number(number: int, *, bad: bool) -> Text:
    return Text(str(number), style="bold red" if bad and number else "bold")


def _workers(one: Reading) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    for worker in one.workers[:7]:
        table.add_row(
            Text(safe(or_dash(worker.runner_id)), overflow="ellipsis", no_wrap=True),
            Text(f"{worker.runs} run{'s' * (worker.runs != 1)}"),
            _left(worker.first_left_ms),
        )
    return Panel(table, title=f"workers ({len(one.workers)})", height=9)


def _rates(one: Reading) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    for name, rate in list(one.per_second.items())[:7]:
        table.add_row(Text(safe(name), no_wrap=True), Text(f"{rate:.1f}/s", style="bold"))
    return Panel(table, title=f"feed (event {one.feed_seq})", height=9)


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
        return Text(f"ended {span(-left_ms)} ago", style="bold red")
    return Text(span(left_ms), style="yellow" if left_ms < _SOON_MS else "green")


def _bar(left_ms: int | None) -> Text:
    """A bar of up to half a minute, and the time in words."""
    filled = 0 if left_ms is None else max(0, min(_BAR, -(-left_ms * _BAR // _BAR_MS)))
    words = _left(left_ms)
    bar = Text("█" * filled + "░" * (_BAR - filled) + " ", style=words.style)
    return bar.append_text(words)
