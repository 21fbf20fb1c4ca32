"""What the build of a package without extension left behind: why it has none."""

from __future__ import annotations

from importlib import resources


def why_pure() -> str:
    """The build's own words, empty where it left none (a source that was never built)."""
    note = resources.files("fencepost").joinpath("_build.txt")
    try:
        return note.read_text("utf-8").strip()
    except FileNotFoundError:
        return ""
