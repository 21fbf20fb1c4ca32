"""A small disk of its own for the database, so that it can be full: a tmpfs.

Only where the harness may mount one (Linux, as root). It is made as small as what is on
it, and large again; in between the store under test meets a real ENOSPC.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

_ROOM = "50%"
"""Of the machine's memory; only what is used is taken."""
_TRIES = 20


class Disk:
    """A mounted tmpfs; leaving the context unmounts it, and so does the harness's death."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir(parents=True)
        _run("mount", "-t", "tmpfs", "-o", f"size={_ROOM},mode=0700", "fencepost", str(place))
        self._sweeper = subprocess.Popen(
            [sys.executable, "-m", "fencepost_stress.sweeper", _found("umount"), str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            process_group=0,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _run("umount", str(self.place))
        self._sweeper.communicate()
        self.place.rmdir()

    def fill(self) -> bool:
        """Leave no room; False where the workers were always faster."""
        for _ in range(_TRIES):
            state = os.statvfs(self.place)
            try:
                self._resize(str((state.f_blocks - state.f_bfree) * state.f_frsize))
            except subprocess.CalledProcessError:
                # They wrote more meanwhile than it was to hold.
                continue
            return True
        return False

    def empty(self) -> None:
        """Give the room back."""
        self._resize(_ROOM)

    def _resize(self, size: str) -> None:
        _run("mount", "-o", f"remount,size={size}", str(self.place))

    def save(self, database: Path, place: Path) -> None:
        """Copy the database, its log too, to where it outlives the disk."""
        for source in self.place.glob(f"{database.name}*"):
            if source.is_file():
                shutil.copyfile(source, place / source.name)


def make_disk(place: Path) -> Disk | None:
    """The disk, or None where it may not be mounted."""
    try:
        return Disk(place)
    except (OSError, subprocess.CalledProcessError):
        if place.exists():
            place.rmdir()
        return None


def _run(name: str, *arguments: str) -> None:
    command = [_found(name), *arguments]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)


def _found(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(name)
    return found
