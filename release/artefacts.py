"""The five files of a release: how they are named, and what is in them."""

from __future__ import annotations

import email
import re
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

# The name of a kind is also that of its list in `release/files/`.
NAMES = {
    "fencepost-native": r"fencepost-(?P<version>[^-]+)-cp311-abi3-(?P<platform>[^-]+)\.whl",
    "fencepost-pure": r"fencepost-(?P<version>[^-]+)-py3-none-any\.whl",
    "fencepost-sdist": r"fencepost-(?P<version>[^-]+)\.tar\.gz",
    "stress-wheel": r"fencepost_stress-(?P<version>[^-]+)-py3-none-any\.whl",
    "stress-sdist": r"fencepost_stress-(?P<version>[^-]+)\.tar\.gz",
}

Read: TypeAlias = "Callable[[], bytes]"


@dataclass(frozen=True)
class Artefact:
    """One built file. Names in it are relative to what a wheel or the sdist's folder holds."""

    kind: str
    path: Path
    version: str
    platform: str = ""
    contents: dict[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def wheel(self) -> bool:
        """Whether it is a wheel, and not a source distribution."""
        return self.path.suffix == ".whl"

    @cached_property
    def dist_info(self) -> str:
        """The folder of a wheel's metadata."""
        return f"{self.path.name.partition('-')[0]}-{self.version}.dist-info"

    @cached_property
    def metadata(self) -> Message:
        """The core metadata."""
        name = f"{self.dist_info}/METADATA" if self.wheel else "PKG-INFO"
        return email.message_from_bytes(self.contents[name])

    @property
    def description(self) -> str:
        """The long description, which follows the metadata's headers."""
        return str(self.metadata.get_payload())

    def listing(self) -> list[str]:
        """The names of its files, without the version in them, sorted."""
        return sorted(name.replace(f"-{self.version}.", "-VERSION.") for name in self.contents)

    def package(self) -> dict[str, bytes]:
        """The files of a wheel that are imported, and not about it."""
        return {
            name: content
            for name, content in self.contents.items()
            if not name.startswith(self.dist_info)
        }


def load(folder: Path) -> tuple[list[Artefact], list[str]]:
    """The artefacts in a folder, in the order of NAMES, and the names that are none."""
    found: dict[str, Artefact] = {}
    strange = []
    for path in sorted(folder.iterdir()):
        for kind, pattern in NAMES.items():
            match = re.fullmatch(pattern, path.name)
            if match is not None and kind not in found:
                found[kind] = Artefact(kind, path, **match.groupdict(), contents=_read(path))
                break
        else:
            strange.append(path.name)
    return [found[kind] for kind in NAMES if kind in found], strange


def _read(path: Path) -> dict[str, bytes]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {
                name: archive.read(name) for name in archive.namelist() if not name.endswith("/")
            }
    contents = {}
    with tarfile.open(path) as archive:
        for member in archive:
            inner = archive.extractfile(member)
            if inner is not None:
                contents[member.name.partition("/")[2]] = inner.read()
    return contents
