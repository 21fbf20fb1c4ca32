"""Both engines, each in a process and on a file of its own, answer everything alike."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fencepost.conformance.operations import METHODS
from fencepost.errors import FencepostError
from tests.processes import plans
from tests.processes.remote import Child

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SYMBOL = re.compile(r"\$u\d+")
REFUSALS = """
    InvalidArgumentError ResourceNotFoundError UnknownResourceError
    ResourceConflictError ResourceNotReadyError EffectConflictError EffectNotFoundError
    EffectSettledError RequestConflictError RequestNotFoundError RunExistsError
    ContinuationExistsError
""".split()
START_MS = int(plans.START.timestamp() * 1000)


class Side:
    """One engine's store, its ids and its path named by their order of appearance."""

    def __init__(self, child: Child, engine: str) -> None:
        self._child = child
        self._engine = engine
        self._path = ""
        self._symbols: dict[str, str] = {}
        self._ids: dict[str, str] = {}

    def open(self, path: Path) -> None:
        self._path = str(path)
        self._symbols, self._ids = {}, {}
        options = {"engine": self._engine, "synchronous": "off", "ms": START_MS}
        self._child.ask("open_with_clock", path=self._path, name="store", options=options)

    def begin(self, op: str, arguments: dict[str, Any]) -> None:
        self._child.begin("operation", op=op, name="store", arguments=self._actual(arguments))

    def end(self) -> tuple[str, Any]:
        """`"result"` or `"error"`, and everything that can be compared of it."""
        try:
            return "result", self._named(self._child.end())
        except FencepostError as error:
            fields = {name: self._named(value) for name, value in vars(error).items()}
            about = (type(error).__name__, error.code, error.retryable, self._named(str(error)))
            return "error", (*about, fields)
        except TypeError as error:
            return "error", (type(error).__name__, str(error))

    def dump(self) -> Any:
        return self._named(self._child.ask("dump", name="store"))

    def set_clock(self, ms: int) -> None:
        self._child.ask("set_clock", ms=ms)

    def close(self) -> None:
        self._child.close()

    def _named(self, value: Any) -> Any:
        if isinstance(value, str):
            return _UUID.sub(self._symbol, value).replace(self._path, "$path")
        if isinstance(value, (list, tuple)):
            return [self._named(item) for item in value]
        if isinstance(value, dict):
            return {name: self._named(item) for name, item in value.items()}
        return value

    def _symbol(self, match: re.Match[str]) -> str:
        if match[0] not in self._symbols:
            symbol = self._symbols[match[0]] = f"$u{len(self._symbols) + 1}"
            self._ids[symbol] = match[0]
        return self._symbols[match[0]]

    def _actual(self, value: Any) -> Any:
        if isinstance(value, str):
            return _SYMBOL.sub(lambda match: self._ids.get(match[0], match[0]), value)
        if isinstance(value, (list, tuple)):
            return type(value)(self._actual(item) for item in value)
        if isinstance(value, dict):
            return {name: self._actual(item) for name, item in value.items()}
        return value


class Agreement(RuleBasedStateMachine):
    """Do the same in both stores, compare what comes back, and the tables in the end."""

    def __init__(self, sides: list[Side], new_path: Callable[[], Path], seen: Counter[str]) -> None:
        super().__init__()
        self._sides = sides
        self._seen = seen
        self._made: dict[str, list[Any]] = defaultdict(list)
        self._steps = 0
        for side in sides:
            side.open(new_path())

    @initialize()
    def begin(self) -> None:
        for operation in plans.FIRST:
            self._operate(*operation)

    @rule(ms=plans.CLOCK_STEPS, operation=plans.operations())
    def operate(self, ms: int | None, operation: tuple[str, dict[str, Any]]) -> None:
        if ms is not None:
            for side in self._sides:
                side.set_clock(START_MS + ms)
        self._operate(*operation)

    def _operate(self, op: str, planned: dict[str, Any]) -> None:
        arguments = self._resolved(planned)
        for side in self._sides:
            side.begin(op, arguments)
        first, second = (side.end() for side in self._sides)
        # As text: True is not 1, 1.0 is not 1, and the order of members counts.
        assert repr(first) == repr(second), f"{op} {arguments!r:.1000}"
        if first[0] == "result":
            self._remember(first[1])
            self._seen[op] += first[1] is not False and first[1] != []
        else:
            self._seen[first[1][0]] += 1
        self._steps += 1

    @precondition(lambda self: self._steps % 10 == 9)
    @invariant()
    def tables_are_equal(self) -> None:
        first, second = (side.dump() for side in self._sides)
        assert repr(first) == repr(second)

    def teardown(self) -> None:
        self.tables_are_equal()
        for side in self._sides:
            side.close()

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, plans.Made):
            known = self._made[value.kind]
            return known[value.position % len(known)] if known else "nobody"
        if isinstance(value, (list, tuple)):
            return type(value)(self._resolved(item) for item in value)
        if isinstance(value, dict):
            return {name: self._resolved(item) for name, item in value.items()}
        return value

    def _remember(self, result: Any) -> None:
        """Ids, tokens, claims and cursors that later operations may speak of."""
        if isinstance(result, list):
            for item in result:
                self._remember(item)
        if not isinstance(result, dict):
            return
        for kind, member in (("uid", "uid"), ("request", "request_id"), ("cursor", "cursor")):
            if result.get(member) not in (None, *self._made[kind]):
                self._made[kind].append(result[member])
        if result.get("claim_token"):
            self._made["token"].append(result["claim_token"])
        if "queue_version" in result:
            self._made["claim"].append(result)
        for nested in ("metadata", "record", "items"):
            self._remember(result.get(nested))


def test_every_operation_is_planned() -> None:
    assert set(METHODS) <= set(plans.ARGUMENTS)


def test_the_engines_agree(
    start: Callable[..., Child], tmp_path: Path, both_engines: tuple[str, ...]
) -> None:
    sides = [Side(start(), engine) for engine in both_engines]
    stores = iter(range(1_000_000))
    seen: Counter[str] = Counter()
    explore = os.environ.get("FENCEPOST_EXPLORE")

    run_state_machine_as_test(
        partial(Agreement, sides, lambda: tmp_path / f"{next(stores)}.sqlite", seen),  # type: ignore[arg-type]
        settings=settings(
            max_examples=int(explore or 60),
            stateful_step_count=50,
            derandomize=explore is None,
            # What differs is said in place; only who explores has the time for less.
            phases=[Phase.generate, *([Phase.shrink] if explore else [])],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

    # Two stores that refuse everything would agree as well.
    without_effect = [op for op in plans.ARGUMENTS if not seen[op]]
    assert len(without_effect) < len(plans.ARGUMENTS) / 10, without_effect
    never_refused = [name for name in REFUSALS if not seen[name]]
    assert len(never_refused) < len(REFUSALS) / 5, never_refused
