"""The command line: `fencepost`, or `python -m fencepost`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from .._version import __version__
from ..errors import FencepostError
from . import conformance, info

EXIT_BAD_USAGE = 254


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints end with our exit code for bad usage."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.print_usage(sys.stderr)
        self.exit(EXIT_BAD_USAGE, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code comes back."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["stress"]:
        return _stress(arguments[1:])
    parser = _Parser(prog="fencepost", description="Durable work that processes share in SQLite.")
    parser.add_argument("--version", action="version", version=f"fencepost {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    for command in (info, conformance):
        command.add_parser(commands)
    commands.add_parser("stress", help="prove the store's promises under contention and faults")
    parsed = parser.parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except FencepostError as error:
        print(f"fencepost: {error}", file=sys.stderr)
        return 1


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
        return EXIT_BAD_USAGE
    return int(harness.main(list(arguments)))
