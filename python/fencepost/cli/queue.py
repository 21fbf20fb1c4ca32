"""`fencepost queue`: the keys that wait for their controllers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from ..clock import system_clock
from ..engine.protocol import Value
from ..records import QueueItem
from ..store import Store, engine_of
from ..validation import name
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
        page = page_size(arguments.limit)
        wanted = arguments.controller
        listing(
            store.queue.iterate(page_size=page) if wanted is None else _of(store, wanted, page),
            columns,
            limit=arguments.limit,
            as_lines=arguments.json,
            nothing="nothing waits",
        )
    return OK


def _of(store: Store, controller: str, page: int) -> Iterator[QueueItem]:
    """The rows of one controller, in the order of the whole list."""
    after: dict[str, Value] = {
        "after_available_at": -(2**63),
        "after_controller": "",
        "after_key": "",
    }
    where: dict[str, Value] = {"controller": name(controller, "--controller"), "limit": page}
    while rows := engine_of(store).read("queue.list_by_controller", {**where, **after}):
        for row in rows:
            yield QueueItem.from_row(row)
        last = rows[-1]
        after = {
            "after_available_at": last[2],
            "after_controller": last[0],
            "after_key": last[1],
        }
