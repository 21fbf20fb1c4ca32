"""What is saved of a run on somebody's queue, beside its plan and its histories."""

from __future__ import annotations

from pathlib import Path

import msgspec

from .capabilities import Capabilities
from .systems import System

_FILE = "system.json"


class Setup(msgspec.Struct, frozen=True):
    """The system, what it declared, and how it is used."""

    system: System
    capabilities: Capabilities
    lease_ms: int
    processes: int
    threads: int

    def cell(self, slot: int, thread: int) -> int:
        """Where a client counts in `live.bin`; the one that finishes the rest comes last."""
        return slot * self.threads + thread

    @property
    def comes_back_ms(self) -> int:
        """After how long a claim ends that nobody ends; 0 when it does not."""
        return self.lease_ms if self.capabilities.lease == "expires" else 0


def save_setup(setup: Setup, directory: Path) -> None:
    encoded = msgspec.json.format(msgspec.json.encode(setup), indent=2)
    (directory / _FILE).write_bytes(encoded + b"\n")


def load_setup(directory: Path) -> Setup:
    return msgspec.json.decode((directory / _FILE).read_bytes(), type=Setup)


def is_external(directory: Path) -> bool:
    """Whether a run's directory holds evidence of somebody's queue."""
    return (directory / _FILE).exists()
