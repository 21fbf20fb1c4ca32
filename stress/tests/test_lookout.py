"""Violations while a run is on: what the lookout objects to, and what it must not."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from deciding import TIMES_LONGER
from rich.console import Console

from fencepost_stress.history import Clock, Info, Invoke, Ok, Writer
from fencepost_stress.lookout import Lookout
from fencepost_stress.plan import make_plan
from fencepost_stress.progress import Progress
from fencepost_stress.run import execute
from fencepost_stress.sut import MUTANT

LEASE = 100


class Histories:
    """Histories under construction, with one clock for all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = 1_000_000
        self._mono = 0
        self._writers: dict[str, Writer] = {}
        self._calls = 0

    def _stamp(self) -> int:
        self._mono += 1000
        return self._mono

    def begin(self, process: str, name: str, **args: Any) -> None:
        if process not in self._writers:
            self._writers[process] = Writer(self.folder / f"worker-{process}-001.jsonl")
        self._calls += 1
        self._writers[process].write(Invoke(self._stamp(), self._calls, name, args))
        self._writers[process].write(Clock(self._stamp(), self._calls, self.now))

    def end(self, process: str, result: Any) -> None:
        self._writers[process].write(Ok(self._stamp(), self._calls, result))

    def lose(self, process: str) -> None:
        """The call ends, and nobody knows how."""
        self._writers[process].write(Info(self._stamp(), self._calls, "io", "io"))

    def claim(self, process: str, token: str, fence: int) -> None:
        self.begin(process, "runs.claim_next", claim_token=token, lease_ms=LEASE)
        self.end(process, {"run_id": "r", "claim_token": token, "fence": fence})

    def repair(self, process: str, token: str) -> None:
        """A claim whose answer does not tell its fence."""
        self.begin(process, "runs.claim_legacy_source", claim_token=token, lease_ms=LEASE)
        self.end(process, result=True)

    def use(self, process: str, verb: str, token: str, result: bool) -> None:
        lease = {"lease_ms": LEASE} if verb == "renew" else {}
        self.begin(process, f"runs.{verb}", run_id="r", claim_token=token, **lease)
        self.end(process, result)


@pytest.fixture
def histories(tmp_path: Path) -> Histories:
    return Histories(tmp_path)


def seen(histories: Histories, **options: Any) -> int:
    lookout = Lookout(histories.folder, **options)
    lookout.look()
    return lookout.look()


def test_a_claim_while_another_is_live(histories: Histories) -> None:
    histories.claim("00", "a", 1)
    histories.now += LEASE - 10
    histories.claim("01", "b", 2)
    assert seen(histories) == 1
    assert seen(histories, clock_error_ms=10) == 0


def test_a_claim_after_the_lease_has_ended(histories: Histories) -> None:
    histories.claim("00", "a", 1)
    histories.now += LEASE
    histories.claim("01", "b", 2)
    assert seen(histories) == 0


@pytest.mark.parametrize("verb", ["park", "complete", "delete"])
def test_a_claim_after_one_that_was_let_go_of(histories: Histories, verb: str) -> None:
    histories.claim("00", "a", 1)
    # Whether this has taken effect nobody knows: its worker was killed.
    histories.begin("00", f"runs.{verb}", run_id="r", claim_token="a")
    histories.now += 10
    histories.claim("01", "b", 2)
    assert seen(histories) == 0


def test_a_claim_after_a_batch_that_let_go(histories: Histories) -> None:
    histories.claim("00", "a", 1)
    histories.begin("00", "runs.complete_many", claims=[["r", "a"]])
    histories.now += 10
    histories.claim("01", "b", 2)
    assert seen(histories) == 0


def test_letting_go_too_late_does_not_excuse_it(histories: Histories) -> None:
    histories.claim("00", "a", 1)
    histories.now += 10
    histories.claim("01", "b", 2)
    histories.use("00", "complete", "a", False)
    assert seen(histories) == 1


def test_a_renewed_lease_counts_from_its_renewal(histories: Histories) -> None:
    histories.claim("00", "a", 1)
    histories.now += LEASE - 10
    histories.use("00", "renew", "a", True)
    histories.now += 20
    histories.claim("01", "b", 2)
    assert seen(histories) == 1


@pytest.mark.parametrize("verb", ["renew", "verify"])
def test_an_expired_lease_that_is_taken_for_live(histories: Histories, verb: str) -> None:
    histories.claim("00", "a", 1)
    histories.now += LEASE
    histories.use("00", verb, "a", True)
    assert seen(histories) == 1


@pytest.mark.parametrize("verb", ["renew", "park", "complete", "delete"])
def test_a_token_that_lost_its_claim(histories: Histories, verb: str) -> None:
    histories.claim("00", "a", 1)
    histories.now += LEASE
    histories.claim("01", "b", 2)
    histories.now -= 1
    histories.use("00", verb, "a", True)
    assert seen(histories) == 1


