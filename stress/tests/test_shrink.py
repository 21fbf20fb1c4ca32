"""A failed plan is run again and made smaller, within its budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fencepost_stress import cli, plan as plans, shrink as shrinking, verdict as verdicts
from fencepost_stress.plan import FAULTS, Plan, make_plan
from fencepost_stress.run import HarnessError
from fencepost_stress.shrink import by_words, candidates, shrink
from fencepost_stress.verdict import RunVerdict


def plan_of(**changes: Any) -> Plan:
    given: dict[str, Any] = {"engine": "python", "processes": 6, "seconds": 8.0, "faults": FAULTS}
    return make_plan(seed=3, **{**given, **changes})


def size(plan: Plan) -> tuple[float, int, int, int]:
    kinds = sum(map(bool, plan.weights.values()))
    return plan.seconds, plan.processes, len(plan.faults), kinds


@pytest.mark.parametrize("first_at_ms", [500.0, 3000.0, float("inf")])
def test_a_candidate_is_smaller_and_its_faults_fit(first_at_ms: float) -> None:
    plan = plan_of()
    found = list(candidates(plan, first_at_ms))
    assert len({what for what, _ in found}) == len(found)
    for what, smaller in found:
        assert all(a <= b for a, b in zip(size(smaller), size(plan), strict=True)), what
        assert size(smaller) != size(plan) or smaller.clocks != plan.clocks, what
        assert all(fault.slot < smaller.processes for fault in smaller.faults), what
        assert all(fault.at_ms < smaller.load_ms for fault in smaller.faults), what
        assert smaller.required == ()


def test_making_smaller_ends() -> None:
    plan = plan_of()
    for _ in range(200):
        smaller = next(candidates(plan, 0.0), None)
        if smaller is None:
            break
        plan = smaller[1]
    assert size(plan)[:3] == (1.0, 2, 0)
    assert list(candidates(plan, 0.0)) == []


class Laboratory:
    """In the place of real runs: a plan fails when `fails` says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: Any) -> None:
        self.runs: list[Plan] = []
        self._fails = fails
        monkeypatch.setattr(shrinking, "execute", self._execute)
        monkeypatch.setattr(shrinking, "check", self._check)
        monkeypatch.setattr(shrinking, "_first_violation_ms", lambda _verdict: 900.0)
        monkeypatch.setattr(shrinking.report, "write", lambda *_: [None])

    def _execute(self, plan: Plan, directory: Path, _watch: Any) -> None:
        directory.mkdir()
        self.runs.append(plan)

    def _check(self, directory: Path) -> RunVerdict:
        return verdict_of(self.runs[-1], bool(self._fails(self.runs[-1])), directory)


def verdict_of(plan: Plan, failed: bool, directory: Path) -> RunVerdict:
    one = verdicts.Property(
        "F1", "p", "invalid" if failed else "valid", 1, int(failed), (), "", {}, 0.0
    )
    return RunVerdict(
        engine=plan.engine,
        seed=plan.seed,
        profile=plan.profile,
        verdict=one.verdict,
        reasons=(),
        repeat="",
        directory=str(directory),
        properties=(one,),
        sometimes=(),
        counts={"calls": 10},
        faults={},
        environment={},
        run_seconds=1.0,
        check_seconds=0.1,
    )


def watch(*_: Any) -> None:
    """Nobody looks."""


def test_the_smallest_plan_that_fails_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It needs three processes, a kill and claims; everything else goes."""

    def fails(plan: Plan) -> bool:
        kills = any(fault.kind == "kill" for fault in plan.faults)
        return plan.processes >= 3 and kills and bool(plan.weights["claim"])

    Laboratory(monkeypatch, fails)
    plan = plan_of()
    result, _ = shrink(plan, verdict_of(plan, True, tmp_path), tmp_path / "s", 1000, watch)
    assert (result.repetitions, result.failed_again) == (3, 3)
    assert result.processes == 3
    assert result.faults >= 1
    assert result.load_seconds <= 4.0
    assert "no enqueue" in result.smaller_by
    assert "no claim" not in result.smaller_by
    assert json.loads((tmp_path / "s" / "shrunk.json").read_text())["processes"] == 3
    assert [path.name for path in (tmp_path / "s").iterdir() if path.is_dir()] == ["smallest"]
    assert result.repeat.endswith("smallest/plan.json")


def test_what_never_fails_again_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    laboratory = Laboratory(monkeypatch, lambda _plan: False)
    plan = plan_of()
    result, more = shrink(plan, verdict_of(plan, True, tmp_path), tmp_path / "s", 1000, watch)
    assert (result.failed_again, result.repeat, more) == (0, "", None)
    assert len(laboratory.runs) == 3
    assert "did not fail again" in "\n".join(by_words(result))


def test_another_property_that_fails_is_not_the_same_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Laboratory(monkeypatch, lambda _plan: True)
    plan = plan_of()
    before = verdict_of(plan, True, tmp_path)
    other = tuple(msgspec.structs.replace(one, id="Q1") for one in before.properties)
    before = msgspec.structs.replace(before, properties=other)
    result, _ = shrink(plan, before, tmp_path / "s", 1000, watch)
    assert result.failed_again == 0


def test_the_budget_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    laboratory = Laboratory(monkeypatch, lambda _plan: True)
    plan = plan_of()
    shrink(plan, verdict_of(plan, True, tmp_path), tmp_path / "s", 0, watch)
    assert len(laboratory.runs) == 1


def test_a_plan_that_cannot_be_run_is_not_a_failure_of_the_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Laboratory(monkeypatch, lambda _plan: True)

    def broken(*_: Any) -> None:
        raise HarnessError("no disk")

    monkeypatch.setattr(shrinking, "execute", broken)
    plan = plan_of()
    result, _ = shrink(plan, verdict_of(plan, True, tmp_path), tmp_path / "s", 5, watch)
    assert result.failed_again == 0


def test_a_broken_store_is_shrunk_for_real(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = make_plan(
        seed=5, engine="mutant:settle-swallows-event", processes=4, seconds=3, faults=FAULTS
    )
    plans.save(plan, tmp_path / "plan.json")
    out = tmp_path / "out"
    arguments = ["--plan", str(tmp_path / "plan.json"), "--shrink", "6", "--out", str(out)]
    assert cli.main(arguments) == 1
    said = capsys.readouterr().out
    result = json.loads((out / "shrunk" / "shrunk.json").read_text())
    assert result["repetitions"] >= 1
    assert f"failed {result['failed_again']} of {result['repetitions']} times" in said
    if result["failed_again"]:
        smallest = Path(result["directory"])
        assert (smallest / "index.html").exists()
        assert plans.load(smallest / "plan.json").engine == plan.engine
        assert result["repeat"] in said


def test_a_plan_goes_with_no_engine(tmp_path: Path) -> None:
    plans.save(plan_of(), tmp_path / "plan.json")
    assert cli.main(["--plan", str(tmp_path / "plan.json"), "--engine", "python"]) == 254
