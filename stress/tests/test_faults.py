"""The faults are real: each happens, is counted, and leaves nobody behind."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deciding import decided

from fencepost import engine_info
from fencepost.errors import StoreBusyError, StoreFullError
from fencepost_stress import history, live, worker
from fencepost_stress.clock import Clock
from fencepost_stress.disk import make_disk
from fencepost_stress.faults import FAULTS, POINTS, ClockError, ClockPath, Fault
from fencepost_stress.history import Note, Writer
from fencepost_stress.intruders import Intruders
from fencepost_stress.mutants import MUTANTS
from fencepost_stress.nemesis import Nemesis
from fencepost_stress.plan import make_plan
from fencepost_stress.sometimes import Sometimes
from fencepost_stress.trials import sample

HAS_NATIVE = engine_info().native_sqlite is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "engine",
    [
        "python",
        pytest.param(
            "native",
            marks=pytest.mark.skipif(not HAS_NATIVE, reason="the native engine is not installed"),
        ),
    ],
)
def test_all_faults_happen_and_break_nothing(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--engine", engine, "--faults", "all", "--seed", "6")
    code, found, _ = decided(capsys, tmp_path, 12, *options)
    (run,) = found["runs"]
    assert (code, run["reasons"]) == (0, [])
    done = run["faults"]
    assert all(done.get(kind, 0) > 0 or f"{kind} (not possible here)" in done for kind in FAULTS)
    assert any(done.get(f"kill {point}", 0) > 0 for point in POINTS)


def test_a_disk_that_stays_full_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: Any, **__: Any) -> None:
        raise StoreFullError("no room")

    monkeypatch.setattr(worker, "open_store", no_room)
    monkeypatch.setattr(worker, "_ROOM_LIMIT_SECONDS", 0.1)
    live.create(tmp_path / "live.bin", 1)
    orders = worker.Orders(str(tmp_path), "d", "python", "worker", 0, 1, 0, 0, 0, small_disk=True)
    plan = make_plan(seed=1, engine="python", processes=2, seconds=1, faults=("full",))
    writer = Writer(tmp_path / "history.jsonl")
    with pytest.raises(StoreFullError):
        worker._open(orders, plan, Clock(0), live.Cell(tmp_path / "live.bin", 0), writer)
    writer.close()
    assert [note.kind for note in history.notes(tmp_path / "history.jsonl", "not opened")]


@pytest.mark.parametrize("in_storm, tries", [(False, 3), (True, 1)])
def test_a_lock_that_is_held_is_waited_for_but_not_in_a_storm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_storm: bool, tries: int
) -> None:
    answers: list[Any] = [StoreBusyError("held"), StoreBusyError("held"), None]
    made = []

    def opened(*_: Any, **__: Any) -> Any:
        made.append(answers[len(made)])
        if made[-1] is not None:
            raise made[-1]

    monkeypatch.setattr(worker, "open_store", opened)
    monkeypatch.setattr(worker, "_ROOM_SECONDS", 0)
    live.create(tmp_path / "live.bin", 1)
    place = (str(tmp_path), "d", "python", "worker", 0, 1, 0, 0, 0)
    orders = worker.Orders(*place, waits_to_open=in_storm)
    plan = make_plan(seed=1, engine="python", processes=2, seconds=1, faults=("hog", "storm"))
    writer = Writer(tmp_path / "history.jsonl")
    with pytest.raises(StoreBusyError) if in_storm else nullcontext():
        worker._open(orders, plan, Clock(0), live.Cell(tmp_path / "live.bin", 0), writer)
    assert len(made) == tries
    writer.close()
    told = list(history.notes(tmp_path / "history.jsonl", history.NOT_OPENED))
    assert [note.facts["code"] for note in told] == ["busy"] * min(tries, 2)
    assert all(0 < note.facts["since"] <= note.mono for note in told)


def test_an_intruder_holds_the_lock_and_says_when(tmp_path: Path) -> None:
    database = tmp_path / "file.sqlite"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE schema_info (id)")
    reading, writing = os.pipe()
    intruders = Intruders(database, reading)
    for kind, detail in (("hog", ""), ("reader", ""), ("checkpoint", "TRUNCATE")):
        began = time.monotonic_ns()
        intruders.send(kind, 200, detail)
        ((errand, done),) = intruders.back(wait=True)
        assert errand.kind == kind
        assert done is not None
        assert began < done.since < done.until < time.monotonic_ns()
        assert done.until - done.since >= 200_000_000
    assert done.times > 1
    intruders.send("hog", 60_000, "")
    intruders.dismiss()
    assert intruders.back() == []
    os.close(reading)
    os.close(writing)


def test_a_disk_can_be_full_and_have_room_again(tmp_path: Path) -> None:
    disk = make_disk(tmp_path / "disk")
    if disk is None:
        pytest.skip("no disk may be mounted here")
    with disk:
        file = disk.place / "file"
        file.write_bytes(bytes(50_000))
        assert disk.fill()
        with pytest.raises(OSError, match="No space left"):
            (disk.place / "other").write_bytes(bytes(10_000))
        disk.empty()
        (disk.place / "other").write_bytes(bytes(10_000))
    assert not disk.place.exists()


class Slow:
    """A crew whose one process takes 500 ms to begin."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.killed_at: list[int] = []
        self.now = 0
        self.intruders = Intruders(directory / "none", -1)

    def name(self, slot: int) -> str:
        return "worker-00-001"

    def has_begun(self, slot: int) -> bool:
        return self.now >= 500

    def kill(self, slot: int) -> None:
        self.killed_at.append(self.now)

    def collect(self) -> int:
        return 1

    def hire(self, slot: int) -> None:
        """Nobody comes in its place."""


