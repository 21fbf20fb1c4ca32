"""A virtual environment to install into, and what is asked of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

# Whatever goes past pip's own settings meets a port at which nobody listens.
_OFFLINE = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")


@dataclass
class Environment:
    """An environment without network, without cargo, and without settings of the caller.

    `variables` are added to that, also for the builds that an installation starts.
    """

    folder: Path
    example: str
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        (found,) = self.folder.glob("lib/*/site-packages")
        return found

    def run(
        self, *command: str | Path, ok: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it here; its outcome has to be the one that is told."""
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={
                "PATH": str(self.folder / "bin"),
                "HOME": str(self.folder),
                **_OFFLINE,
                **self.variables,
                **variables,
            },
        )
        assert (done.returncode == 0) is ok, f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    def code(
        self, code: str, *, ok: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Python code; a warning of SQLite's version is none of its business."""
        return self.run(self.python, "-W", "ignore", "-c", code, ok=ok, **variables)

    def install(
        self, *what: str | Path, wheels: Path | None = None, ok: bool = True, **variables: str
    ) -> str:
        """Install with pip and return what it said. It finds what is named, and `wheels`."""
        links = () if wheels is None else ("--find-links", wheels)
        done = self.run(
            *(self.python, "-m", "pip", "install", "--no-index", "--verbose"),
            *("--no-cache-dir", "--no-compile", "--force-reinstall", *links, *what),
            ok=ok,
            **{"PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables},
        )
        return done.stdout + done.stderr

    def info(self, **variables: str) -> dict[str, Any]:
        """What `fencepost info` says, as a user would ask."""
        done = self.run(self.folder / "bin" / "fencepost", "info", "--json", **variables)
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def files(self) -> set[str]:
        """The files of the installed package, without what the interpreter compiled."""
        package = self.site_packages / "fencepost"
        return {
            str(file.relative_to(package))
            for file in package.rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }

    def extension(self) -> Path:
        return self.site_packages / "fencepost" / "_native.abi3.so"

    def works_with(self, engine: str) -> None:
        """It imports from where it was installed, with this engine, and the example runs."""
        info = self.info()
        assert info["engine"] == engine, info
        where = self.code("import fencepost; print(fencepost.__file__)").stdout
        assert Path(where.strip()).is_relative_to(self.site_packages)
        assert "fence 1 is of an earlier owner" in self.code(self.example).stdout


def create(folder: Path, example: str, version: str | None = None) -> Environment:
    """A new environment of this Python, or of another version, or the test skips."""
    chosen = sys.executable if version is None else find_python(version)
    if chosen is None:
        pytest.skip(f"no Python {version} was found")
    subprocess.run(
        [sys.executable, "-m", "virtualenv", "--quiet", "--python", chosen, str(folder)],
        check=True,
        env={**os.environ, "VIRTUALENV_NO_PERIODIC_UPDATE": "1"},
    )
    return Environment(folder, example)


def find_python(version: str) -> str | None:
    """The interpreter of a version such as `"3.12"`, on the path or among those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    installed = sorted(pyenv.glob(f"{version}.*/bin/python"))
    candidates = [shutil.which(f"python{version}"), *map(str, installed)]
    for candidate in filter(None, candidates):
        asked = subprocess.run(
            [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
        # A shim of pyenv may stand for a version that is not chosen.
        if asked.returncode == 0 and asked.stdout.strip() == version:
            return candidate
    return None
