"""`fencepost release`, `park` and `requeue`: what an operator does to other people's claims.

Each uses the row's own claim token, so a claim that changed hands meanwhile is left alone,
and the former owner is refused from then on. What was done is recorded in the same
transaction: for runs in the feed, for keys in the events of their controller, with types
that begin with `operator.`.
"""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from typing import Any

from ..clock import iso_from_ms, ms_from_time, system_clock
from ..errors import InvalidArgumentError
from ..records import Run
from ..store import engine_of
from ..validation import payload as checked_payload
from .arguments import Declined, UsageError, on_store
from .exits import OK
from .output import as_json, lease, safe, say
from .resources import queue_row
from .stores import writing


def add_parser(commands: Any) -> None:
    """Add the commands to the parser."""
    release_parser = on_store(
        commands,
        "release",
        release,
        "park a run whose lease has ended",
        "Park a run whose lease has ended, so that any runner takes it. A live claim is refused.",
    )
    park_parser = on_store(
        commands,
        "park",
        park,
        "take a run from its owner, alive or not, and park it",
        "Take a run from its owner, even while the lease lasts, and park it. The owner is "
        "refused from then on, but goes on until it asks: it may still act on other systems.",
    )
    for parser in (release_parser, park_parser):
        parser.add_argument("run_id", metavar="RUN", help="the run's id")
    requeue_parser = on_store(
        commands,
        "requeue",
        requeue,
        "make a key due, whoever claims it",
        "Make a key due now or at a time; an earlier time that it was enqueued for stands. A claim "
        "is lifted, and its owner refused from then on.",
    )
    requeue_parser.add_argument("controller", metavar="CONTROLLER")
    requeue_parser.add_argument("key", metavar="KEY")
    requeue_parser.add_argument("--at", metavar="TIME", help="when it is due, ISO 8601")
    for parser in (release_parser, park_parser, requeue_parser):
        parser.add_argument("--reason", help="recorded with the event")
        parser.add_argument("--yes", "-y", action="store_true", help="do not ask")


def release(arguments: argparse.Namespace) -> int:
    """Park a run whose lease has ended."""
    return _give_back(arguments, also_live=False)


def park(arguments: argparse.Namespace) -> int:
    """Park a run, live claim or not."""
    return _give_back(arguments, also_live=True)


def _give_back(arguments: argparse.Namespace, *, also_live: bool) -> int:
    with writing(arguments) as store:
        run = store.runs.get(run_id=arguments.run_id)
        if run is None:
            raise Declined(f"no run {arguments.run_id!r}")
        if run.status != "claimed":
            raise Declined(f"run {run.run_id!r} is {run.status}, not claimed")
        if not also_live and _is_live(run):
            raise Declined(
                f"run {run.run_id!r} is claimed by {run.runner_id!r}, "
                f"{lease(run.claim_expires_at, system_clock())}; `park` takes a live run",
            )
        _confirm(
            arguments,
            f"park run {run.run_id!r}, claimed by {run.runner_id!r}, "
            f"{lease(run.claim_expires_at, system_clock())}?",
        )
        seq = engine_of(store).change_and_record(
            "runs.park_stuck" if run.claim_token is None else "runs.park",
            "feed.insert",
            _parking(run, arguments),
            None,
        )
        if seq is None:
            raise Declined(f"run {run.run_id!r} changed hands meanwhile; look again")
    if arguments.json:
        as_json({"run_id": run.run_id, "status": "parked", "event_seq": seq})
    else:
        say(f"run {run.run_id} is parked (event {seq} of the feed)")
    return OK


def _is_live(run: Run) -> bool:
    if run.claim_expires_at is None:
        return False
    return ms_from_time(run.claim_expires_at, "claim_expires_at") > system_clock()


def _parking(run: Run, arguments: argparse.Namespace) -> dict[str, Any]:
    payload = {
        **_by_whom(arguments),
        "claim_expires_at": run.claim_expires_at,
        "fence": run.fence,
    }
    return {
        "run_id": run.run_id,
        "claim_token": run.claim_token,
        "workflow_ref": run.workflow_name,
        "type": f"operator.{arguments.command}",
        "runner_id": run.runner_id,
        "payload_json": checked_payload(payload),
    }


def requeue(arguments: argparse.Namespace) -> int:
    """Make a key due."""
    try:
        due = system_clock() if arguments.at is None else ms_from_time(arguments.at, "--at")
    except InvalidArgumentError as error:
        raise UsageError(str(error)) from None
    at, where = iso_from_ms(due), {"controller": arguments.controller, "key": arguments.key}
    name = f"{arguments.controller}/{arguments.key}"
    with writing(arguments) as store:
        if store.resources.get(**where) is None:
            raise Declined(f"no resource {name}")
        engine = engine_of(store)
        rows = engine.read("queue.claimed", where)
        token, ends, fence = (rows[0][2], rows[0][5], rows[0][6]) if rows else (None, None, None)
        if token is None:
            _confirm(arguments, f"make {name} due at {at}?")
        else:
            left = lease(None if ends is None else iso_from_ms(ends), system_clock())
            _confirm(arguments, f"lift the claim of {name} ({left}) and make it due at {at}?")
        payload = {**_by_whom(arguments), "available_at": at, "fence": fence}
        seq = engine.change_and_record(
            "queue.enqueue_existing" if token is None else "queue.requeue",
            "events.insert",
            {
                **where,
                "claim_token": token,
                "available_at": due,
                "error": None,
                "type": "operator.requeue",
                "payload_json": checked_payload(payload),
            },
            None,
        )
        if seq is None:
            raise Declined(f"{name} changed hands meanwhile, or was deleted; look again")
        row = queue_row(store, **where)
    found = None if row is None else iso_from_ms(row["available_at_ms"])
    if arguments.json:
        shown = {**where, "lifted": token is not None, "available_at": found, "event_seq": seq}
        as_json(shown)
    else:
        say(f"{name} {_due(found, at)} (event {seq})")
    return OK


def _due(found: str | None, asked: str) -> str:
    """When a key is due; an earlier time that somebody else asked for stands."""
    if found is None:
        return "was due, and is done already"
    if found < asked:
        return f"stays due at {found}, for which it was enqueued"
    return f"is due at {found}"


def _by_whom(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"operator": _user(), "reason": arguments.reason}


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())


def _confirm(arguments: argparse.Namespace, question: str) -> None:
    """Raise UsageError unless a person, or `--yes`, agrees."""
    if arguments.yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Nobody can be asked here; give --yes")
    print(f"{safe(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("not confirmed; nothing was done")
