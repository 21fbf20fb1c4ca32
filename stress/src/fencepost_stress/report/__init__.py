"""What a run leaves for people and for machines: words on a terminal, a page, JUnit's XML."""

from __future__ import annotations

from .terminal import show, show_smallest
from .write import write

__all__ = ["show", "show_smallest", "write"]
