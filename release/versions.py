"""The version stands in several files; here is each of them, and what it says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def said(root: Path = ROOT) -> dict[str, str]:
    """Each place that names the version, and the version it names."""

    def read(name: str) -> str:
        return (root / name).read_text("utf-8")

    def toml(name: str) -> dict[str, Any]:
        return tomllib.loads(read(name))

    versions = {
        "pyproject.toml": toml("pyproject.toml")["project"]["version"],
        "stress/pyproject.toml": toml("stress/pyproject.toml")["project"]["version"],
        "Cargo.toml": toml("Cargo.toml")["workspace"]["package"]["version"],
        "python/fencepost/_version.py": _first(
            r'^__version__ = "(.+)"$', read("python/fencepost/_version.py")
        ),
        "CHANGELOG.md": _first(r"^## \[(.+?)\]", read("CHANGELOG.md")),
    }
    for crate in toml("Cargo.lock")["package"]:
        if crate["name"].startswith("fencepost"):
            versions[f"Cargo.lock, {crate['name']}"] = crate["version"]
    return versions


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else "none"
