"""Trying the mutants, and saying what became of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console

from . import matrix
from .matrix import Matrix
from .mutants import MUTANTS
from .plan import Plan
from .progress import Progress


def sample(seed: int, number: int) -> tuple[str, ...]:
    """Some of the mutants, by the seed."""
    return tuple(random.Random(f"{seed}/mutants").sample(sorted(MUTANTS), number))


def try_all(
    names: Sequence[str], make: Callable[[str, int], Plan], folder: Path, as_json: bool, quiet: bool
) -> int:
    """Try these mutants; 0 where all were killed, else 1. `quiet`: `matrix.json` alone."""
    progress = Progress(Console(stderr=True))
    rows = []
    for name in names:
        with progress.of(name):
            rows.append(matrix.try_mutant(name, make, folder / name, progress.watch))
    result = Matrix(matrix.SCHEMA, tuple(rows), matrix.percentile([row.seconds for row in rows]))
    text = msgspec.json.format(msgspec.json.encode(result), indent=2)
    (folder / "matrix.json").write_bytes(text + b"\n")
    if as_json and not quiet:
        click.echo(text.decode())
    elif not as_json:
        matrix.show(Console(), result)
    return 0 if result.all_killed else 1
