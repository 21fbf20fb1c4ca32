"""The harness as a library: stress a function of your own, and get a verdict.

The pytest fixture `stress_scenario` is a thin layer over `run_code`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec

import fencepost

from . import custom, history, report, verdict as verdicts
from .check import check
from .custom import Step, Worker
from .history import Note
from .live import Counts
from .plan import FAULTS, FaultKind, Plan, make_plan
from .report.prose import prose
from .run import execute
from .verdict import RunVerdict, Verdicts
from .workloads import CUSTOM

__all__ = ["Result", "Worker", "run_code"]

_SEEDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict on a run of your own code.

    Attributes:
        verdict: the run's verdict, in the format of verdict.json.
        objections: what the code itself objected to, by `Worker.check`.
        database: the store that the workers left, closed by all of them.
        report: the page that tells the run.
        stories: the first violations in words.
    """

    verdict: RunVerdict
    objections: tuple[str, ...]
    database: Path
    report: Path
    stories: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether every promise was kept, and the code objected to nothing."""
        return self.verdict.verdict == "valid" and not self.objections

    def explain(self) -> str:
        """Why it is not valid, and how to see it again."""
        lines = [f"the store's promises: {self.verdict.verdict}, seed {self.verdict.seed}"]
        often = Counter(message.partition(": ")[2] for message in self.objections)
        lines += [
            f"the code objected {count} times: {message}"
            for message, count in often.most_common(10)
        ]
        lines += [f"- {reason}" for reason in self.verdict.reasons]
        lines += ["", *self.stories, f"report: {self.report}"]
        return "\n".join(lines)


def run_code(
    function: Step,
    directory: Path,
    *,
    engine: str | None = None,
    processes: int = 4,
    seconds: float = 5.0,
    faults: Sequence[FaultKind] = ("kill", "pause"),
    seed: int | None = None,
    heal_seconds: float = 15.0,
) -> Result:
    """Let processes call `function` again and again, hurt them, and judge what they did.

    Args:
        function: called with a `Worker`; a function of a module that can be imported.
        directory: must not exist; the evidence and the report are left in it.
        engine: "native", "python" or "mixed"; the default is the one that `open` takes.
        processes: how many processes call it.
        seconds: how long the load lasts. Then the faults stop, `Worker.healing` is True, and
            the function is called until no run and no key is left.
        faults: what is done to the processes.
        seed: of the faults and of `Worker.random`; drawn when None.
        heal_seconds: how long the code may take to finish when the load is over.
    """
    unknown = [kind for kind in faults if kind not in FAULTS]
    if unknown:
        raise ValueError(f"no fault {unknown[0]!r}; there are {', '.join(FAULTS)}")
    plan = _plan(
        engine or fencepost.engine_info().engine,
        processes,
        seconds,
        tuple(kind for kind in FAULTS if kind in faults),
        random.randrange(_SEEDS) if seed is None else seed,
    )
    plan = msgspec.structs.replace(plan, heal_limit_ms=round(heal_seconds * 1000))
    code = custom.code_of(function)
    custom.save(code, directory)
    ending = execute(plan, directory, _unwatched)
    # The checkers' alarm would cancel that of a test runner: it rings in the main thread only.
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(check, directory).result()
    repeat = f"{code.name} of {code.file}, with seed {plan.seed}"
    run = msgspec.structs.replace(found, repeat=repeat)
    if not ending.healed:
        left = f"work was left {heal_seconds:g} s after the load, or a worker did not end well"
        judged = verdicts.worst((run.verdict, "unknown"))
        run = msgspec.structs.replace(run, verdict=judged, reasons=(left, *run.reasons))
    (more,) = report.write(Verdicts(verdicts.SCHEMA, run.verdict, (run,)), directory)
    return Result(
        verdict=run,
        objections=tuple(_objections(directory)),
        database=directory / "store.sqlite",
        report=directory / "index.html",
        stories=tuple("\n".join(prose(story)) for story in more.stories[:3]),
    )


def _plan(
    engine: str, processes: int, seconds: float, faults: tuple[FaultKind, ...], seed: int
) -> Plan:
    plan = make_plan(seed=seed, engine=engine, processes=processes, seconds=seconds, faults=faults)
    return msgspec.structs.replace(
        plan,
        workload=CUSTOM,
        weights={},
        race_ms=0,
        # What must happen is for the caller to say: the code may hold no leases at all.
        required=("worker killed",) if "kill" in faults else (),
    )


def _objections(directory: Path) -> Iterator[str]:
    for path in sorted((directory / "history").glob("worker-*.jsonl")):
        for record in history.read(path):
            if isinstance(record, Note) and record.kind == "objection":
                yield f"{path.stem}: {record.facts['message']}"


def _unwatched(_counts: Counts, _faults: dict[str, int], _phase: str) -> None:
    """Nobody looks at the progress of a test."""
