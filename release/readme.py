"""Writes `PACKAGE.md`: the README as the metadata carries it, to where there are no files.

    python -m release.readme [--check]

A package index shows it without the repository around it, so a link to a file of the
repository would lead nowhere: the file is named there, and it is in the source distribution.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, FILE = ROOT / "README.md", ROOT / "PACKAGE.md"
TAIL = "\nFiles that are named here, such as `docs/tutorial.md`, are in the source distribution.\n"
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)[^)]*\)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def relative_links(text: str) -> Iterator[str]:
    """The targets of a text's links that need the repository around it."""
    for _, target in _LINK.findall(text):
        if not _ELSEWHERE.match(target):
            yield target


def packaged(text: str) -> str:
    """The text with its relative links as names of files."""

    def named(link: re.Match[str]) -> str:
        said, target = link.groups()
        if _ELSEWHERE.match(target):
            return link[0]
        return f"`{target}`" if said == target else f"{said} (`{target}`)"

    return _LINK.sub(named, text) + TAIL


def main(arguments: list[str] | None = None) -> int:
    """Write the file, or with `--check` say whether it is what would be written."""
    parser = argparse.ArgumentParser(prog="python -m release.readme", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where it is stale")
    asked = parser.parse_args(arguments)
    text = packaged(SOURCE.read_text("utf-8"))
    if not asked.check:
        FILE.write_text(text, "utf-8")
    elif FILE.read_text("utf-8") != text:
        print(f"{FILE.name}: is not what the README says; run `make readme`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
