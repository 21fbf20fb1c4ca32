"""A scenario of somebody's own code: a function that each worker calls again and again."""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import msgspec

from .plan import Plan
from .recorded import RecordedStore
from .session import Session

FILE = "code.json"
_MODULE = "fencepost_stress_code"


class Code(msgspec.Struct, frozen=True):
    """Where the function is: a file, its name there, and the path to import the rest by."""

    file: str
    name: str
    path: tuple[str, ...]


class CodeError(Exception):
    """The function can't be found again by a worker process."""


class Worker:
    """What the function is given.

    Attributes:
        store: the store's facets; a call that changes something is recorded.
        name: the runner's name. A worker that was killed comes back under the same one.
        slot: the worker's number, from 0.
        random: random numbers that follow from the seed.
        healing: True when the load is over: make no new work then, finish what there is.
    """

    def __init__(self, session: Session, plan: Plan, slot: int, incarnation: int) -> None:
        self.name = f"runner-{slot}"
        self.slot = slot
        self.healing = False
        self._call_name = f"{slot}.{incarnation}"
        self.random = random.Random(f"{plan.seed}/{self._call_name}")
        self._serial = 0
        self._session = session
        self.store = RecordedStore(session, self.unique)

    def unique(self, kind: str) -> str:
        """A name that nobody else makes in this run: "invoice-2.1-17"."""
        self._serial += 1
        return f"{kind}-{self._call_name}-{self._serial}"

    def check(self, holds: bool, message: str) -> None:
        """Record an objection when something does not hold that your code promises."""
        if not holds:
            self._session.note("objection", message=message)


Step: TypeAlias = Callable[[Worker], None]


def code_of(function: Step) -> Code:
    """Where a function is, for a process that has to find it again."""
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    if file is None or "<" in function.__qualname__:
        raise CodeError(
            f"{function.__qualname__} can't be found by another process: "
            "let it be a function of a module, or a static method of a class there"
        )
    return Code(str(Path(file).resolve()), function.__qualname__, tuple(sys.path))


def save(code: Code, directory: Path) -> None:
    """Lay a run's code down where its workers look for it."""
    directory.mkdir(parents=True)
    (directory / FILE).write_bytes(msgspec.json.encode(code))


def load(directory: Path) -> Step | None:
    """The function of a run, or None when it has the harness's own workload."""
    path = directory / FILE
    if not path.exists():
        return None
    code = msgspec.json.decode(path.read_bytes(), type=Code)
    sys.path[:] = [*code.path, *(entry for entry in sys.path if entry not in code.path)]
    found: object = _module(Path(code.file))
    for part in code.name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise CodeError(f"{code.name} in {code.file} is no function")
    return found


def _module(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_MODULE, file)
    if spec is None or spec.loader is None:
        raise CodeError(f"{file} can't be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    spec.loader.exec_module(module)
    return module


class Custom:
    """The function in the place of the harness's own scenario."""

    def __init__(
        self, function: Step, session: Session, plan: Plan, *, slot: int, incarnation: int
    ) -> None:
        self._function = function
        self._session = session
        self._worker = Worker(session, plan, slot, incarnation)

    def step(self) -> None:
        self._function(self._worker)

    def think(self) -> None:
        """The code takes its own time."""

    def drain(self, deadline: int) -> bool:
        """Let the code finish what there is; False when it does not in time."""
        self._worker.healing = True
        while time.monotonic_ns() < deadline:
            if self._empty():
                return True
            self._function(self._worker)
            time.sleep(self._worker.random.uniform(0.001, 0.01))
        return self._empty()

    def _empty(self) -> bool:
        """Whether no work is left. Not recorded: the tables at the end are the evidence."""
        store = self._session.store
        if store is None:
            raise RuntimeError("the session has no store")
        left = [
            store.runs.list(status="claimed", limit=1),
            store.runs.list(status="parked", limit=1),
            store.queue.list(limit=1),
        ]
        return not any(left)