def strike(
    crew: Any, faults: tuple[Fault, ...], at: Iterable[int], monkeypatch: pytest.MonkeyPatch
) -> Nemesis:
    """Poll a nemesis at these moments of the crew's time."""
    plan = make_plan(seed=1, engine="python", processes=2, seconds=1, faults=())
    live.create(crew.directory / "live.bin", 2)
    writer = Writer(crew.directory / "nemesis.jsonl")
    plan = msgspec.structs.replace(plan, faults=faults)
    struck = Nemesis(plan, crew, live.Board(crew.directory / "live.bin"), writer)
    monkeypatch.setattr(time, "monotonic_ns", lambda: crew.now * 1_000_000)
    for crew.now in at:
        struck.poll(0)
    writer.close()
    return struck


def test_a_process_is_struck_once_it_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = (Fault(100, "kill", 0), Fault(150, "kill", 0), Fault(900, "kill", 0))
    crew = Slow(tmp_path)
    struck = strike(crew, faults, range(0, 1200, 50), monkeypatch)
    assert crew.killed_at == [500, 900]
    assert struck.done["kill"] == 2


class Busy(Slow):
    """A crew on a busy machine: each kill takes a second."""

    def has_begun(self, slot: int) -> bool:
        return True

    def kill(self, slot: int) -> None:
        super().kill(slot)
        self.now += 1000

    def pause(self, slot: int) -> None:
        """It is stopped."""

    def resume(self, slot: int) -> None:
        """It goes on."""


def test_nobody_is_stopped_for_longer_because_others_are_struck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = (Fault(100, "pause", 0, duration_ms=700), *(Fault(150, "kill", 1) for _ in range(3)))
    strike(Busy(tmp_path), faults, (100, 150), monkeypatch)
    kinds = [note.kind for note in history.read(tmp_path / "nemesis.jsonl")]  # type: ignore[union-attr]
    assert kinds == ["pause", "kill", "resume", "kill", "kill"]


def test_who_is_stopped_twice_was_stopped_all_the_while() -> None:
    found = Sometimes()
    noted = [(10, "pause"), (20, "pause"), (30, "resume"), (40, "restart"), (90, "gone")]
    found.faults(Note(at, kind, {"process": "a", "at": at}) for at, kind in noted)
    assert found.paused == [("a", 10, 30)]
    # It is as good as gone since it was asked to end: how long it takes is nobody's wait.
    assert found.gone == {"a": 40}


def test_a_clock_drifts_and_is_stepped() -> None:
    faults = [Fault(1000, "clock", 0, step_ms=-300), Fault(500, "clock", 1, step_ms=700)]
    path = ClockPath(ClockError(100, 20_000), faults, 0)
    assert [path.error_ms(at) for at in (0, 500, 999.9, 1000, 1500)] == [100, 110, 120, -200, -190]


def test_the_sample_of_mutants_follows_the_seed() -> None:
    assert sample(3, 6) == sample(3, 6)
    assert sample(3, 6) != sample(4, 6)
    assert len(set(sample(3, 6))) == 6
    assert set(sample(3, 6)) <= set(MUTANTS)
