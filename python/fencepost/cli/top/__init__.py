"""`fencepost top`: a live view of runs, claims, workers and rates."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from ...clock import system_clock
from ...store import Store
from ..arguments import UsageError, on_store
from ..exits import OK
from ..interrupts import interruptible
from ..stores import reading
from .readings import Reading, Readings

_FRAME_SECONDS = 0.1
_WAIT_MS = 500


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = on_store(
        commands,
        "top",
        run,
        "watch runs, claims, workers and rates (needs fencepost[cli])",
        "Watch the store in the whole terminal; q ends it. Needs rich: pip install "
        "'fencepost[cli]'. With --json or --once: one reading.",
    )
    parser.add_argument("--once", action="store_true", help="print one reading and end")


def run(arguments: argparse.Namespace) -> int:
    """Show readings until q or Ctrl-C, or one."""
    if arguments.json:
        with reading(arguments) as store:
            print(_as_json(Readings(store).take(system_clock())))
        return OK
    try:
        from . import keyboard, screen
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "rich":
            raise
        raise UsageError("needs rich; pip install 'fencepost[cli]'") from None
    except ImportError as error:
        raise UsageError(f"needs a terminal of a POSIX system: {error}; use --json") from None
    live = not arguments.once
    if live and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("needs a terminal; use --once, or --json")
    with reading(arguments) as store:
        readings = Readings(store)
        if not live:
            screen.print_once(readings.take(system_clock()))
            return OK
        with interruptible() as asked, keyboard.keys() as pressed_q, screen.shown() as show:
            for one in _until_q(store, readings, pressed_q):
                show(one)
                if asked.is_set():
                    break
    return OK


def _as_json(one: Reading) -> str:
    return json.dumps(one.to_dict())


def _until_q(
    store: Store, readings: Readings, pressed_q: Callable[[float], bool]
) -> Iterator[Reading]:
    """A reading whenever the feed has news, and now and then; at most ten a second."""
    while True:
        begun = time.monotonic()
        one = readings.take(system_clock())
        yield one
        if pressed_q(0):
            return
        store.wait(feed_after=one.feed_seq, timeout_ms=_WAIT_MS)
        # A busy feed wakes at once: what is left of the frame is spent at the keyboard.
        if pressed_q(max(0.0, begun + _FRAME_SECONDS - time.monotonic())):
            return
