"""The command line: `fencepost`, or `python -m fencepost`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from .._version import __version__
from ..errors import FencepostError
from ..sqlite_versions import SQLiteVersionWarning
from . import (
    completion,
    conformance,
    doctor,
    effects,
    events,
    export,
    importing,
    info,
    operator,
    queue,
    resources,
    runs,
    top,
    upkeep,
)
from .arguments import Declined, JsonParser, Parser
from .exits import BAD_USAGE, FAILED, INTERRUPTED, OK
from .output import say

_COMMANDS = (
    info,
    doctor,
    runs,
    queue,
    resources,
    effects,
    events,
    top,
    operator,
    upkeep,
    export,
    importing,
    conformance,
    completion,
)


def make_parser(kind: type[Parser] = Parser) -> Parser:
    """The parser of the whole command line."""
    parser = kind(prog="fencepost", description="Durable work that processes share in SQLite.")
    parser.add_argument("--version", action="version", version=f"fencepost {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, parser_class=kind, metavar="COMMAND"
    )
    for module in _COMMANDS:
        module.add_parser(commands)
    commands.add_parser("stress", help="prove the store's promises under contention and faults")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code comes back (`fencepost.cli.exits` lists them)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["stress"]:
        return _stress(arguments[1:])
    parsed = make_parser(JsonParser if "--json" in arguments else Parser).parse_args(arguments)
    try:
        with warnings.catch_warnings():
            # `info` and `doctor` say it in their own words.
            warnings.simplefilter("ignore", SQLiteVersionWarning)
            code = int(parsed.run(parsed))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has enough. The interpreter's last flush must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except Declined as declined:
        _complain(parsed, f"fencepost {parsed.command}", str(declined), declined.word)
        return declined.exit
    except FencepostError as error:
        _complain(parsed, "fencepost", str(error), error.code, error.retryable)
        return FAILED
    return code


def _complain(
    parsed: argparse.Namespace, who: str, message: str, code: str, retryable: bool = False
) -> None:
    if getattr(parsed, "json", False):
        said = {"code": code, "message": message, "retryable": retryable}
        print(json.dumps({"error": said}), file=sys.stderr)
    else:
        say(f"{who}: {message}", sys.stderr)


def _stress(arguments: Sequence[str]) -> int:
    try:
        harness = import_module("fencepost_stress.cli")
    except ModuleNotFoundError as error:
        if error.name not in ("fencepost_stress", "fencepost_stress.cli"):
            raise
        print(
            "fencepost: the stress harness is not installed; pip install 'fencepost[stress]'",
            file=sys.stderr,
        )
        return BAD_USAGE
    return int(harness.main(list(arguments)))
