"""`fencepost conformance FILES...`: run vectors, and say what differed."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..conformance.subjects import CommandSubject, StoreSubject, Subject
from ..conformance.vectors import CaseResult, run_file
from ..errors import FencepostError
from .output import say


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "conformance",
        help="run recorded behaviour against an engine, or against another port",
        description="Exit codes: 0 all cases pass, 1 some differ, 254 bad usage.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="files of vectors (JSON lines)")
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--engine", choices=("native", "python"), help="default: as open() chooses")
    target.add_argument("--command", help="a port of the store that speaks JSON lines")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the files; 0 when every case passed."""
    results: list[CaseResult] = []
    command: CommandSubject | None = None
    try:
        if arguments.command is not None:
            command = CommandSubject(arguments.command)
        subject: Subject = command or StoreSubject(arguments.engine)
        for path in arguments.files:
            results.extend(run_file(path, subject))
    except (OSError, ValueError, FencepostError) as error:
        say(f"fencepost conformance: {error}", sys.stderr)
        return 254
    finally:
        if command is not None:
            command.end()
    if not results:
        print("fencepost conformance: the files hold no cases", file=sys.stderr)
        return 254
    failed = [result for result in results if not result.passed]
    if arguments.json:
        print(json.dumps(_summary(results, failed)))
    else:
        _print(arguments.files, results, failed)
    return 1 if failed else 0


def _summary(results: list[CaseResult], failed: list[CaseResult]) -> dict[str, Any]:
    return {
        "cases": len(results),
        "passed": len(results) - len(failed),
        "failed": [
            {"file": result.file, "case": result.case, "differences": result.differences}
            for result in failed
        ],
    }


def _print(files: list[str], results: list[CaseResult], failed: list[CaseResult]) -> None:
    for result in failed:
        say(f"{result.file}: {result.case}: differs")
        for difference in result.differences:
            say(f"    {difference}")
    for path in files:
        of_file = [result for result in results if result.file == path]
        passed = sum(result.passed for result in of_file)
        say(f"{path}: {passed} of {len(of_file)} cases pass")
