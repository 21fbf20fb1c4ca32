"""`fencepost effects`: calls to outside systems, in the order of their reservation."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from ..records import Effect
from ..store import Store, engine_of
from .arguments import limit_option, on_store
from .exits import OK
from .output import Column, listing, or_dash, page_size
from .stores import reading

_STATES = ("pending", "applied", "rejected", "indeterminate")


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = on_store(commands, "effects", list_effects, "list effects of all resources")
    parser.add_argument("--state", choices=_STATES, help="only these")
    limit_option(parser)


def list_effects(arguments: argparse.Namespace) -> int:
    """Print a page of effects."""
    columns = [
        Column("KEY", lambda effect: effect.key),
        Column("RESOURCE", lambda effect: effect.resource_uid),
        Column("GENERATION", lambda effect: str(effect.generation), right=True),
        Column("KIND", lambda effect: effect.kind),
        Column("STATE", lambda effect: effect.state),
        Column("STARTED", lambda effect: effect.started_at),
        Column("REFERENCE", lambda effect: or_dash(effect.external_ref)),
        Column("ERROR", lambda effect: or_dash(effect.error)),
    ]
    with reading(arguments) as store:
        listing(
            _effects(store, arguments.state, page_size(arguments.limit)),
            columns,
            limit=arguments.limit,
            as_lines=arguments.json,
            nothing="no effects",
        )
    return OK


def _effects(store: Store, state: str | None, page: int) -> Iterator[Effect]:
    statement = "dump.page_effects" if state is None else "effects.page_by_state"
    after = -(2**63)
    while rows := engine_of(store).read(statement, {"after": after, "limit": page, "state": state}):
        for row in rows:
            yield Effect.from_row(row[1:])
        after = rows[-1][0]
