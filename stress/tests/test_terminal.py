"""What the harness prints: tables that fit, and progress where there is no terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from fencepost_stress import matrix, progress
from fencepost_stress.live import Counts
from fencepost_stress.matrix import Matrix, Row
from fencepost_stress.mutants import MUTANTS
from fencepost_stress.progress import Progress


def test_the_matrix_can_be_read_at_80_columns() -> None:
    many = ("F1", "F2", "F3", "D1", "O1", "R1", "sometimes")
    rows = [
        Row(name, mutant.bug, "killed", mutant.killers, many, 98_765, 45_678, 123.4, 34_567)
        for name, mutant in MUTANTS.items()
    ]
    rows.append(Row("the-last", "b", "survived", ("A1", "R1"), ("F1",), 1, 2, 3.0))
    file = io.StringIO()
    matrix.show(Console(file=file, width=80), Matrix(matrix.SCHEMA, tuple(rows), 123.4))
    shown = file.getvalue()
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    for row in rows:
        assert row.mutant in shown
    for figure in ("98,765", "45,678", "34,567", "123.4", "survived (by F1", "expected"):
        assert figure in shown


def test_where_there_is_no_terminal_a_line_comes_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    file = io.StringIO()
    shown = Progress(Console(file=file, width=40))
    with shown.of("python, seed 7"):
        for step in range(120):
            now = 100.0 + step / 10
            shown.watch(Counts(step, 3, 2), {"kill": 1}, "load")
    lines = file.getvalue().splitlines()
    assert [line.split(" · ")[1] for line in lines] == ["0.0 s", "5.0 s", "10.0 s"]
    assert lines[1] == "python, seed 7: load · 5.0 s · 50 calls · 3 claims · 2 refusals · 1 kill"
