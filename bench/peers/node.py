"""plainjob, where Node is at hand: installed once into a folder for tools, never kept."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from . import Unavailable

NAME = "plainjob"
GUARANTEES = (
    "a job at work for 30 minutes is queued again by a timer, and may then be worked on twice: "
    "finishing checks no claim"
)
PACKAGES = ("plainjob@0.0.14", "better-sqlite3@12")
SCRIPT = Path(__file__).with_name("plainjob.mjs")


def command(modules: Path, job: dict[str, object]) -> list[str]:
    """How to start its worker."""
    return ["node", str(SCRIPT), str(modules), json.dumps(job)]


def installed(tools: Path, *, install: bool) -> Path:
    """The folder with its modules; they are installed there when they are missing."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise Unavailable("Node is not there")
    modules = tools / "node"
    if (modules / "node_modules" / "plainjob").exists():
        return modules
    if not install:
        raise Unavailable("not installed in a quick run")
    modules.mkdir(parents=True, exist_ok=True)
    (modules / "package.json").write_text('{"private": true}\n', "utf-8")
    made = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", *PACKAGES],
        cwd=modules,
        check=False,
        capture_output=True,
        text=True,
    )
    if made.returncode:
        raise Unavailable(f"npm install failed: {made.stderr.strip().splitlines()[-1:]}")
    return modules
