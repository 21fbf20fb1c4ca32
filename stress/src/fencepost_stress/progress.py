"""Live progress on stderr: a line that renews itself on a terminal.

Elsewhere, in a log of CI say, it is a new line every few seconds and at each new phase.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.status import Status

from .live import Counts
from .lookout import Lookout

_LOOK_SECONDS = 1.0
_LINE_SECONDS = 5.0


class Progress:
    """Shows what a run is doing. rich leaves out colour for NO_COLOR and for a pipe."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._label = ""
        self._began = 0.0
        self._phase = ""
        self._lookout: Lookout | None = None
        self._looked = 0.0
        self._said = 0.0

    @contextmanager
    def of(
        self, label: str, histories: Path | None = None, clock_error_ms: int = 0
    ) -> Iterator[None]:
        """Show one run, from here to the end of the block.

        Where its histories are given, violations are counted while they grow;
        `clock_error_ms` is how far apart the workers' clocks may be.
        """
        self._label, self._began, self._phase = label, time.monotonic(), ""
        self._lookout = None if histories is None else Lookout(histories, clock_error_ms)
        if not self._console.is_terminal:
            yield
            return
        with self._console.status(label) as status:
            self._status = status
            try:
                yield
            finally:
                self._status = None

    def watch(self, counts: Counts, faults: dict[str, int], phase: str) -> None:
        """New numbers."""
        parts = [
            f"{time.monotonic() - self._began:.1f} s",
            f"{counts.calls:,} calls",
            f"{counts.claims:,} claims",
            f"{counts.refusals:,} refusals",
            *(f"{number} {kind}" for kind, number in sorted(faults.items())),
            *self._violations(phase),
        ]
        self._show(phase, " · ".join(parts))

    def _violations(self, phase: str) -> list[str]:
        """Violations so far, looked for now and then; the checkers have the last word."""
        if self._lookout is None:
            return []
        if phase != self._phase or time.monotonic() - self._looked > _LOOK_SECONDS:
            self._lookout.look()
            self._looked = time.monotonic()
        return [f"{self._lookout.violations:,} violations so far"]

    def phase(self, phase: str) -> None:
        self._show(phase, f"{time.monotonic() - self._began:.1f} s")

    def _show(self, phase: str, numbers: str) -> None:
        if self._status is not None:
            self._status.update(f"{self._label}: {phase} · {numbers}")
        elif phase != self._phase or time.monotonic() - self._said >= _LINE_SECONDS:
            line = f"{self._label}: {phase} · {numbers}"
            self._console.print(line, highlight=False, soft_wrap=True)
            self._said = time.monotonic()
        self._phase = phase
