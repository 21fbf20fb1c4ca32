"""`fencepost events` and `fencepost feed`, also as they come."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from ..engine.protocol import Value
from ..records import Event, RunEvent
from ..store import Store, engine_of
from .arguments import count, limit_option, on_store
from .exits import INTERRUPTED, OK
from .interrupts import interruptible
from .output import as_json, or_dash, page_size, say
from .stores import reading

_PAGE = 500
_WAIT_MS = 500


def add_parser(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = on_store(commands, "events", events, "show the last events of controllers")
    parser.add_argument("--controller", help="only this controller's")
    parser.add_argument("--key", help="only this key's")
    _shared(parser)
    feed_parser = on_store(commands, "feed", feed, "show the last events of the run feed")
    feed_parser.add_argument("--after", type=count, metavar="SEQ", help="all after this number")
    feed_parser.add_argument("--run", metavar="RUN", dest="run_id", help="only this run's")
    _shared(feed_parser)


def _shared(parser: argparse.ArgumentParser) -> None:
    limit_option(parser)
    parser.add_argument("--follow", "-f", action="store_true", help="go on as more events come")


def events(arguments: argparse.Namespace) -> int:
    """Print the last events, the newest last, and perhaps those that follow."""
    with reading(arguments) as store:
        last = _print_last_events(store, arguments)
        sys.stdout.flush()
        if arguments.follow:
            _follow_events(store, last, arguments)
            return INTERRUPTED
    return OK


def _follow_events(store: Store, last: int, arguments: argparse.Namespace) -> None:
    with interruptible() as asked:
        while not asked.is_set():
            sys.stdout.flush()
            store.wait(events_after=last, timeout_ms=_WAIT_MS)
            for event in _events_after(store, last):
                last = event.seq
                if _wanted(event, arguments):
                    _print_event(event, arguments)
                if asked.is_set():
                    break


def _print_last_events(store: Store, arguments: argparse.Namespace) -> int:
    newest = store.events.list(limit=1)
    last = newest[0].seq if newest else 0
    if arguments.limit == 0:
        # Oldest first without holding them all.
        for event in _events_after(store, 0):
            if event.seq <= last and _wanted(event, arguments):
                _print_event(event, arguments)
        return last
    found: list[Event] = []
    for event in store.events.iterate(
        controller=arguments.controller, key=arguments.key, page_size=page_size(arguments.limit)
    ):
        if event.seq <= last:
            found.append(event)
        if len(found) == arguments.limit:
            break
    for event in reversed(found):
        _print_event(event, arguments)
    return last


def _events_after(store: Store, seq: int) -> Iterator[Event]:
    while rows := engine_of(store).read("events.after", {"seq": seq, "limit": _PAGE}):
        for row in rows:
            yield Event.from_row(row)
        seq = rows[-1][0]


def _wanted(event: Event, arguments: argparse.Namespace) -> bool:
    return arguments.controller in (None, event.controller) and arguments.key in (None, event.key)


def _print_event(event: Event, arguments: argparse.Namespace) -> None:
    if arguments.json:
        as_json(event.to_dict())
        return
    subject = f"{event.controller}/{event.key}"
    say(f"{event.seq}  {event.recorded_at}  {subject}  {event.type}  {_payload(event)}")


def feed(arguments: argparse.Namespace) -> int:
    """Print the last events of the feed, and perhaps those that follow."""
    with reading(arguments) as store:
        last = store.feed.latest_seq()
        seq, left = _start(store, last, arguments), arguments.limit or None
        for event in _feed_after(store, seq, arguments.run_id):
            if not arguments.follow and (event.seq > last or left == 0):
                break
            seq = event.seq
            _print_run_event(event, arguments)
            left = None if left is None else left - 1
        if arguments.follow:
            _follow_feed(store, max(seq, last), arguments)
            return INTERRUPTED
    return OK


def _start(store: Store, last: int, arguments: argparse.Namespace) -> int:
    """The number after which to begin: what was asked for, or so that the last events show."""
    if arguments.after is not None:
        return int(arguments.after)
    if not arguments.limit:
        return 0
    where = {"last": last, "limit": arguments.limit, "run_id": arguments.run_id}
    every = arguments.run_id is None
    rows = engine_of(store).read(f"feed.before_last{'' if every else '_of_run'}", where)
    return int(rows[0][0]) if rows else 0


def _feed_after(store: Store, seq: int, run_id: str | None) -> Iterator[RunEvent]:
    if run_id is None:
        yield from store.feed.iterate(seq=seq)
        return
    where: dict[str, Value] = {"run_id": run_id, "limit": _PAGE}
    while rows := engine_of(store).read("feed.after_of_run", {**where, "seq": seq}):
        for row in rows:
            yield RunEvent.from_row(row)
        seq = rows[-1][0]


def _follow_feed(store: Store, seq: int, arguments: argparse.Namespace) -> None:
    with interruptible() as asked:
        while not asked.is_set():
            sys.stdout.flush()
            store.wait(feed_after=seq, timeout_ms=_WAIT_MS)
            for event in store.feed.iterate(seq=seq):
                seq = event.seq
                if arguments.run_id in (None, event.run_id):
                    _print_run_event(event, arguments)
                if asked.is_set():
                    break


def _print_run_event(event: RunEvent, arguments: argparse.Namespace) -> None:
    if arguments.json:
        as_json(event.to_dict())
        return
    runner = or_dash(event.runner_id)
    say(
        f"{event.seq}  {event.recorded_at}  {event.run_id}  {event.workflow_ref}  "
        f"{event.type}  {runner}  {_payload(event)}"
    )


def _payload(event: Event | RunEvent) -> str:
    return json.dumps(event.payload)
