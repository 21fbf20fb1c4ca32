"""What a run leaves to read: stories, figures, JUnit's XML, and saved evidence judged again."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from evidence import LEASE, Evidence

from fencepost_stress import cli, verdict as verdicts
from fencepost_stress.checkers.base import Finding, Violation
from fencepost_stress.checkers.f2_stale import Stale
from fencepost_stress.history import Note
from fencepost_stress.operations import Commit, Op
from fencepost_stress.report import junit
from fencepost_stress.report.claims import Claims
from fencepost_stress.report.figures import Figures, Latency, slot_of
from fencepost_stress.report.marks import EVERYBODY, Mark, read as read_marks
from fencepost_stress.report.origin import Origin
from fencepost_stress.report.outside import OutsideClaims
from fencepost_stress.report.prose import prose
from fencepost_stress.report.story import Story, Teller, lanes_of
from fencepost_stress.rows import RUNS
from fencepost_stress.sut.capabilities import Capabilities
from fencepost_stress.sut.setup import Setup
from fencepost_stress.sut.systems import System
from fencepost_stress.verdict import RunVerdict, Verdicts, property_of, sometimes_of

ORIGIN = Origin(0, 1_000_000.0)


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_a_planted_lie_is_found_again_from_disk(planted_run: tuple[Path, dict[str, Any]]) -> None:
    folder, lie = planted_run
    (run,) = read(folder / "replay.json")["runs"]
    assert run["verdict"] == "invalid"
    broken = {one["id"]: one for one in run["properties"] if one["verdict"] == "invalid"}
    named = [
        (call["process"], call["call"])
        for one in broken.values()
        for violation in one["violations"]
        for call in violation["calls"]
    ]
    assert (lie["process"], lie["call"]) in named
    # What the run itself decided is left as it was.
    assert read(folder / "verdict.json")["verdict"] != "invalid"


def test_a_replay_of_a_kept_run_decides_the_same(saved_run: Path, tmp_path: Path) -> None:
    before = read(saved_run / "verdict.json")
    assert cli.main(["replay", str(saved_run)]) == verdicts.EXIT_CODES[before["verdict"]]
    after = read(saved_run / "replay.json")
    told = [
        [(one["id"], one["verdict"], one["exercised"]) for one in found["runs"][0]["properties"]]
        for found in (before, after)
    ]
    assert told[0] == told[1]


def test_a_replay_leaves_out_the_tries_at_making_a_plan_smaller(
    saved_run: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(saved_run, copy)
    plan = next(copy.glob("**/plan.json"))
    cut_off = copy / "shrunk" / "try-1"
    cut_off.mkdir(parents=True)
    shutil.copy(plan, cut_off)
    before = read(saved_run / "verdict.json")
    assert cli.main(["replay", str(copy)]) == verdicts.EXIT_CODES[before["verdict"]]
    assert len(read(copy / "replay.json")["runs"]) == 1


def test_the_report_lies_beside_the_evidence(saved_run: Path) -> None:
    assert {"index.html", "junit.xml", "verdict.json"} <= {
        path.name for path in saved_run.iterdir()
    }
    facts = read(saved_run / "verdict.json")["runs"][0]["environment"]
    assert facts["file_system"]
    assert facts["python"]


def stale_completion() -> Evidence:
    """Worker a is paused past its lease, b takes over, a completes all the same."""
    evidence = Evidence()
    first = evidence.enqueue("worker-00-001", "r1")
    evidence.now += LEASE + 1
    evidence.claim("worker-01-001", "r1")
    evidence.refused("worker-00-001", "runs.complete", "r1", first, result=True)
    return evidence


def story_of(evidence: Evidence, marks: list[Mark]) -> Story:
    events = evidence.events()
    checker = Stale()
    checker.feed(events)
    found = property_of(checker.finish(evidence.ending()), 0.0)
    teller = Teller(ORIGIN, found, found.violations[0])
    for event in events:
        op = event.op
        if op is not None and lanes_of(op) & set(teller.story.lanes):
            teller.hear(op)
    return teller.tell(marks)


def test_a_story_begins_with_the_claim_that_was_lost() -> None:
    marks = [Mark("pause", 0.002, "worker-00-001", 0.005), Mark("kill", 900.0, "worker-01-001")]
    story = story_of(stale_completion(), marks)
    assert [line.who for line in story.lines] == [
        "worker-00-001",
        "worker-00-001",
        "worker-01-001",
        "worker-00-001",
    ]
    told = "\n".join(prose(story))
    assert "enqueues r1 and claims it for 100 ms" in told
    assert "*** pause, for 0 ms" in told
    assert "kill" not in told
    last = next(line for line in story.lines if line.named and "completes" in line.did)
    assert last.outcome == "yes"


def test_wall_times_are_told_since_the_load_began() -> None:
    origin = Origin(0, 1_796_056_334_000.0)
    told = origin.told("was claimed at 1796056334968 while live until 1796056335567, seq 1796")
    assert told == "was claimed at 0.968 s while live until 1.567 s, seq 1796"


def test_a_violation_without_calls_is_told_from_its_message() -> None:
    found = property_of(
        Finding("S1", "p", "invalid", 1, [Violation("r1 is there, but nothing left it there")], 1),
        0.0,
    )
    teller = Teller(ORIGIN, found, found.violations[0])
    assert "workflow_run_queue:r1" in teller.story.lanes
    for event in stale_completion().events():
        if event.op is not None:
            teller.hear(event.op)
    assert teller.tell([]).lines


def test_claims_are_drawn_with_their_ends() -> None:
    evidence = Evidence()
    evidence.enqueue("worker-00-001", "r1")
    evidence.now += LEASE + 5
    second = evidence.claim("worker-01-001", "r1")
    evidence.end("worker-01-001", "runs.park", "r1", second)
    evidence.claim("worker-00-001", "r1")
    evidence.now += 10
    last = evidence.claim("worker-01-001", "r1")
    evidence.end("worker-01-001", "runs.complete", "r1", last)
    claims = Claims(ORIGIN)
    for event in evidence.events():
        if isinstance(event, Commit):
            claims.add(event)
    (drawn,) = claims.drawn().values()
    assert [claim.fate for claim in drawn] == ["taken early", "let go", "taken early", "done"]
    assert [claim.worker for claim in drawn][:2] == ["worker-00-001", "worker-01-001"]


def test_a_long_run_is_thinned_but_not_what_a_violation_names() -> None:
    evidence = Evidence()
    for number in range(200):
        evidence.enqueue("worker-00-001", f"r{number}")
    keep = frozenset({"workflow_run_queue:r7"})
    claims = Claims(ORIGIN, keep, most=50)
    for event in evidence.events():
        if isinstance(event, Commit):
            claims.add(event)
    assert len(claims.drawn()) <= 50
    assert keep <= set(claims.drawn())
    assert claims.one_in > 1


def test_percentiles_are_as_exact_as_said() -> None:
    latency = Latency()
    for ms in range(1, 1001):
        op = Op("p", ms, "x", {}, 0, "ok", ms * 1_000_000)
        latency.add(op)
    for percent in (50.0, 90.0, 99.0):
        assert latency.took.percentile(percent) == pytest.approx(percent * 10, rel=0.02)
    assert latency.describe("x")["longest_ms"] == 1000.0


def test_fairness_is_one_for_equals_and_less_for_others() -> None:
    figures = Figures(ORIGIN)
    for process, calls in (("worker-00-001", 10), ("worker-00-002", 10), ("worker-01-001", 20)):
        for n in range(calls):
            figures.add(Op(process, n, "x", {}, n * 1_000_000, "ok", n * 1_000_000 + 5))
    assert figures.fairness()["jain_calls"] == 1.0
    figures.add(Op("worker-02-001", 1, "x", {}, 1, "ok", 2))
    assert figures.fairness()["jain_calls"] < 0.8
    assert sum(figures.throughput()["calls"]) * figures.throughput()["step_ms"] / 1000 == 41.0


def test_a_pause_lasts_until_the_process_goes_on_or_is_killed() -> None:
    notes = [
        Note(0, "load", {}),
        Note(1_000_000, "pause", {"process": "a", "ms": 900}),
        Note(2_000_000, "pause", {"process": "b", "ms": 900}),
        Note(3_000_000, "resume", {"process": "a"}),
        Note(4_000_000, "kill", {"process": "b"}),
        Note(5_000_000, "lock", {"ms": 50, "mode": "exclusive"}),
        Note(6_000_000, "clock", {"slot": 1, "step_ms": -300}),
        Note(7_000_000, "full", {}),
        Note(8_000_000, "room again", {}),
        Note(9_500_000, "reader", {"since": 4_500_000, "until": 9_000_000, "refused": 0}),
        Note(10_000_000, "healing", {}),
    ]
    marks, phases = read_marks(ORIGIN, notes)
    assert [(mark.kind, mark.process, mark.at, mark.until) for mark in marks] == [
        ("pause", "a", 1.0, 3.0),
        ("pause", "b", 2.0, 4.0),
        ("kill", "b", 4.0, None),
        ("reader", EVERYBODY, 4.5, 9.0),
        ("lock", EVERYBODY, 5.0, 55.0),
        ("clock", "worker-01", 6.0, None),
        ("full", EVERYBODY, 7.0, 8.0),
    ]
    assert marks[4].told() == "lock, for 50 ms (mode exclusive)"
    assert phases == {"load": 0.0, "healing": 10.0}


def test_a_worker_is_known_by_any_of_its_processes() -> None:
    names = ("worker-02-003", "worker-02-003-t1", "worker-02", EVERYBODY)
    assert [slot_of(name) for name in names] == [
        "worker-02",
        "worker-02-t1",
        "worker-02",
        EVERYBODY,
    ]


def run_verdict(**changes: Any) -> RunVerdict:
    broken = property_of(
        Finding("F1", "two \x00 claims", "invalid", 5, [Violation("both \x1b had it")], 1, "both"),
        0.1,
    )
    properties = (
        broken,
        property_of(Finding("F2", "p", "valid", 3), 0.0),
        property_of(Finding("F3", "p", "unknown", 0, reason="never exercised"), 0.0),
        property_of(Finding("C1", "p", "not claimed", 0, reason="no parents"), 0.0),
    )
    given: dict[str, Any] = {
        "engine": "python",
        "seed": 7,
        "profile": "quick",
        "verdict": "invalid",
        "reasons": ("F1 is invalid",),
        "repeat": "fencepost stress --seed 7",
        "directory": "/d",
        "properties": properties,
        "sometimes": sometimes_of({"x": 0, "y": 2}, ("x", "y")),
        "counts": {"calls": 9, "commits": 4},
        "faults": {"kill": 2},
        "environment": {},
        "run_seconds": 1.5,
        "check_seconds": 0.5,
    }
    return RunVerdict(**{**given, **changes})


def test_junit_says_the_same_as_the_verdict(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    run = run_verdict()
    story = Story("F1", "p", "both had it", ())
    junit.write(Verdicts(verdicts.SCHEMA, "invalid", (run,)), {"/d": [story]}, path)
    root = ET.parse(path).getroot()  # noqa: S314 - we wrote it
    assert root.tag == "testsuites"
    (suite,) = root
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "1",
        "errors": "2",
        "skipped": "1",
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "fencepost stress --seed 7" in str(failure.text)
    assert "F1 both had it" in str(failure.text)
    assert float(suite.get("time", "0")) == 2.0


# By the schema of Jenkins's xUnit plugin (junit-10): element, attributes (+ required), children.
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set(), {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id"},
        {"name", "tests", "failures", "errors"},
        {"properties", "testcase"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, {"name", "value"}, set()),
    "testcase": (
        {"name", "time", "classname"},
        {"name"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    **dict.fromkeys(("skipped", "error", "failure"), ({"type", "message"}, set(), set())),
}


def off_schema(element: ET.Element) -> list[str]:
    allowed, required, children = SCHEMA[element.tag]
    found = set(element.attrib)
    wrong = [f"{element.tag}@{name}" for name in (found - allowed) | (required - found)]
    if "time" in found and not re.fullmatch(r"\d+\.\d{3}", element.attrib["time"]):
        wrong.append(f"{element.tag}@time {element.attrib['time']}")
    wrong += [f"{element.tag}/{child.tag}" for child in element if child.tag not in children]
    return wrong + [one for child in element if child.tag in children for one in off_schema(child)]


def test_junit_keeps_to_the_schema_that_viewers_read_by(
    tmp_path: Path, planted_run: tuple[Path, dict[str, Any]]
) -> None:
    path = tmp_path / "junit.xml"
    unknown = run_verdict(verdict="unknown", properties=(), sometimes=(), reasons=("a \x07 died",))
    found = Verdicts(verdicts.SCHEMA, "invalid", (run_verdict(), unknown))
    junit.write(found, {"/d": [Story("F1", "p", "both had it", ())]}, path)
    for file in (path, planted_run[0] / "junit.xml"):
        root = ET.parse(file).getroot()  # noqa: S314 - we wrote it
        assert off_schema(root) == []
        cases = root.findall("testsuite/testcase")
        assert root.get("tests") == str(len(cases))
        assert all(len(case) <= 1 for case in cases)
        names = [(case.get("classname"), case.get("name")) for case in cases]
        assert len(set(names)) == len(names) or file == path


def test_junit_of_an_unknown_run_has_an_error(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    valid = (property_of(Finding("F2", "p", "valid", 3), 0.0),)
    run = run_verdict(verdict="unknown", properties=valid, sometimes=(), reasons=("a worker died",))
    junit.write(Verdicts(verdicts.SCHEMA, "unknown", (run,)), {}, path)
    (error,) = ET.parse(path).getroot().findall("testsuite/testcase/error")  # noqa: S314
    assert error.get("message") == "a worker died"


def test_claims_of_a_queue_without_witness() -> None:
    capabilities = Capabilities(name="q", operations=("complete", "renew"))
    setup = Setup(System("q"), capabilities, lease_ms=100, processes=1, threads=1)
    claims = OutsideClaims(ORIGIN, setup, frozenset())

    def call(n: int, name: str, at_ms: float, result: Any = None, **args: Any) -> None:
        at = round(at_ms * 1e6)
        claims.call(Op("worker-00-001", n, name, args, at, "ok", at + 1_000_000, result))

    call(1, "claim", 0, {"run_id": "r", "handle": None})
    call(2, "renew", 50, True, run_id="r", claim="worker-00-001/1")
    call(3, "claim", 160, {"run_id": "r", "handle": None})
    call(4, "complete", 170, False, run_id="r", claim="worker-00-001/1")
    call(5, "complete", 180, True, run_id="r", claim="worker-00-001/3")
    call(6, "claim", 190, {"run_id": "s", "handle": None})
    drawn = claims.drawn()
    assert [(claim.start, claim.lease, claim.end, claim.fate) for claim in drawn[f"{RUNS}:r"]] == [
        (1.0, 151.0, 161.0, "taken over"),
        (161.0, 261.0, 180.0, "done"),
    ]
    assert drawn[f"{RUNS}:s"][0].fate == "held"
