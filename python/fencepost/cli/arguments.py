"""The parser, and the options that several commands share."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from ..engine.select import CHOICES
from .exits import BAD_USAGE, FAILED, described
from .output import safe

Command = Callable[[argparse.Namespace], int]
DEFAULT_LIMIT = 50


class Parser(argparse.ArgumentParser):
    """A parser whose complaints end with our exit code for bad usage."""

    def __init__(self, **options: Any) -> None:
        given = {
            "epilog": described(),
            "formatter_class": argparse.RawDescriptionHelpFormatter,
            "allow_abbrev": False,
            **options,
        }
        super().__init__(**given)

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(BAD_USAGE, f"{safe(f'{self.prog}: {message}')}\n")


class JsonParser(Parser):
    """One whose complaints are JSON too, as `--json` asks."""

    def error(self, message: str) -> NoReturn:
        said = {"code": UsageError.word, "message": f"{self.prog}: {message}", "retryable": False}
        self.exit(BAD_USAGE, json.dumps({"error": said}) + "\n")


class Declined(Exception):
    """A command finds nothing to do what it was asked for with; nothing was changed."""

    word = "declined"
    exit = FAILED


class UsageError(Declined):
    """A command can't be done as it was asked for."""

    word = "usage"
    exit = BAD_USAGE


def command(
    commands: Any, name: str, run: Command, help: str, description: str | None = None
) -> argparse.ArgumentParser:
    """A command that takes `--json`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=description or f"{help[0].upper()}{help[1:]}."
    )
    parser.add_argument("--json", action="store_true", help="print JSON; lists one object a line")
    parser.set_defaults(run=run)
    return parser


def on_store(
    commands: Any, name: str, run: Command, help: str, description: str | None = None
) -> argparse.ArgumentParser:
    """A command on the store that `--store` names."""
    parser = command(commands, name, run, help, description)
    parser.add_argument(
        "--store",
        metavar="PATH",
        help="the database file; default $FENCEPOST_STORE, else the user's own store",
    )
    engine_option(parser)
    return parser


def engine_option(parser: argparse.ArgumentParser) -> None:
    """`--engine`, as `fencepost.open` takes it."""
    parser.add_argument("--engine", choices=CHOICES, help="default: as $FENCEPOST_ENGINE says")


def limit_option(parser: argparse.ArgumentParser, default: int = DEFAULT_LIMIT) -> None:
    """`--limit`, where 0 means everything."""
    parser.add_argument(
        "--limit",
        type=count,
        default=default,
        metavar="N",
        help=f"rows at most, 0 for all (default {default})",
    )


def count(text: str) -> int:
    """A whole number of 0 or more."""
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 0 or more")
    return int(text)


def positive(text: str) -> int:
    """A whole number of 1 or more."""
    number = count(text)
    if number == 0:
        raise argparse.ArgumentTypeError("0 is too small")
    return number
