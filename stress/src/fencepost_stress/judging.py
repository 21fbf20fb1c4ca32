"""Running a checker: within its time, and so that its death is its own property's alone.

What a checker has proven by then stands: its property is invalid, and only the rest unknown.
"""

from __future__ import annotations

import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from .blackbox import BlackBoxChecker
from .blackbox.terms import Evidence
from .checkers.base import Checker, End, Finding
from .operations import Event


class OutOfBudgetError(Exception):
    """A checker's time is over."""


class Guard:
    """Runs a checker's code; says why it failed, and how long it took."""

    def __init__(self, budget_seconds: float) -> None:
        self._budget = budget_seconds
        self.failure = ""
        self.seconds = 0.0

    def run(self, work: Callable[[], None]) -> None:
        """Do the work, unless something failed before."""
        if self.failure:
            return
        began = time.thread_time()
        try:
            with _alarm(self._budget - self.seconds):
                work()
        except OutOfBudgetError:
            self.failure = f"the checker ran out of its {self._budget:g} s"
        except Exception:  # noqa: BLE001 - whatever a checker dies of, its property is unknown
            last = traceback.format_exc().strip().splitlines()[-1]
            self.failure = f"the checker crashed: {last}"
        self.seconds += time.thread_time() - began


class Judge:
    """One checker of a witnessed run, its time, and what became of it."""

    def __init__(self, make: Callable[[], Checker], budget_seconds: float) -> None:
        self._checker = make()
        self._guard = Guard(budget_seconds)

    @property
    def seconds(self) -> float:
        return self._guard.seconds

    def feed(self, events: Sequence[Event]) -> None:
        self._guard.run(lambda: self._checker.feed(events))

    def finding(self, end: End) -> Finding:
        found: list[Finding] = []
        self._guard.run(lambda: found.append(self._checker.finish(end)))
        failure = self._guard.failure
        if found and (not failure or found[0].verdict == "invalid"):
            return found[0]
        return self._checker.ledger.cut_short(failure)

    def cut_short(self, why: str) -> Finding:
        """What it found in evidence that does not come to its end."""
        return self._checker.ledger.cut_short(self._guard.failure or why)


def judged(
    checker: BlackBoxChecker, evidence: Evidence, budget_seconds: float
) -> Iterator[tuple[Finding, float]]:
    """What a checker of one or several properties finds, and its time for each."""
    guard = Guard(budget_seconds)
    found: list[Finding] = []
    guard.run(lambda: found.extend(checker.check(evidence)))
    if guard.failure:
        found = [ledger.cut_short(guard.failure) for ledger in checker.ledgers]
    for finding in found:
        yield finding, guard.seconds / len(found)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt the block when its time is over, also inside a loop that never ends.

    Where there is no such timer, or outside the main thread, only the harness's user
    can interrupt it.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(_number: int, _frame: object) -> None:
        raise OutOfBudgetError

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
