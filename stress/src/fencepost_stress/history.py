"""What a process did: one append-only file a process, one record a line.

A call leaves an `Invoke` before it and an `Ok`, `Fail` or `Info` after it; the clock
that the store reads leaves a `Clock` in between, so that the time a killed call used
is known as well. Each record is one `write(2)` on a descriptor opened for appending:
what was recorded survives a SIGKILL, because the page cache belongs to the kernel.

`mono` is CLOCK_MONOTONIC in nanoseconds, which all processes of a host share.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

READ_BYTES = 1 << 18
NOT_OPENED = "not opened"
"""What a worker notes when the store refused to be opened."""


class Begin(msgspec.Struct, array_like=True, tag="b", frozen=True):
    """The first record of a file: who writes it, and with what."""

    mono: int
    process: str
    facts: dict[str, Any]


class Invoke(msgspec.Struct, array_like=True, tag="i", frozen=True):
    """Call `n` of this process is about to be made."""

    mono: int
    n: int
    name: str
    args: dict[str, Any]


class Clock(msgspec.Struct, array_like=True, tag="t", frozen=True):
    """The store read the clock during call `n` and was given `wall` (ms since the epoch)."""

    mono: int
    n: int
    wall: int


class Ok(msgspec.Struct, array_like=True, tag="o", frozen=True):
    """Call `n` returned."""

    mono: int
    n: int
    result: Any


class Fail(msgspec.Struct, array_like=True, tag="f", frozen=True):
    """Call `n` was definitely refused: it changed nothing."""

    mono: int
    n: int
    code: str
    message: str


class Info(msgspec.Struct, array_like=True, tag="u", frozen=True):
    """Call `n` ended in an error that leaves its outcome unknown."""

    mono: int
    n: int
    code: str
    message: str


class Note(msgspec.Struct, array_like=True, tag="n", frozen=True):
    """Something that is not a call: a fault, a phase, the end."""

    mono: int
    kind: str
    facts: dict[str, Any]


Record: TypeAlias = Begin | Invoke | Clock | Ok | Fail | Info | Note

_decoder = msgspec.json.Decoder(Record)


class TornHistoryError(Exception):
    """A history has a damaged record before its end: the evidence can't be trusted."""


class Writer:
    """Appends records to one file."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o600)
        self._encode = msgspec.json.Encoder().encode

    def write(self, record: Record) -> None:
        line = self._encode(record) + b"\n"
        written = os.write(self._fd, line)
        if written != len(line):
            raise OSError(f"only {written} of {len(line)} bytes of a record were written")

    def begin(self, process: str, **facts: Any) -> None:
        self.write(Begin(time.monotonic_ns(), process, facts))

    def note(self, kind: str, **facts: Any) -> None:
        self.write(Note(time.monotonic_ns(), kind, facts))

    def close(self) -> None:
        os.close(self._fd)


def read(path: Path) -> Iterator[Record]:
    """The records of a file in order, read in blocks of bounded size.

    A last line without its newline is left out: its process died while the kernel
    copied it, so it was never recorded. A damaged line anywhere else raises.
    """
    rest = b""
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            complete, newline, rest = (rest + block).rpartition(b"\n")
            if newline:
                yield from _decode(path, complete)


def begin_of(path: Path) -> int:
    """The stamp of a file's first record; 0 when there is none."""
    with path.open("rb") as file:
        line = file.readline()
    return _decode(path, line)[0].mono if line.endswith(b"\n") else 0


def notes(path: Path, *kinds: str) -> Iterator[Note]:
    """The notes of some kinds in a file, without looking at the rest."""
    with path.open("rb") as file:
        for line in file:
            if line.startswith(b'["n"') and line.endswith(b"\n"):
                for record in _decode(path, line):
                    if isinstance(record, Note) and record.kind in kinds:
                        yield record


def _decode(path: Path, lines: bytes) -> list[Record]:
    try:
        return _decoder.decode_lines(lines)
    except msgspec.MsgspecError as error:
        raise TornHistoryError(f"{path.name}: {error}") from error
