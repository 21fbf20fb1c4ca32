"""Q3 passes whoever is woken in time, and objects to a sleep beside what was waited for."""

from __future__ import annotations

from typing import Any

import pytest
from evidence import LEASE, objecting
from tables import Tables

from fencepost_stress.checkers.q3_woken import BOUND_MS, Woken
from fencepost_stress.checkers.r1_replay import Replay

NOTHING = {"runs": False, "controllers": [], "feed": False, "events": False}
WISHES: dict[str, dict[str, Any]] = {
    "run": {"runs": True},
    "key": {"controllers": ["c"]},
    "event": {"feed_after": 0},
}
READY: dict[str, dict[str, Any]] = {
    "run": {**NOTHING, "runs": True},
    "key": {**NOTHING, "controllers": ["c"]},
    "event": {**NOTHING, "feed": True},
}


class Waiting(Tables):
    """Process b waits; a commits something meanwhile."""

    def begin(self, **wish: Any) -> None:
        self.invoke("b", "store.wait", timeout_ms=5000, **wish)
        self.clock("b")

    def end(self, result: dict[str, Any], slept_ms: int) -> None:  # type: ignore[override]
        self.pass_ms(slept_ms)
        self.clock("b")
        self.ok("b", result)

    def make(self, kind: str) -> None:
        if kind == "run":
            token = self.enqueue("a", "r1")
            super().end("a", "runs.park", "r1", token)
        elif kind == "key":
            self.put("a", "k", "s")
        else:
            self.record("a", "e1")


@pytest.mark.parametrize("kind", WISHES)
@pytest.mark.parametrize("slept_ms, verdict", [(5, "valid"), (BOUND_MS + 1, "invalid")])
def test_who_waits_is_told_in_time(kind: str, slept_ms: int, verdict: str) -> None:
    evidence = Waiting()
    evidence.begin(**WISHES[kind])
    evidence.make(kind)
    evidence.end(READY[kind], slept_ms)
    found = evidence.judge(Woken)
    assert (found.verdict, found.exercised) == (verdict, 1)
    assert ("Q3" in objecting(evidence)) == (verdict == "invalid")
    assert evidence.judge(Replay).verdict == "valid"


@pytest.mark.parametrize("kind", WISHES)
def test_who_is_told_nothing_beside_it_was_not_woken(kind: str) -> None:
    evidence = Waiting()
    evidence.make(kind)
    evidence.begin(**WISHES[kind])
    evidence.end(NOTHING, 5000)
    assert evidence.judge(Woken).verdict == "invalid"
    # That it was left out says nothing wrong at any one instant: R1 has no objection.
    assert evidence.judge(Replay).verdict == "valid"


@pytest.mark.parametrize("kind", WISHES)
def test_who_is_told_of_what_never_was_is_lied_to(kind: str) -> None:
    evidence = Waiting()
    evidence.begin(**WISHES[kind])
    evidence.end(READY[kind], 5)
    assert evidence.judge(Replay).verdict == "invalid"


@pytest.mark.parametrize("slept_ms, wrong", [(5000, 0), (4000, 1)])
def test_who_is_told_of_nothing_has_waited_until_the_timeout(slept_ms: int, wrong: int) -> None:
    evidence = Waiting()
    evidence.begin(runs=True)
    evidence.end(NOTHING, slept_ms)
    found = evidence.judge(Woken)
    assert found.violation_count == wrong
    assert not wrong or "was told of nothing after 4000 ms" in found.reason


def test_what_somebody_else_takes_wakes_nobody() -> None:
    evidence = Waiting()
    evidence.begin(runs=True)
    evidence.make("run")
    evidence.claim("c", "r1")
    evidence.end(NOTHING, 5000)
    assert evidence.judge(Woken).violation_count == 0


def test_a_sleeper_that_is_stopped_sleeps_no_longer() -> None:
    evidence = Waiting()
    evidence.begin(runs=True)
    evidence.make("run")
    evidence.end(READY["run"], 1500)
    assert evidence.judge(Woken).verdict == "invalid"
    assert evidence.judge(Woken, pauses=[("b", 10_000_000, 900_000_000)]).verdict == "valid"
    assert evidence.judge(Woken, pauses=[("a", 10_000_000, 900_000_000)]).verdict == "invalid"
    found = evidence.judge(Woken, still=[(10_000_000, 900_000_000)])
    assert (found.verdict, "the machine let nobody work" in found.reason) == ("unknown", True)


def test_a_maker_that_was_killed_woke_nobody_perhaps() -> None:
    evidence = Waiting()
    evidence.begin(feed_after=0)
    evidence.make("event")
    evidence.records["a"].pop()
    evidence.end(NOTHING, 5000)
    assert evidence.judge(Woken).violation_count == 0


def test_a_key_that_is_not_due_yet_wakes_nobody() -> None:
    evidence = Waiting()
    evidence.begin(controllers=["c"])
    evidence.put("a", "k", "s")
    evidence.now += 5000
    evidence.claim_key("a", "k")
    claim = {"controller": "c", "key": "k", "token": "a/k/2"}
    evidence.settle("a", claim, evidence.lift("k", available_at=evidence.now + 60_000))
    evidence.end(NOTHING, 5000)
    assert evidence.judge(Woken).violation_count == 0


def test_an_excluded_run_and_an_event_before_wake_nobody() -> None:
    evidence = Waiting()
    evidence.make("run")
    evidence.make("event")
    evidence.begin(runs=True, exclude_run_ids=["r1"], feed_after=1)
    evidence.end(NOTHING, 5000)
    assert evidence.judge(Woken).violation_count == 0


def test_a_lease_that_ends_wakes_nobody() -> None:
    evidence = Waiting()
    evidence.enqueue("a", "r1")
    evidence.begin(runs=True)
    evidence.now += LEASE
    evidence.end(READY["run"], 5000)
    assert evidence.judge(Woken).violation_count == 0
    assert evidence.judge(Replay).verdict == "valid"
