"""Writes `THIRD-PARTY-LICENSES.txt`: the licences of what the native wheel links.

    python -m release.third_party [--check]

The crates are those that cargo links into the extension on Linux, without procedural
macros, which only run while it is built. Where a crate leaves the choice, its MIT text is
the one that is kept.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FILE = ROOT / "THIRD-PARTY-LICENSES.txt"
TARGET = "x86_64-unknown-linux-gnu"
EXTENSION = "fencepost-py"
_LICENCE_FILE = re.compile(r"(licen[cs]e|copying|unlicense|notice)", re.IGNORECASE)

HEAD = """\
Third-party software in the native wheel of fencepost
=====================================================

The pure wheel and the source distribution carry none of it. `fencepost/_native` links what
is listed here, each under its own licence.

SQLite
------

The authors of SQLite have dedicated its code to the public domain
(https://www.sqlite.org/copyright.html). It comes with the crate libsqlite3-sys.

The Rust standard library
-------------------------

Copyright (c) The Rust Project Contributors. MIT OR Apache-2.0; its MIT text is that of the
first crate below that has it, without the line of copyright.
"""


def metadata() -> dict[str, Any]:
    """What cargo knows of the locked crates; it fetches those that are not there yet."""
    done = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={TARGET}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    known: dict[str, Any] = json.loads(done.stdout)
    return known


def linked(known: dict[str, Any]) -> list[dict[str, Any]]:
    """The crates that are linked, by name; those of this workspace are left out."""
    packages = {package["id"]: package for package in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    found: set[str] = set()
    waiting = [key for key, package in packages.items() if package["name"] == EXTENSION]
    while waiting:
        key = waiting.pop()
        if key in found or _runs_at_build_time(packages[key]):
            continue
        found.add(key)
        waiting += [
            dependency["pkg"]
            for dependency in nodes[key]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
    return sorted(
        (packages[key] for key in found if packages[key]["source"] is not None),
        key=lambda package: (package["name"], package["version"]),
    )


def _runs_at_build_time(package: dict[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in package["targets"])


def licence_files(package: dict[str, Any]) -> list[Path]:
    """The texts of one crate's licence: the MIT one where that is enough."""
    folder = Path(package["manifest_path"]).parent
    files = [file for file in sorted(folder.iterdir()) if _LICENCE_FILE.match(file.name)]
    mit = [file for file in files if "mit" in file.name.lower()]
    return mit if mit and "MIT" in re.split(r"[\s/()]+", package["license"]) else files


def text(crates: list[dict[str, Any]]) -> str:
    """The whole file. SystemExit where a crate came without a licence text."""
    parts = [HEAD]
    for crate in crates:
        title = f"{crate['name']} {crate['version']}"
        files = licence_files(crate)
        if not files:
            raise SystemExit(f"{title} ({crate['license']}) has no licence file")
        texts = ["\n".join(_lines(file)).strip("\n") for file in files]
        head = f"{title}\n{'-' * len(title)}\n\nLicence: {crate['license']}\n\n"
        parts.append(head + "\n\n".join(texts) + "\n")
    return "\n".join(parts)


def _lines(file: Path) -> list[str]:
    return [line.rstrip() for line in file.read_text("utf-8").splitlines()]


def main(arguments: list[str] | None = None) -> int:
    """Write the file, or with `--check` see that it is what would be written."""
    parser = argparse.ArgumentParser(prog="python -m release.third_party", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail where it differs")
    asked = parser.parse_args(arguments)
    wanted = text(linked(metadata()))
    if not asked.check:
        FILE.write_text(wanted, "utf-8")
        return 0
    if FILE.read_text("utf-8") == wanted:
        return 0
    print(f"{FILE.name} is not in step with Cargo.lock: `make licences`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
