"""`fencepost queue`: the keys that wait for their controllers."""

from __future__ import annotations

import argparse
from typing import Any

from ..clock import system_clock
from .arguments import limit_option, on_store
from .exits import OK
from .output import Column, lease, listing, page_size
from .stores import reading


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = on_store(commands, "queue", list_queue, "list the keys of the reconcile queue")
    parser.add_argument("--controller", help="only this controller's")
    limit_option(parser)


def list_queue(arguments: argparse.Namespace) -> int:
    """Print a page of the queue."""
    now = system_clock()
    columns = [
        Column("CONTROLLER", lambda item: item.controller),
        Column("KEY", lambda item: item.key),
        Column("DUE", lambda item: item.available_at),
        Column("ERRORS", lambda item: str(item.consecutive_errors), right=True),
        Column("LEASE", lambda item: lease(item.claim_expires_at, now)),
    ]
    with reading(arguments) as store:
        items = store.queue.iterate(page_size=page_size(arguments.limit))
        wanted = arguments.controller
        listing(
            (item for item in items if wanted is None or item.controller == wanted),
            columns,
            limit=arguments.limit,
            as_lines=arguments.json,
            nothing="nothing waits",
        )
    return OK
