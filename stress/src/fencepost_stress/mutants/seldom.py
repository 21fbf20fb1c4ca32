"""Mutants of what is seldom asked for, or seldom so: the same once more, much at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fencepost.engine.protocol import Row, Value
from fencepost.engine.python.connection import writes

from .base import Mutant

_WALKS = frozenset({"runs.expired", "runs.expired_affine", "queue.expired"})


class WalkFindsNone(Mutant):
    name = "many-expired-skipped"
    bug = "when many leases have ended at once, the walk over them finds none to take over"
    killers = ("R1", "S1")
    workload = "batch"

    def _some(
        self, name: str, params: Mapping[str, Value], most: int, wanted: Callable[[Row], bool]
    ) -> list[Row]:
        if name not in _WALKS:
            return super()._some(name, params, most, wanted)
        self.reached()
        return []


class BatchForgetsExclusions(Mutant):
    name = "batch-forgets-exclusions"
    bug = "a claim of several runs forgets which its caller excluded"
    killers = ("O1", "R1")
    workload = "batch"

    def claim_runs(
        self,
        runner_id: str,
        claim_tokens: Sequence[str],
        lease_ms: int,
        exclude_run_ids: Sequence[str],
        now: int | None,
    ) -> list[Row]:
        if len(claim_tokens) > 1 and exclude_run_ids:
            self.reached()
            exclude_run_ids = ()
        return super().claim_runs(runner_id, claim_tokens, lease_ms, exclude_run_ids, now)


class BatchIsDueAtOnce(Mutant):
    name = "batch-due-of-first"
    bug = "an enqueue of several keys gives all of them the due time of the first"
    killers = ("R1",)
    workload = "batch"

    def enqueue(
        self, items: Sequence[tuple[str, str, int | None]], now: int | None
    ) -> list[Exception | None]:
        due = items[0][2]
        if any(one != due for *_, one in items):
            self.reached()
        return super().enqueue([(controller, key, due) for controller, key, _ in items], now)


class BatchEndsTwice(Mutant):
    name = "batch-ends-twice"
    bug = "a claim that is named twice in one batch is told twice that its run is done now"
    killers = ("D1", "F2", "R1")
    workload = "batch"

    def complete_runs(self, claims: Sequence[tuple[str, str]], now: int | None) -> list[bool]:
        done = super().complete_runs(claims, now)
        if len(set(claims)) < len(claims):
            self.reached()
        ended = {claim for claim, is_done in zip(claims, done, strict=True) if is_done}
        return [claim in ended for claim in claims]


class SameSpecWakes(Mutant):
    name = "same-spec-wakes"
    bug = "a put of the specification that is there already enqueues the key once more"
    killers = ("R1",)
    workload = "batch"

    def put_resource(
        self, controller: str, key: str, uid: str, spec_json: str, status_json: str, now: int | None
    ) -> Row:
        rows = self.read("resources.get", {"controller": controller, "key": key})
        if rows and rows[0][5] == spec_json:
            self.reached()
            self._wake(controller, key, now)
        return super().put_resource(controller, key, uid, spec_json, status_json, now)

    @writes
    def _wake(self, controller: str, key: str, now: int | None) -> None:
        self._enqueue_row(controller, key, self._now(now))


class SameStatusMoves(Mutant):
    name = "same-status-moves"
    bug = "a status that is there already makes a new version, so whoever read before is refused"
    killers = ("D1", "R1")
    workload = "resources"

    @writes
    def update_status(
        self,
        controller: str,
        key: str,
        expected_version: int,
        status_json: str,
        finalizers_json: str | None,
        now: int | None,
    ) -> Row:
        _, stamp = self._stamp(now)
        row = self._expected_resource(controller, key, expected_version)
        if row[6] == status_json:
            self.reached()
        values = {"controller": controller, "key": key, "status_json": status_json}
        wanted = row[8] if finalizers_json is None else finalizers_json
        given = {**values, "finalizers_json": wanted, "updated_at": stamp}
        self._execute("resources.set_status", given)
        return self._resource(controller, key)


class ErrorStays(Mutant):
    name = "request-error-stays"
    bug = "an update that clears a child request's error leaves it there"
    killers = ("R1",)
    workload = "effects"

    def update_request(
        self,
        request_id: str,
        state: str,
        run_id: str | None,
        set_run_id: bool,
        attempt: int | None,
        error: str | None,
        set_error: bool,
    ) -> Row:
        if set_error and error is None:
            self.reached()
            set_error = False
        return super().update_request(
            request_id, state, run_id, set_run_id, attempt, error, set_error
        )
