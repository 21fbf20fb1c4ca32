"""`fencepost info`: which engine runs here and why."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from ..engine.info import engine_info


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("info", help="say which engine runs and why")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the engine, the reason and both SQLite versions."""
    info = engine_info()
    if arguments.json:
        print(json.dumps(asdict(info)))
        return 0
    print(f"engine         {info.engine} ({info.reason})")
    print(f"native SQLite  {info.native_sqlite or 'not installed'}")
    fault = ", which can lose commits in WAL mode" if info.python_sqlite_can_lose_commits else ""
    print(f"Python SQLite  {info.python_sqlite or 'not installed'}{fault}")
    return 0
