"""Where a run takes place: written down when it does, read again whenever it is judged."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import msgspec

from .verdict import RunVerdict

FILE = "environment.json"
_MOUNTS = Path("/proc/self/mountinfo")


def record(directory: Path) -> None:
    """Write down the machine, the interpreter and the file system of a run's directory."""
    facts = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        "file_system": file_system(directory),
    }
    (directory / FILE).write_bytes(msgspec.json.encode(facts) + b"\n")


def read(directory: Path) -> dict[str, Any]:
    """What was written down; nothing of evidence that is older than this file."""
    try:
        text = (directory / FILE).read_bytes()
    except FileNotFoundError:
        return {}
    return msgspec.json.decode(text, type=dict[str, Any])


def file_system(directory: Path) -> str:
    """The type of the file system that a directory is on, where the system says it."""
    if not _MOUNTS.exists():
        return "unknown"
    place = directory.resolve()
    best, kind = -1, "unknown"
    for line in _MOUNTS.read_text(errors="replace").splitlines():
        head, _, tail = line.partition(" - ")
        point = Path(head.split()[4].encode().decode("unicode_escape"))
        # A later mount on the same point hides the earlier one.
        if (place == point or point in place.parents) and len(point.parts) >= best:
            best, kind = len(point.parts), tail.split()[0]
    return kind


def told(run: RunVerdict) -> list[tuple[str, str]]:
    """A run's environment, a name and a text each."""
    facts = dict(run.environment)
    libraries = facts.pop("sqlite", {})
    lines = [("engine", run.engine), ("seed", str(run.seed)), ("profile", run.profile)]
    if isinstance(libraries, dict):
        lines += [(f"SQLite of {name}", str(version)) for name, version in libraries.items()]
    lines += [(name.replace("_", " "), str(value)) for name, value in facts.items()]
    return lines
