"""`fencepost info [PATH]`: which engine runs here and why, and what a file is and holds."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from typing import Any

from ..engine.info import engine_info
from ..layout import SCHEMA_ID
from ..opening import open
from ..sqlite_versions import can_lose_commits
from ..store import engine_of
from .arguments import command, engine_option
from .exits import OK
from .filesystem import file_system
from .output import as_json, pairs, size


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(commands, "info", run, "say which engine runs and why, and what a store holds")
    parser.add_argument("path", nargs="?", metavar="PATH", help="also say what this store holds")
    engine_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the engine, the reason, both SQLite versions, and what the file holds."""
    info = engine_info(arguments.engine)
    native = info.native_sqlite
    shown: dict[str, Any] = {
        **asdict(info),
        "native_sqlite_can_lose_commits": native is not None and can_lose_commits(native),
    }
    if arguments.path is not None:
        shown["store"] = _store(arguments)
    if arguments.json:
        as_json(shown)
        return OK
    pairs(
        [
            ("engine       ", f"{info.engine} ({info.reason})"),
            ("native SQLite", _version(native, shown["native_sqlite_can_lose_commits"])),
            ("Python SQLite", _version(info.python_sqlite, info.python_sqlite_can_lose_commits)),
        ]
    )
    if arguments.path is not None:
        print()
        pairs(_lines(shown["store"]))
    return OK


def _version(version: str | None, faulty: bool) -> str:
    fault = ", which can lose commits in WAL mode" if faulty else ""
    return f"{version or 'not installed'}{fault}"


def _store(arguments: argparse.Namespace) -> dict[str, Any]:
    with open(arguments.path, engine=arguments.engine, read_only=True) as store:
        stats = store.stats()
        journal = engine_of(store).read("connection.journal_mode", {})[0][0]
        pages, page_size, free = engine_of(store).read("stats.pages", {})[0]
    return {
        "path": store.path,
        "schema": SCHEMA_ID,
        "journal": _journal(store.path, journal),
        "file_system": file_system(store.path),
        "mode": f"{os.stat(store.path).st_mode & 0o7777:04o}",
        "pages": {"count": pages, "bytes": page_size, "free": free},
        **stats.to_dict(),
    }


def _journal(path: str, asked: str) -> str:
    """The journal mode; a file at rest is read as it lies, and then SQLite can't tell."""
    if os.path.exists(f"{path}-wal"):
        return asked
    from .doctor.file import header_of

    return header_of(path).journal


def _lines(store: dict[str, Any]) -> list[tuple[str, object]]:
    feed, pages = store["feed"], store["pages"]
    return [
        ("file       ", store["path"]),
        ("schema", store["schema"]),
        ("journal", store["journal"]),
        ("file system", store["file_system"] or "unknown"),
        ("mode", store["mode"]),
        ("size", f"{size(store['file_bytes'])}, {pages['free']} of {pages['count']} pages free"),
        ("log", size(store["wal_bytes"])),
        ("runs", _counts(store["runs"])),
        ("queue", _counts(store["queue"])),
        ("resources", _counts(store["resources"])),
        ("effects", _counts(store["effects"])),
        ("requests", _counts(store["requests"])),
        ("events", store["events"]),
        ("feed", f"{feed['events']} events, {feed['first_seq']} to {feed['last_seq']}"),
        ("consumers", _counts(store["watermarks"]) or "none"),
    ]


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items())
