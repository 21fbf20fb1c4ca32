"""`fencepost prune`, `backup` and `checkpoint`."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from ..clock import iso_from_ms, ms_from_time, system_clock
from ..errors import InvalidArgumentError
from ..maintenance import CHECKPOINTS
from .arguments import UsageError, count, on_store, positive
from .exits import FAILED, OK
from .output import as_json, pairs, say
from .stores import reading, writing

_AGE = re.compile(r"(\d{1,6})([smhd])", re.ASCII)
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def add_parser(commands: Any) -> None:
    """Add the commands to the parser."""
    pruning = on_store(
        commands,
        "prune",
        prune,
        "delete runs that are done, and events, that are old enough",
        "Delete what is over, in many short transactions. A time is ISO 8601, or an age: 30d, 12h.",
    )
    pruning.add_argument("--done-before", metavar="TIME", help="runs done before this time")
    pruning.add_argument("--events-before", metavar="TIME", help="events recorded before")
    pruning.add_argument("--limit", type=positive, metavar="N", help="rows at most; default all")
    pruning.add_argument(
        "--unread", action="store_true", help="also events that a consumer has yet to pass"
    )
    saving = on_store(commands, "backup", backup, "copy the store while others work on it")
    saving.add_argument("target", metavar="TARGET", help="the new file; nothing may be there")
    saving.add_argument("--pages", type=positive, default=1000, metavar="N", help="at a time")
    saving.add_argument("--pause-ms", type=count, default=0, metavar="MS", help="rest between")
    moving = on_store(commands, "checkpoint", checkpoint, "move the write-ahead log into the file")
    moving.add_argument("--mode", choices=CHECKPOINTS, default="passive", help="default passive")


def prune(arguments: argparse.Namespace) -> int:
    """Delete what is over."""
    if arguments.done_before is None and arguments.events_before is None:
        raise UsageError("say what: --done-before, --events-before, or both")
    done_before = _time(arguments.done_before, "--done-before")
    events_before = _time(arguments.events_before, "--events-before")
    with writing(arguments) as store:
        pruned = store.prune(
            done_before=done_before,
            events_before=events_before,
            limit=arguments.limit,
            unread=arguments.unread,
        )
    if arguments.json:
        as_json(pruned.to_dict())
    else:
        pairs([(name.replace("_", " "), number) for name, number in pruned.to_dict().items()])
    return OK


def _time(text: str | None, option: str) -> str | None:
    """A time as given, or the time of an age such as `30d`."""
    if text is None:
        return None
    age = _AGE.fullmatch(text)
    if age is not None:
        return iso_from_ms(system_clock() - int(age[1]) * _UNIT_MS[age[2]])
    try:
        return iso_from_ms(ms_from_time(text, option))
    except InvalidArgumentError as error:
        raise UsageError(f"{error}; or an age like 30d") from None


def backup(arguments: argparse.Namespace) -> int:
    """Copy the store into a new file."""
    visible = sys.stderr.isatty() and not arguments.json

    def progress(remaining: int, total: int) -> None:
        if visible:
            done = 100 if total == 0 else 100 * (total - remaining) // total
            print(f"\r{done:3d} % of {total} pages", end="", file=sys.stderr, flush=True)

    with reading(arguments) as store:
        store.backup(
            arguments.target,
            pages=arguments.pages,
            pause_ms=arguments.pause_ms,
            progress=progress,
        )
    if visible:
        print(file=sys.stderr)
    if arguments.json:
        as_json({"path": arguments.target})
    else:
        say(f"{arguments.target} is a whole and verified copy")
    return OK


def checkpoint(arguments: argparse.Namespace) -> int:
    """Move the log into the database."""
    with writing(arguments) as store:
        done = store.checkpoint(arguments.mode)
    if arguments.json:
        as_json(done.to_dict())
    else:
        state = "complete" if done.complete else "incomplete: a reader or a writer is in the way"
        pairs(
            [
                ("checkpoint", state),
                ("pages in the log", done.wal_frames),
                ("pages moved", done.moved_frames),
            ]
        )
    return OK if done.complete else FAILED
