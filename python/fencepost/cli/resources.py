"""`fencepost resources` and `fencepost resource CONTROLLER KEY`."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..clock import system_clock
from ..records import Resource
from ..store import Store, engine_of
from .arguments import Declined, limit_option, on_store
from .exits import OK
from .output import Column, as_json, listing, or_dash, page_size, pairs, span
from .stores import reading

_MOST_DETAILS = 20


def add_parser(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = on_store(commands, "resources", list_resources, "list resources")
    parser.add_argument("--controller", help="only this controller's")
    limit_option(parser)
    one = on_store(
        commands,
        "resource",
        show_resource,
        "show one resource with its queue row, effects and child requests",
    )
    one.add_argument("controller", metavar="CONTROLLER")
    one.add_argument("key", metavar="KEY")


def list_resources(arguments: argparse.Namespace) -> int:
    """Print a page of resources."""
    columns = [
        Column("CONTROLLER", lambda resource: resource.metadata.controller),
        Column("KEY", lambda resource: resource.metadata.key),
        Column("VERSION", lambda resource: str(resource.metadata.resource_version), right=True),
        Column("GENERATION", lambda resource: str(resource.metadata.generation), right=True),
        Column("SEEN", lambda resource: str(resource.status.observed_generation), right=True),
        Column("CONDITIONS", _conditions),
        Column("DELETION", lambda resource: or_dash(resource.metadata.deletion_timestamp)),
    ]
    with reading(arguments) as store:
        listing(
            store.resources.iterate(
                controller=arguments.controller, page_size=page_size(arguments.limit)
            ),
            columns,
            limit=arguments.limit,
            as_lines=arguments.json,
            nothing="no resources",
        )
    return OK


def show_resource(arguments: argparse.Namespace) -> int:
    """Print one resource and what belongs to it."""
    with reading(arguments) as store:
        resource = store.resources.get(controller=arguments.controller, key=arguments.key)
        if resource is None:
            raise Declined(f"no resource {arguments.controller}/{arguments.key}")
        shown = _gathered(store, resource)
    if arguments.json:
        as_json(shown)
    else:
        _print(resource, shown)
    return OK


def _gathered(store: Store, resource: Resource) -> dict[str, Any]:
    uid = resource.metadata.uid
    effects = store.effects.list(resource_uid=uid, limit=_MOST_DETAILS)
    requests = store.requests.list(resource_uid=uid, limit=_MOST_DETAILS)
    return {
        "resource": resource.to_dict(),
        "queue": queue_row(store, resource.metadata.controller, resource.metadata.key),
        "effects": [effect.to_dict() for effect in effects],
        "requests": [request.to_dict() for request in requests],
    }


def queue_row(store: Store, controller: str, key: str) -> dict[str, Any] | None:
    """The key's row of the queue, or None where it does not wait."""
    rows = engine_of(store).read("queue.get", {"controller": controller, "key": key})
    return dict(zip(_QUEUE_MEMBERS, rows[0], strict=True)) if rows else None


_QUEUE_MEMBERS = (
    "available_at_ms",
    "version",
    "consecutive_errors",
    "last_error",
    "claim_version",
    "claim_expires_at_ms",
)


def _print(resource: Resource, shown: dict[str, Any]) -> None:
    metadata, row = resource.metadata, shown["queue"]
    pairs(
        [
            ("resource", f"{metadata.controller}/{metadata.key}"),
            ("uid", metadata.uid),
            ("version", metadata.resource_version),
            ("generation", f"{metadata.generation} (seen {resource.status.observed_generation})"),
            ("finalizers", ", ".join(metadata.finalizers) or "-"),
            ("deletion", or_dash(metadata.deletion_timestamp)),
            ("conditions", _conditions(resource)),
            ("queue", _queued(row)),
            ("last error", "-" if row is None else or_dash(row["last_error"])),
            ("spec", json.dumps(resource.spec)),
            ("status", json.dumps(resource.status.controller_status)),
        ]
    )
    for effect in shown["effects"]:
        pairs([("effect", f"{effect['key']}  {effect['kind']}  {effect['state']}")])
    for request in shown["requests"]:
        pairs([("request", f"{request['request_key']}  {request['workflow']}  {request['state']}")])


def _conditions(resource: Resource) -> str:
    shown = (f"{item.type}={str(item.status).lower()}" for item in resource.status.conditions)
    return " ".join(shown) or "-"


def _queued(row: dict[str, Any] | None) -> str:
    if row is None:
        return "not queued"
    now = system_clock()
    if row["claim_expires_at_ms"] is not None:
        left = row["claim_expires_at_ms"] - now
        return f"claimed, {'its lease has ended' if left <= 0 else f'{span(left)} left'}"
    wait = row["available_at_ms"] - now
    return "due" if wait <= 0 else f"due in {span(wait)}"