def test_an_answer_is_judged_one_look_later(histories: Histories) -> None:
    lookout = Lookout(histories.folder)
    histories.claim("01", "a", 1)
    lookout.look()
    histories.now += LEASE
    histories.claim("02", "b", 2)
    histories.now -= 1
    histories.use("01", "complete", "a", True)
    assert lookout.look() == 0
    assert lookout.look() == 1
    assert lookout.look() == 1


def test_half_a_record_waits_for_its_other_half(histories: Histories) -> None:
    lookout = Lookout(histories.folder)
    histories.claim("00", "a", 1)
    path = histories.folder / "worker-00-001.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    lookout.look()
    path.write_bytes(whole)
    histories.now += 10
    histories.claim("01", "b", 2)
    lookout.look()
    assert lookout.look() == 1


def test_a_lease_renewed_in_a_batch_goes_on(histories: Histories) -> None:
    histories.claim("00", "a", 1)
    histories.now += LEASE - 10
    histories.begin("00", "runs.renew_many", claims=[["r", "a"], ["s", "b"]], lease_ms=LEASE)
    histories.end("00", [True, False])
    histories.now += LEASE - 10
    histories.use("00", "verify", "a", result=True)
    assert seen(histories) == 0
    histories.now += LEASE
    histories.use("00", "verify", "a", result=True)
    assert seen(histories) == 1


@pytest.mark.parametrize(
    "verb, result", [("claim_legacy_source", True), ("repair_source", "claimed")]
)
def test_a_lease_that_a_claim_with_its_own_token_began_anew(
    histories: Histories, verb: str, result: object
) -> None:
    histories.claim("00", "a", 1)
    histories.now += LEASE + 10
    histories.begin("00", f"runs.{verb}", run_id="r", claim_token="a", lease_ms=LEASE)
    histories.end("00", result)
    histories.now += LEASE - 10
    histories.use("00", "verify", "a", True)
    assert seen(histories) == 0


def test_an_old_token_that_claims_the_run_again(histories: Histories) -> None:
    histories.claim("00", "a", 1)
    histories.use("00", "park", "a", True)
    histories.claim("00", "b", 2)
    histories.use("00", "park", "b", True)
    histories.repair("00", "a")
    histories.use("00", "renew", "a", True)
    assert seen(histories) == 0
    histories.claim("01", "c", 4)
    histories.use("00", "complete", "a", True)
    assert seen(histories) == 1


def test_an_old_token_that_claims_the_run_after_one_who_is_read_later(
    histories: Histories,
) -> None:
    histories.claim("00", "a", 1)
    histories.use("00", "park", "a", True)
    histories.claim("01", "b", 2)
    histories.use("01", "park", "b", True)
    histories.repair("00", "a")
    histories.use("00", "renew", "a", True)
    histories.use("00", "complete", "a", True)
    assert seen(histories) == 0


def test_an_old_token_whose_claim_goes_on_after_one_in_between(histories: Histories) -> None:
    histories.claim("00", "a", 1)
    histories.now += LEASE
    histories.claim("01", "b", 2)
    histories.use("01", "park", "b", True)
    histories.repair("00", "a")
    for _ in range(3):
        histories.now += 1
        histories.use("00", "renew", "a", True)
    assert seen(histories) == 0


def test_a_claim_of_one_who_slept_through_its_lease_before_it_answered(
    histories: Histories,
) -> None:
    histories.claim("00", "a", 1)
    histories.now += LEASE
    histories.begin("01", "runs.claim_next", claim_token="b", lease_ms=LEASE)
    histories.now += LEASE
    histories.repair("00", "a")
    histories.end("01", {"run_id": "r", "claim_token": "b", "fence": 2})
    histories.use("00", "complete", "a", True)
    assert seen(histories) == 0


def test_a_lease_whose_renewal_has_no_known_outcome(histories: Histories) -> None:
    histories.claim("00", "a", 1)
    histories.now += LEASE - 10
    histories.begin("00", "runs.renew", run_id="r", claim_token="a", lease_ms=LEASE)
    histories.lose("00")
    histories.now += LEASE - 10
    histories.use("00", "verify", "a", True)
    assert seen(histories) == 0


def test_a_correct_run_shows_none(saved_run: Path) -> None:
    lookout = Lookout(saved_run / "python" / "history")
    lookout.look()
    assert lookout.look() == 0


@pytest.mark.parametrize("mutant", ["claim-without-guard", "complete-by-runner"])
def test_a_broken_store_is_seen_while_it_runs(mutant: str, tmp_path: Path) -> None:
    shown = io.StringIO()
    for times in TIMES_LONGER:
        plan = make_plan(
            seed=5, engine=f"{MUTANT}{mutant}", processes=4, seconds=3.0 * times, faults=()
        )
        directory = tmp_path / str(times)
        progress = Progress(Console(file=shown))
        with progress.of(mutant, directory / "history", plan.clock_error_ms):
            execute(plan, directory, progress.watch)
        if seen := re.search(r" [1-9]\d* violations so far", shown.getvalue()):
            break
    assert seen, shown.getvalue()
