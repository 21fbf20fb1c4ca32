"""The nemesis: carries out the plan's faults, for real and at their times."""

from __future__ import annotations

import heapq
import time
from collections import Counter

from .crew import Crew
from .history import Writer
from .live import Board
from .plan import Fault, Plan

_AIM_SECONDS = 0.1


class Nemesis:
    """Polled by the harness; keeps a history of what it did."""

    def __init__(self, plan: Plan, crew: Crew, board: Board, writer: Writer) -> None:
        self._crew = crew
        self._board = board
        self._writer = writer
        self._due = list(plan.faults)
        self._resumptions: list[tuple[int, int, str]] = []
        self.done: Counter[str] = Counter()

    def poll(self, start: int) -> float:
        """Do what is due; gives the seconds until the next thing is."""
        elapsed = (time.monotonic_ns() - start) // 1_000_000
        while self._resumptions and self._resumptions[0][0] <= elapsed:
            self._resume()
        while self._due and self._due[0].at_ms <= elapsed:
            self._strike(self._due.pop(0), elapsed)
        coming = [fault.at_ms for fault in self._due[:1]]
        coming += [resumption[0] for resumption in self._resumptions[:1]]
        return max(0.0, (min(coming) - elapsed) / 1000) if coming else 1.0

    def _strike(self, fault: Fault, elapsed: int) -> None:
        name = self._crew.name(fault.slot)
        if name is None:
            return
        self._take_aim(fault)
        if fault.kind == "kill":
            self._crew.kill(fault.slot)
            self._writer.note("kill", slot=fault.slot, process=name)
            self._crew.collect()
            self._crew.hire(fault.slot)
        else:
            self._crew.pause(fault.slot)
            self._writer.note("pause", slot=fault.slot, process=name, ms=fault.duration_ms)
            heapq.heappush(self._resumptions, (elapsed + fault.duration_ms, fault.slot, name))
        self.done[fault.kind] += 1

    def _take_aim(self, fault: Fault) -> None:
        """Watch the worker until it is at the stage; strike anyway when it does not come."""
        deadline = time.monotonic() + _AIM_SECONDS
        while self._board.stage(fault.slot) < fault.aim and time.monotonic() < deadline:
            time.sleep(0)

    def _resume(self) -> None:
        _, slot, name = heapq.heappop(self._resumptions)
        if self._crew.name(slot) == name:
            self._crew.resume(slot)
            self._writer.note("resume", slot=slot, process=name)

    def relent(self) -> None:
        """The faults stop: everybody who is stopped goes on."""
        self._due.clear()
        while self._resumptions:
            self._resume()
