"""The run queue in the Python engine; see `sql/runs.sql`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from ..protocol import EXPIRED_SOME, Row, Value
from .connection import writes
from .run_inserts import RunInserts
from .signals import undisturbed

_Candidate: TypeAlias = "tuple[tuple[bool, str], int, str]"
# The place of a run in the table, and its id.
Found: TypeAlias = "tuple[int, str]"


class Runs(RunInserts):
    """Operations on the table `workflow_run_queue`."""

    @writes
    def claim_runs(
        self,
        runner_id: str,
        claim_tokens: Sequence[str],
        lease_ms: int,
        exclude_run_ids: Sequence[str],
        now: int | None,
    ) -> list[Row]:
        ms, stamp = self._stamp(now)
        values: dict[str, Value] = {
            "runner_id": runner_id,
            "claim_expires_at": self._lease_end(ms, lease_ms),
            "updated_at": stamp,
            "now": ms,
        }
        found = self._claimable_runs(runner_id, ms, frozenset(exclude_run_ids), len(claim_tokens))
        for claims in _as_in_table(found, claim_tokens):
            if len(claims) == 1:
                ((_, run_id), claim_token) = claims[0]
                values |= {"run_id": run_id, "claim_token": claim_token}
                self._execute("runs.claim", values)
            else:
                tokens = {place: claim_token for (place, _), claim_token in claims}
                self._execute("runs.claim_many", {**values, "claims": _json(tokens)})
        if len(found) > 1:
            return self._rows("runs.get_many", {"places": _json([place for place, _ in found])})
        return self._rows("runs.get", {"run_id": found[0][1]}) if found else []

    @writes
    def renew_runs(
        self, claims: Sequence[tuple[str, str]], lease_ms: int, now: int | None
    ) -> list[bool]:
        ms = self._now(now)
        expires_at = self._lease_end(ms, lease_ms)
        return [
            self._changes(
                "runs.renew", {**_claim(claim), "claim_expires_at": expires_at, "now": ms}
            )
            == 1
            for claim in claims
        ]

    def verify_run(self, run_id: str, claim_token: str, now: int | None) -> bool:
        return self._read(partial(self._verify_run, run_id, claim_token, now))

    @undisturbed
    def _verify_run(self, run_id: str, claim_token: str, now: int | None) -> bool:
        # One frame less than with `_rows`, whose rows may have text to decode.
        return bool(
            self._execute(
                "runs.verify",
                {"run_id": run_id, "claim_token": claim_token, "now": self._now(now)},
            ).fetchall()
        )

    @writes
    def park_run(self, run_id: str, claim_token: str, now: int | None) -> bool:
        _, stamp = self._stamp(now)
        values = {**_claim((run_id, claim_token)), "updated_at": stamp}
        return self._changes("runs.park", values) == 1

    @writes
    def complete_runs(self, claims: Sequence[tuple[str, str]], now: int | None) -> list[bool]:
        _, stamp = self._stamp(now)
        return [
            self._changes("runs.complete", {**_claim(claim), "updated_at": stamp}) == 1
            for claim in claims
        ]

    @writes
    def delete_run(self, run_id: str, claim_token: str) -> bool:
        return self._changes("runs.delete", _claim((run_id, claim_token))) == 1

    @writes
    def repair_source(
        self,
        run_id: str,
        workflow_name: str,
        workflow_source_ref: str,
        runner_id: str,
        claim_token: str,
        lease_ms: int,
        now: int | None,
    ) -> str | None:
        source: dict[str, Value] = {
            "workflow_name": workflow_name,
            "workflow_source_ref": workflow_source_ref,
        }
        values = self._claim_values(run_id, runner_id, claim_token, lease_ms, now)
        if self._row("runs.parked_with_source", {**values, **source}) is not None:
            return "unchanged"
        return "claimed" if self._changes("runs.repair_source", {**values, **source}) else None

    @writes
    def claim_legacy_source(
        self,
        run_id: str,
        workflow_name: str,
        old_workflow_path: str,
        workflow_source_ref: str,
        runner_id: str,
        claim_token: str,
        lease_ms: int,
        now: int | None,
    ) -> bool:
        source: dict[str, Value] = {
            "workflow_name": workflow_name,
            "workflow_source_ref": workflow_source_ref,
            "old_workflow_path": old_workflow_path,
        }
        values = self._claim_values(run_id, runner_id, claim_token, lease_ms, now)
        return self._changes("runs.claim_legacy_source", {**values, **source}) == 1

    def _claim_values(
        self, run_id: str, runner_id: str, claim_token: str, lease_ms: int, now: int | None
    ) -> dict[str, Value]:
        ms, stamp = self._stamp(now)
        return {
            "run_id": run_id,
            "runner_id": runner_id,
            "claim_token": claim_token,
            "claim_expires_at": self._lease_end(ms, lease_ms),
            "updated_at": stamp,
            "now": ms,
        }

    def _claimable_runs(
        self, runner_id: str, now: int, excluded: Collection[str], most: int
    ) -> list[Found]:
        """The runs to claim next: affinity to the runner first, then age, then insertion.

        A claim makes no other run claimable, so many are found at once as well as one by one.
        """
        where: dict[str, Value] = {"runner_id": runner_id, "now": now}
        expired = self._rows("runs.expired_some", {**where, "limit": EXPIRED_SOME + 1})
        few = len(expired) <= EXPIRED_SOME
        affine = [row for row in expired if row[3] == runner_id]
        found: list[_Candidate] = []
        for parked, walk, some in (
            ("runs.parked_affine", "runs.expired_affine", affine),
            ("runs.parked", "runs.expired", expired),
        ):
            left = most - len(found)
            if not left:
                break
            taken = {run_id for *_, run_id in found}.union(excluded) if found else excluded

            def is_free(row: Row, taken: Collection[str] = taken) -> bool:
                # A run whose id is no text can't be named, nor claimed.
                return type(row[0]) is str and row[0] not in taken

            rows = list(filter(is_free, some)) if few else []
            for statement in (parked,) if few else (parked, walk):
                rows += self._some(statement, where, left, is_free)
            found += sorted(map(_candidate, rows))[:left]
        return [(place, run_id) for _, place, run_id in found]


def _candidate(row: Row) -> _Candidate:
    """(created_at, rowid, run_id), the first as SQLite orders it: compares in claim order."""
    return (type(row[1]) is bytes, row[1]), row[2], row[0]


def _as_in_table(
    found: Iterable[Found], tokens: Iterable[str]
) -> Iterator[list[tuple[Found, str]]]:
    """The runs and their tokens, in sequences that are in the order of the table too."""
    sequence: list[tuple[Found, str]] = []
    for run, token in zip(found, tokens, strict=False):
        if sequence and run < sequence[-1][0]:
            yield sequence
            sequence = []
        sequence.append((run, token))
    if sequence:
        yield sequence


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _claim(claim: tuple[str, str]) -> dict[str, Value]:
    run_id, claim_token = claim
    return {"run_id": run_id, "claim_token": claim_token}
