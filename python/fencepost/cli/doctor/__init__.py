"""`fencepost doctor PATH`: what is wrong with a file, and what to do about it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ... import guard, maintenance
from ...clock import system_clock
from ...engine.info import engine_info
from ...engine.protocol import Engine
from ...engine.select import choose
from ...errors import CorruptStoreError, FencepostError, StoreBusyError
from ...opening import connect
from ..arguments import command, engine_option
from ..exits import FAILED, OK
from ..output import as_json, colored, indented, safe
from .file import look_at_file, look_at_surroundings
from .finding import SEVERITIES, Finding
from .layout import look_at_layout
from .log import look_at_log
from .openers import look_at_openers
from .rows import look_at_rows
from .work import look_at_work

_RESTORE = "restore a backup, or recover what is left with the sqlite3 tool (.recover)"
_SHOWN = 5
_BUSY_MS = 5_000
_LABEL = 9


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "doctor",
        run,
        "say what is wrong with a store, and what to do",
        "Look at a file of any kind, also while others work on it, and write nothing. "
        "Exit code 0: nothing wrong (notes do not count), 1: findings.",
    )
    parser.add_argument("path", metavar="PATH", help="the file")
    parser.add_argument("--quick", action="store_true", help="leave out what reads every row")
    engine_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; 1 where one is more than a note."""
    path = os.path.abspath(arguments.path)
    findings = sorted(
        examine(path, arguments.engine, quick=arguments.quick),
        key=lambda finding: SEVERITIES.index(finding.severity),
    )
    wrong = [finding for finding in findings if finding.severity != "note"]
    if arguments.json:
        shown = [finding.to_dict() for finding in findings]
        as_json({"path": path, "healthy": not wrong, "findings": shown})
    else:
        _print(path, findings)
    return FAILED if wrong else OK


def examine(path: str, engine: str | None, *, quick: bool) -> Iterator[Finding]:
    """Every finding about the file at an absolute path."""
    no_database = look_at_file(path)
    if no_database is not None:
        yield no_database
        return
    yield from look_at_surroundings(path)
    yield from look_at_log(path)
    yield from look_at_openers(path)
    yield from _with_engine(path, engine, quick)


def _with_engine(path: str, engine: str | None, quick: bool) -> Iterator[Finding]:
    name, _ = choose(engine)
    info = engine_info(engine)
    if name == "python" and info.python_sqlite_can_lose_commits:
        yield Finding(
            "sqlite_version",
            "note",
            f"the Python engine runs here on SQLite {info.python_sqlite}, which can lose commits "
            "when several processes write (fixed in 3.51.3, 3.50.7 and 3.44.6)",
            "install the native engine, or a Python that links a fixed SQLite",
        )
    this = guard.register(path, name, None)
    try:
        opened = connect(name, path, True, "full", _BUSY_MS, None)
    except FencepostError as error:
        guard.release(this, None)
        yield _failed(error)
        return
    try:
        yield from _inside(opened, quick)
    finally:
        opened.close()
        guard.release(this, None)


def _inside(engine: Engine, quick: bool) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    usable = True
    for finding in _guarded(lambda: look_at_layout(engine)):
        usable = usable and finding.severity != "error" and finding.code != "incomplete"
        seen.add((finding.code, finding.message))
        yield finding
    checks: list[Callable[[], Iterable[Finding]]] = []
    if not quick:
        checks.append(lambda: _integrity(engine))
    if usable:
        checks.append(lambda: look_at_work(engine, system_clock()))
        if not quick:
            checks.append(lambda: look_at_rows(engine))
    for check in checks:
        for finding in _guarded(check):
            if (finding.code, finding.message) not in seen:
                seen.add((finding.code, finding.message))
                yield finding


def _guarded(check: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """What a check finds; that it could not look to the end is a finding too."""
    try:
        yield from check()
    except FencepostError as error:
        yield _failed(error)


def _failed(error: FencepostError) -> Finding:
    if isinstance(error, CorruptStoreError):
        return Finding("damaged", "error", str(error), _RESTORE)
    if isinstance(error, StoreBusyError):
        return Finding("busy", "warning", str(error), "run doctor again")
    return Finding(error.code, "error", str(error), "see the message")


def _integrity(engine: Engine) -> Iterator[Finding]:
    problems = maintenance.check(engine)
    orphans = [problem for problem in problems if " refers to no row of " in problem]
    damage = [problem for problem in problems if problem not in orphans]
    for code, found, advice in (
        ("damaged", damage, _RESTORE),
        ("foreign_keys", orphans, "delete these rows, or restore a backup"),
    ):
        if found:
            more = f" (and {len(found) - _SHOWN} more)" if len(found) > _SHOWN else ""
            yield Finding(
                code, "error", "; ".join(found[:_SHOWN]) + more, advice, {"problems": found}
            )


def _print(path: str, findings: list[Finding]) -> None:
    print(safe(path))
    for finding in findings:
        label = finding.severity.ljust(_LABEL)
        said = indented(label, f"{finding.code}: {safe(finding.message)}", _LABEL)
        # Colored afterwards: the codes of a color have no width.
        print(f"{colored(label, finding.severity)}{said[_LABEL:]}")
        print(indented(" " * _LABEL, safe(finding.advice), _LABEL))
    counts = [
        (severity, sum(finding.severity == severity for finding in findings))
        for severity in SEVERITIES
    ]
    if not any(count for severity, count in counts if severity != "note"):
        print(colored("nothing is wrong", "good"))
        return
    print(
        ", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in counts if count)
    )
