"""Where the store lives by default."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from fencepost import paths


def test_the_base_folder_comes_from_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_WORKFLOWS_CONTROLLER_DIR", "/some/where")
    assert paths.base_folder() == Path("/some/where")
    assert paths.default_store() == Path("/some/where/controller.sqlite")


@pytest.mark.parametrize("value", [None, ""])
def test_else_it_is_the_users_own(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.delenv("PI_WORKFLOWS_CONTROLLER_DIR", raising=False)
    if value is not None:
        monkeypatch.setenv("PI_WORKFLOWS_CONTROLLER_DIR", value)
    assert paths.base_folder() == Path("/home/somebody/.pi/agent/workflows/controllers")


def test_a_projects_scope_is_of_its_real_path(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "link").symlink_to(project)
    real = os.path.realpath(project)
    expected = hashlib.sha256(real.encode()).hexdigest()[:24]
    assert paths.project_scope(project) == expected
    assert paths.project_scope(str(tmp_path / "link")) == expected
    assert paths.project_scope(f"{project}/../project/.") == expected


def test_a_missing_project_has_a_scope_too(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert paths.project_scope(missing) == hashlib.sha256(str(missing).encode()).hexdigest()[:24]


def test_a_projects_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_WORKFLOWS_CONTROLLER_DIR", str(tmp_path))
    scope = paths.project_scope(tmp_path)
    assert paths.project_store(tmp_path) == tmp_path / "projects" / scope / "controller.sqlite"
    assert len(scope) == 24
