"""The harness notes when the machine let not even the harness work."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from fencepost_stress import history, stillness
from fencepost_stress.history import Note, Writer
from fencepost_stress.sometimes import Sometimes


@pytest.mark.parametrize("late_ms, noted", [(0, False), (100, False), (400, True)])
def test_a_sleep_that_takes_too_long_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late_ms: int, noted: bool
) -> None:
    now = [5_000_000_000]

    def sleep(seconds: float) -> None:
        now[0] += round(seconds * 1e9) + late_ms * 1_000_000

    clock = SimpleNamespace(sleep=sleep, monotonic_ns=lambda: now[0])
    monkeypatch.setattr(stillness, "time", clock)
    path = tmp_path / "nemesis.jsonl"
    stillness.sleep(0.1, Writer(path))
    found = Sometimes()
    found.faults(history.read(path))
    assert found.still == ([(5_100_000_000, 5_500_000_000)] if noted else [])
    assert all(isinstance(note, Note) for note in history.read(path))
