"""A story as lines of plain text, for a terminal and for CI's log."""

from __future__ import annotations

from collections.abc import Iterator

from .story import Line, Story


def prose(story: Story) -> Iterator[str]:
    """The violation and its window, a line each; times are seconds since the load began."""
    yield f"{story.id} {story.message}"
    if story.left_out:
        yield f"  ({story.left_out} calls on the same rows are left out here)"
    for line in story.lines:
        yield f"{'>' if line.named else ' '} {_when(line):>11}  {line.who}  {_what(line)}"
        for change in line.changes:
            yield f"{'':15}{change}"


def _when(line: Line) -> str:
    return f"{line.at / 1000:.4f} s"


def _what(line: Line) -> str:
    return f"*** {line.did}" if line.fault else f"{line.did} -> {line.outcome}"
