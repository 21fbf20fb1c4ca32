"""Where the store lives by default: the locations of the other store that shares the format."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

BASE_VARIABLE = "PI_WORKFLOWS_CONTROLLER_DIR"
FILE_NAME = "controller.sqlite"


def base_folder() -> Path:
    """The folder that holds the stores: `PI_WORKFLOWS_CONTROLLER_DIR`, or the user's own."""
    configured = os.environ.get(BASE_VARIABLE)
    if configured:
        return Path(configured)
    return Path.home() / ".pi" / "agent" / "workflows" / "controllers"


def default_store() -> Path:
    """The path of the user's own store, outside any project."""
    return base_folder() / FILE_NAME


def project_scope(project: str | os.PathLike[str]) -> str:
    """The scope of a project folder: 24 hex digits of the SHA-256 of its real path."""
    try:
        real = os.path.realpath(project, strict=True)
    except OSError:
        real = os.path.abspath(project)
    return hashlib.sha256(os.fsencode(real)).hexdigest()[:24]


def project_store(project: str | os.PathLike[str]) -> Path:
    """The path of a project's store, `projects/<scope>/controller.sqlite`."""
    return base_folder() / "projects" / project_scope(project) / FILE_NAME
