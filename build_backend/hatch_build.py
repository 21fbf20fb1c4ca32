"""What hatchling adds to a pure wheel: why it has no extension."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from fencepost_build import choose
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PureBuild(BuildHookInterface):  # type: ignore[type-arg]
    """Writes `fencepost/_build.txt`, which `fencepost info` shows."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the wheel is filled. An editable one points to the source, which stays clean."""
        if version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory()
        note = Path(self.folder.name, "_build.txt")
        note.write_text(f"{choose().reason}\n", "utf-8")
        build_data["force_include"][str(note)] = "fencepost/_build.txt"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """After the wheel is there."""
        if version != "editable":
            self.folder.cleanup()
