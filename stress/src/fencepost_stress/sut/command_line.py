"""`fencepost stress --sut NAME` and `--command CMD`, behind the options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..check import check as check_own
from ..plan import FaultKind, make_plan
from ..progress import Progress
from ..verdict import RunVerdict
from . import run
from .capabilities import WAIT
from .check import check
from .setup import is_external
from .systems import System, UnknownSystemError

FAULTS: tuple[FaultKind, ...] = ("kill", "pause")
"""Those that need nothing of the queue: any process can be killed or stopped."""

_UNSAFE = str.maketrans({"/": "-", " ": "-", ":": "-"})


def named(adapters: Sequence[str], command: str | None) -> list[System]:
    """The systems that the options name, each once."""
    systems = [System(adapter=name) for name in dict.fromkeys(adapters)]
    return [*systems, System(command=command)] if command else systems


def check_any(directory: Path) -> RunVerdict:
    """Decide a run's evidence, whatever it was a run of."""
    return check(directory) if is_external(directory) else check_own(directory)


def run_systems(
    systems: Sequence[System],
    folder: Path,
    progress: Progress,
    *,
    seed: int,
    processes: int,
    seconds: float,
    faults: tuple[FaultKind, ...],
    profile: str,
    workload: str,
) -> list[RunVerdict]:
    """Run each system on a plan of the same seed, and decide.

    Raises UnknownSystemError for a system that can't do what the workload asks of it.
    """
    verdicts = []
    for system in systems:
        plan = make_plan(
            seed=seed,
            engine=f"sut:{system.label}",
            processes=processes,
            seconds=seconds,
            faults=faults,
            profile=profile,
            workload=workload,
        )
        directory = folder / system.label.translate(_UNSAFE)
        with progress.of(f"{system.label}, seed {seed}"):
            capabilities = run.prepare(system, directory)
            if workload == WAIT and "wait" not in capabilities.operations:
                raise UnknownSystemError(f"{system.label}: its claims can't wait")
            run.execute(plan, system, capabilities, directory, progress.watch)
            progress.phase("checking")
            verdicts.append(check(directory))
    return verdicts
