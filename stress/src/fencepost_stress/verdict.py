"""The verdict on a run: every property's, every sometimes-property's, and the run's own.

`verdict.json` has this shape; `schema` names its version.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from .checkers.base import Finding, Verdict
from .ending import Ending
from .plan import Plan

SCHEMA = "fencepost-stress/verdict/1"

EXIT_CODES: dict[Verdict, int] = {"valid": 0, "invalid": 1, "unknown": 2}


class Property(msgspec.Struct, frozen=True):
    """What was decided about one property; docs/verdict-json.md has the members."""

    id: str
    promise: str
    verdict: Verdict
    exercised: int
    violation_count: int
    violations: tuple[dict[str, Any], ...]
    reason: str
    details: dict[str, Any]
    seconds: float


class Sometime(msgspec.Struct, frozen=True):
    """Something that must happen now and then, and how often it did."""

    name: str
    count: int
    required: bool


class RunVerdict(msgspec.Struct, frozen=True):
    """One run."""

    engine: str
    seed: int
    profile: str
    verdict: Verdict
    reasons: tuple[str, ...]
    repeat: str
    directory: str
    properties: tuple[Property, ...]
    sometimes: tuple[Sometime, ...]
    counts: dict[str, int]
    faults: dict[str, int]
    environment: dict[str, Any]
    run_seconds: float
    check_seconds: float


class Verdicts(msgspec.Struct, frozen=True):
    """All runs of one command."""

    schema: str
    verdict: Verdict
    runs: tuple[RunVerdict, ...]


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Invalid beats unknown beats valid; nothing at all, or nothing claimed, is unknown."""
    found = set(verdicts) - {"not claimed"}
    if "invalid" in found:
        return "invalid"
    return "valid" if found == {"valid"} else "unknown"


def property_of(finding: Finding, seconds: float) -> Property:
    return Property(
        id=finding.id,
        promise=finding.promise,
        verdict=finding.verdict,
        exercised=finding.exercised,
        violation_count=finding.violation_count,
        violations=tuple(violation.describe() for violation in finding.violations),
        reason=finding.reason,
        details=finding.details,
        seconds=round(seconds, 3),
    )


def sometimes_of(counts: dict[str, int], required: tuple[str, ...]) -> tuple[Sometime, ...]:
    names = sorted(set(counts) | set(required))
    return tuple(Sometime(name, counts.get(name, 0), name in required) for name in names)


def decide(
    properties: Iterable[Property], sometimes: Iterable[Sometime], problems: Iterable[str]
) -> tuple[Verdict, tuple[str, ...]]:
    """The run's verdict, and why it is not valid."""
    verdicts: list[Verdict] = []
    reasons: list[str] = []
    for one in properties:
        verdicts.append(one.verdict)
        if one.verdict not in {"valid", "not claimed"}:
            reasons.append(f"{one.id} is {one.verdict}: {one.reason}")
    for sometime in sometimes:
        if sometime.required and not sometime.count:
            verdicts.append("unknown")
            reasons.append(f"never happened: {sometime.name}")
    for problem in problems:
        verdicts.append("unknown")
        reasons.append(problem)
    return worst(verdicts), tuple(reasons)


def run_verdict(
    plan: Plan,
    ending: Ending,
    directory: Path,
    *,
    properties: Sequence[Property],
    sometimes: Sequence[Sometime],
    problems: Iterable[str],
    counts: dict[str, int],
    faults: dict[str, int],
    repeat: str,
    environment: dict[str, Any],
    began: float,
) -> RunVerdict:
    """The verdict on a run whose properties are decided.

    `began` is when the checking did, by `time.perf_counter`.
    """
    verdict, reasons = decide(properties, sometimes, problems)
    return RunVerdict(
        engine=plan.engine,
        seed=plan.seed,
        profile=plan.profile,
        verdict=verdict,
        reasons=reasons,
        repeat=repeat,
        directory=str(directory),
        properties=tuple(properties),
        sometimes=tuple(sometimes),
        counts=counts,
        faults=faults,
        environment=environment,
        run_seconds=ending.duration_seconds,
        check_seconds=round(time.perf_counter() - began, 3),
    )


def repeat_command(plan: Plan) -> str:
    """The command that carries out the same plan."""
    if plan.engine.startswith("mutant:"):
        target = f"--mutants {plan.engine.removeprefix('mutant:')}"
    else:
        target = f"--engine {plan.engine}"
    faults = ",".join(plan.faults_asked) or "none"
    return (
        f"fencepost stress {target} --processes {plan.processes} "
        f"--seconds {plan.seconds:g} --faults {faults} --workload {plan.workload} "
        f"--synchronous {plan.synchronous} "
        f"--seed {plan.seed}"
    )


def read(path: Path) -> Verdicts:
    """What a `verdict.json` says. Raises OSError, and msgspec.MsgspecError for another file."""
    return msgspec.json.decode(path.read_bytes(), type=Verdicts)


def to_json(value: Verdicts) -> bytes:
    """The text of a `verdict.json`."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=repr), indent=2) + b"\n"
