"""The nemesis: carries out the plan's faults, for real and at their times.

What the workers do to themselves (their clock, a fork, their share of the disk) is in
their own histories; the nemesis only says when their clocks were stepped.
"""

from __future__ import annotations

import heapq
import time
from bisect import insort
from collections import Counter

import msgspec

from .crew import Crew
from .disk import Disk
from .faults import POINTS
from .history import Writer
from .live import Board
from .plan import Fault, Plan

_LATER_MS = 200
"""A process that has not begun is struck so much later."""
_AIM_SECONDS = 0.1
_POINT_SECONDS = 0.5
_LEAVING_SECONDS = 8.0
_TICK_SECONDS = 0.05


class Nemesis:
    """Polled by the harness; keeps a history of what it did."""

    def __init__(
        self, plan: Plan, crew: Crew, board: Board, writer: Writer, disk: Disk | None = None
    ) -> None:
        self._crew = crew
        self._board = board
        self._writer = writer
        self._disk = disk
        self._due = list(plan.faults)
        self._resumptions: list[tuple[int, int, str]] = []
        self._leaving: dict[int, tuple[str, float]] = {}
        self._full_until = 0
        self._postponed: dict[int, Fault] = {}
        self.done: Counter[str] = Counter()

    def poll(self, start: int) -> float:
        """Do what is due; gives the seconds until the next thing is."""
        elapsed = self._go_on(start)
        while self._due and self._due[0].at_ms <= elapsed:
            self._strike(self._due.pop(0), elapsed)
            # On a busy machine a strike takes its time, and nobody is to be stopped for longer.
            elapsed = self._go_on(start)
        coming = [fault.at_ms for fault in self._due[:1]]
        coming += [resumption[0] for resumption in self._resumptions[:1]]
        if self._leaving or self._full_until:
            return _TICK_SECONDS
        return max(0.0, (min(coming) - elapsed) / 1000) if coming else 1.0

    def _go_on(self, start: int) -> int:
        """End what is to end by now; gives the milliseconds since the start."""
        elapsed = (time.monotonic_ns() - start) // 1_000_000
        while self._resumptions and self._resumptions[0][0] <= elapsed:
            self._resume()
        self._follow_up(elapsed)
        return elapsed

    def _strike(self, fault: Fault, elapsed: int) -> None:
        match fault.kind:
            case "hog" | "reader" | "checkpoint":
                self._crew.intruders.send(fault.kind, fault.duration_ms, fault.detail)
            case "clock":
                self._writer.note("clock", slot=fault.slot, step_ms=fault.step_ms)
                self.done[fault.kind] += 1
            case "full":
                self._fill(elapsed + fault.duration_ms)
            case "kill" | "pause" | "restart":
                self._strike_worker(fault, elapsed)
            case _:
                # The worker's own doing.
                return

    def _strike_worker(self, fault: Fault, elapsed: int) -> None:
        name = self._crew.name(fault.slot)
        if name is None or fault.slot in self._leaving:
            return
        if not self._crew.has_begun(fault.slot):
            self._put_off(fault, elapsed)
            return
        self._postponed.pop(fault.slot, None)
        self._take_aim(fault)
        match fault.kind:
            case "kill":
                self._kill(fault, name)
            case "restart":
                self._crew.ask_to_end(fault.slot)
                self._writer.note("restart", slot=fault.slot, process=name)
                self._leaving[fault.slot] = (name, time.monotonic() + _LEAVING_SECONDS)
            case _:
                # Before it: on a busy machine the harness itself may have to wait in between.
                self._writer.note("pause", slot=fault.slot, process=name, ms=fault.duration_ms)
                self._crew.pause(fault.slot)
                heapq.heappush(self._resumptions, (elapsed + fault.duration_ms, fault.slot, name))
        self.done[fault.kind] += 1

    def _put_off(self, fault: Fault, elapsed: int) -> None:
        """Strike a process that has not begun when it has: of several faults the first.

        On a busy machine nobody would ever get as far as to a call.
        """
        if self._postponed.get(fault.slot, fault) is fault:
            later = msgspec.structs.replace(fault, at_ms=elapsed + _LATER_MS)
            insort(self._due, later, key=lambda due: due.at_ms)
            self._postponed[fault.slot] = later

    def _kill(self, fault: Fault, name: str) -> None:
        point = fault.detail if self._falls_at(fault) else ""
        self._crew.kill(fault.slot)
        facts = {"point": point} if point else {}
        self._writer.note("kill", slot=fault.slot, process=name, **facts)
        if point:
            self.done[f"kill {point}"] += 1
        self._crew.collect()
        self._crew.hire(fault.slot)

    def _falls_at(self, fault: Fault) -> bool:
        """Whether the worker ended itself at the named point, as it was told to."""
        if not fault.detail:
            return False
        self._crew.doom(fault.slot)
        self._board.arm(fault.slot, POINTS.index(fault.detail) + 1)
        deadline = time.monotonic() + _POINT_SECONDS
        while not self._crew.is_over(fault.slot) and time.monotonic() < deadline:
            time.sleep(0.001)
        self._board.arm(fault.slot, 0)
        return self._crew.is_over(fault.slot)

    def _take_aim(self, fault: Fault) -> None:
        """Watch the worker until it is at the stage; strike anyway when it does not come."""
        if fault.detail:
            return
        deadline = time.monotonic() + _AIM_SECONDS
        while self._board.stage(fault.slot) < fault.aim and time.monotonic() < deadline:
            time.sleep(0)

    def _follow_up(self, elapsed: int) -> None:
        self._hear_of_intruders()
        for slot, (name, deadline) in list(self._leaving.items()):
            gone = self._crew.name(slot) is None
            if not gone and time.monotonic() > deadline:
                self._crew.problems.append(f"{name} did not end when it was asked to")
                self._crew.kill(slot)
                gone = True
            if gone:
                del self._leaving[slot]
                self._crew.collect()
                self._crew.hire(slot)
        if self._full_until and elapsed >= self._full_until:
            self._empty()

    def _hear_of_intruders(self, wait: bool = False) -> None:
        for errand, done in self._crew.intruders.back(wait):
            if done is None:
                continue
            self._writer.note(
                errand.kind,
                since=done.since,
                until=done.until,
                detail=errand.detail,
                times=done.times,
                refused=done.refused,
            )
            self.done[errand.kind] += 1

    def _fill(self, until: int) -> None:
        if self._disk is None or self._full_until or not self._disk.fill():
            return
        self._full_until = until
        self._writer.note("full")
        self.done["full"] += 1

    def _empty(self) -> None:
        if self._disk is not None and self._full_until:
            self._disk.empty()
            self._full_until = 0
            self._writer.note("room again")

    def _resume(self) -> None:
        _, slot, name = heapq.heappop(self._resumptions)
        if self._crew.name(slot) == name:
            self._crew.resume(slot)
            self._writer.note("resume", slot=slot, process=name)

    def relent(self) -> None:
        """The faults stop: who is stopped goes on, who was asked to end is replaced."""
        self._due.clear()
        while self._resumptions:
            self._resume()
        self._empty()
        self._hear_of_intruders(wait=True)
        while self._leaving:
            self._follow_up(0)
            time.sleep(_TICK_SECONDS)
