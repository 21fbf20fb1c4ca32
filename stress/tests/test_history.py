"""The record format: what was written is read, and damage is never taken for evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost_stress.history import (
    Begin,
    Clock,
    Fail,
    Info,
    Invoke,
    Note,
    Ok,
    TornHistoryError,
    Writer,
    read,
)

RECORDS = [
    Begin(1, "worker", {"pid": 7}),
    Invoke(2, 1, "runs.get", {"run_id": "é\u2028"}),
    Clock(3, 1, 1_700_000_000_000),
    Ok(4, 1, {"run_id": "x", "input": [None, 1.5]}),
    Fail(5, 2, "busy", "try again"),
    Info(6, 3, "io", "disk"),
    Note(7, "kill", {"slot": 1}),
]


def write(path: Path) -> None:
    writer = Writer(path)
    for record in RECORDS:
        writer.write(record)
    writer.close()


def test_records_come_back(tmp_path: Path) -> None:
    write(tmp_path / "h")
    assert list(read(tmp_path / "h")) == RECORDS


def test_records_come_back_over_block_borders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "h")
    for size in range(1, 40):
        monkeypatch.setattr("fencepost_stress.history.READ_BYTES", size)
        assert list(read(tmp_path / "h")) == RECORDS


def test_a_torn_last_line_was_never_recorded(tmp_path: Path) -> None:
    path = tmp_path / "h"
    write(path)
    path.write_bytes(path.read_bytes()[:-3])
    assert list(read(path)) == RECORDS[:-1]


def test_damage_before_the_end_raises(tmp_path: Path) -> None:
    path = tmp_path / "h"
    write(path)
    path.write_bytes(path.read_bytes().replace(b'"runs.get"', b'"runs.get', 1))
    with pytest.raises(TornHistoryError):
        list(read(path))


def test_a_history_is_never_written_over(tmp_path: Path) -> None:
    write(tmp_path / "h")
    with pytest.raises(FileExistsError):
        Writer(tmp_path / "h")
