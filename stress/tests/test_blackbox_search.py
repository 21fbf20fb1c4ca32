"""The search against an exhaustive one, and the checkers against a correct queue."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

import pytest
from blackbox_simulation import LEASE_NS, simulate
from hypothesis import HealthCheck, given, settings, strategies as st

from fencepost_stress.blackbox import CHECKERS
from fencepost_stress.blackbox.calls import Call
from fencepost_stress.blackbox.models import ItemModel, ParentModel
from fencepost_stress.blackbox.search import OutOfBudgetError, explainable, shortest
from fencepost_stress.blackbox.terms import Terms
from fencepost_stress.operations import NEVER, Op

LEASES = ("expires", "session", "kept", "taken")
SLOW = [HealthCheck.too_slow]
"""A machine that stands still for a second is no fault of what draws the examples."""


def exhaustive(calls: Sequence[Call], model: Any) -> bool:
    """Every choice of the unknown calls, in every order that the clocks allow."""
    known = [call for call in calls if not call.unknown]
    doubtful = [call for call in calls if call.unknown]
    return any(
        _some_end(order, model)
        for number in range(len(doubtful) + 1)
        for chosen in combinations(doubtful, number)
        for order in permutations((*known, *chosen))
    )


def _some_end(order: Sequence[Call], model: Any) -> bool:
    """Whether the model allows this very order, at moments that never go back."""
    states, low = {model.start()}, 0
    for at, call in enumerate(order):
        low = max(low, call.low)
        high = min([call.high, *(one.high for one in order[at:] if not one.unknown)])
        if low > high:
            return False
        states = {after for state in states for after in model.step(state, call, low, high)}
        if not states:
            return False
    return True


@st.composite
def histories(draw: st.DrawFn) -> list[Call]:
    """Up to six calls on one item, with any results at all."""
    calls = []
    for n in range(draw(st.integers(1, 6))):
        name = draw(st.sampled_from(("enqueue", "claim", "claim", "renew", "complete", "release")))
        low = draw(st.integers(0, 12)) * LEASE_NS // 4
        high = low + draw(st.integers(0, 6)) * LEASE_NS // 4 + 1
        status = draw(st.sampled_from(("ok", "ok", "ok", "unknown")))
        op = Op(f"p{n}", n, name, {}, low, status, high)
        label = f"p{n}/{n}"
        if name not in {"enqueue", "claim"}:
            label = draw(st.sampled_from([f"p{m}/{m}" for m in range(n + 1)]))
            op.result = draw(st.sampled_from((True, True, False, None)))
        elif name == "enqueue" and status == "ok" and draw(st.booleans()) and n:
            op.status, op.code = "fail", "exists"
        died = draw(st.sampled_from((NEVER, high + 1, high + LEASE_NS)))
        unbounded = status == "unknown" and draw(st.booleans())
        calls.append(Call(op, "run", label, low, NEVER if unbounded else high, died))
    return sorted(calls, key=lambda call: call.low)


@pytest.mark.parametrize("lease", LEASES)
@pytest.mark.parametrize("strict", [True, False])
@settings(max_examples=250, deadline=None, suppress_health_check=SLOW)
@given(calls=histories())
def test_the_search_agrees_with_trying_everything(
    calls: list[Call], lease: Any, strict: bool
) -> None:
    model = ItemModel(Terms(lease, LEASE_NS, 0), strict=strict)
    expected = exhaustive(calls, model)
    assert explainable(calls, model) == expected
    if not expected:
        window = shortest(calls, model)
        assert window
        assert set(window) <= set(calls)


@settings(max_examples=250, deadline=None, suppress_health_check=SLOW)
@given(st.data())
def test_the_search_agrees_on_parents(data: st.DataObject) -> None:
    calls = []
    for n in range(data.draw(st.integers(1, 6))):
        low = data.draw(st.integers(0, 8))
        high = low + data.draw(st.integers(0, 6))
        name = data.draw(st.sampled_from(("enqueue", "enqueue", "delete")))
        status = data.draw(st.sampled_from(("ok", "ok", "fail", "unknown")))
        op = Op(f"p{n}", n, name, {}, low, status, high)
        if status == "fail":
            op.code = data.draw(st.sampled_from(("parent_taken", "exists", "busy")))
        elif name == "delete":
            op.result = data.draw(st.sampled_from((True, False, None)))
        calls.append(Call(op, data.draw(st.sampled_from("abc")), "", low, high, NEVER))
    calls.sort(key=lambda call: call.low)
    assert explainable(calls, ParentModel()) == exhaustive(calls, ParentModel())


def findings(seed: int, lease: Any, bug: str = "", calls: int = 120) -> dict[str, tuple[str, str]]:
    evidence = simulate(seed, lease, bug, calls=calls)
    return {
        one.id: (one.verdict, one.reason) for make in CHECKERS for one in make().check(evidence)
    }


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(seed=st.integers(0, 1 << 40), lease=st.sampled_from(LEASES))
def test_nothing_is_held_against_a_correct_queue(seed: int, lease: Any) -> None:
    found = findings(seed, lease)
    assert [one for one in found.items() if one[1][0] == "invalid"] == []


@pytest.mark.parametrize(
    "bug, killer, lease",
    [
        ("claims twice", "F1", "expires"),
        ("claims twice", "F1", "kept"),
        ("no token", "F2", "expires"),
        ("two children", "C1", "expires"),
        ("sees nothing", "Q1", "expires"),
        ("sees nothing", "Q1", "taken"),
    ],
)
def test_a_bug_breaks_its_property(bug: str, killer: str, lease: Any) -> None:
    broken = [
        {
            name
            for name, (verdict, _) in findings(seed, lease, bug, 400).items()
            if verdict == "invalid"
        }
        for seed in range(12)
    ]
    assert sum(killer in one for one in broken) >= 6, broken


def test_who_runs_out_of_tries_says_so() -> None:
    ops = [Op(f"p{n}", n, "renew", {}, 0, "unknown", NEVER) for n in range(30)]
    calls = [Call(op, "run", "x", 0, NEVER, NEVER) for op in ops]
    claim = Op("q", 1, "claim", {}, 1, "ok", 2)
    calls.append(Call(claim, "run", "q/1", 1, 2, NEVER))
    with pytest.raises(OutOfBudgetError):
        explainable(calls, ItemModel(Terms("expires", 1, 0), strict=False), budget=5)
