"""The run queue: durable units of work, each owned by one live claim at a time."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal

from .engine.protocol import NewRun, Row
from .errors import CorruptRowError, FencepostError, InvalidArgumentError
from .facet import Facet, new_token
from .pages import DEFAULT_PAGE, Page, each
from .records import Run
from .shown import shown
from .validation import (
    choice,
    integer,
    items as checked_items,
    json_value,
    key,
    lease_ms as checked_lease,
    run_id as checked_run_id,
    time_ms,
)

STATUSES = ("claimed", "parked", "done")
_NEW_RUN_MEMBERS = frozenset(
    "run_id workflow_name workflow_source_ref input runner_id lease_ms claim_token "
    "affinity_runner_id parent_run_id".split()
)


class Runs(Facet):
    """`store.runs`. A claim lasts until its lease ends; only its token can use it."""

    __slots__ = ()

    def enqueue(
        self,
        *,
        run_id: str,
        workflow_name: str,
        workflow_source_ref: str,
        runner_id: str,
        lease_ms: int,
        input: Any = None,
        claim_token: str | None = None,
        affinity_runner_id: str | None = None,
        parent_run_id: str | None = None,
        now: datetime | str | None = None,
    ) -> Run:
        """Insert a run that is already claimed by its runner.

        Arguments:
            run_id: up to 200 letters, digits, `._-`; must be new.
            workflow_name, workflow_source_ref: what to run; keys of up to 512 characters.
            runner_id: who owns the claim.
            lease_ms: the length of the lease in milliseconds.
            input: any JSON value of up to 1 MiB.
            claim_token: the claim's secret name; made by the store when left out.
            affinity_runner_id: the runner that should take the run over; default the runner.
            parent_run_id: the finished run that this one continues; a parent is continued once.
            now: the present time instead of the clock's.

        Returns the run. Raises RunExistsError, ContinuationExistsError and
        InvalidArgumentError.
        """
        new = _checked_run(
            run_id,
            workflow_name,
            workflow_source_ref,
            input,
            runner_id,
            claim_token,
            lease_ms,
            affinity_runner_id,
            parent_run_id,
        )
        result = _run_or_error(self._engine.enqueue_runs([new], time_ms(now))[0])
        if isinstance(result, FencepostError):
            raise result
        return result

    def enqueue_many(
        self, *, items: Iterable[Mapping[str, Any]], now: datetime | str | None = None
    ) -> builtins.list[Run | FencepostError]:
        """Insert many runs in one transaction; each item is a dict of `enqueue`'s arguments.

        Returns the run, or the error that refused it, in each item's place. Bad arguments
        in any item raise InvalidArgumentError, and nothing is inserted.
        """
        new = [_new_run(item) for item in checked_items(items, "items")]
        results = self._engine.enqueue_runs(new, time_ms(now))
        return [_run_or_error(row) for row in results]

    def get(self, *, run_id: str) -> Run | None:
        """The run, or None."""
        return self._first("runs.get", {"run_id": checked_run_id(run_id)}, Run.from_row)

    def list(
        self,
        *,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Run]:
        """Runs by `created_at`, then insertion; all, or those of one status.

        Arguments:
            status: `"claimed"`, `"parked"` or `"done"`.
            limit: rows at most; default all.
            cursor: the cursor of the page before.
        """
        statement, params = "runs.list", {}
        if status is not None:
            statement, params = (
                "runs.list_by_status",
                {"status": choice(status, "status", STATUSES)},
            )
        return self._page(
            statement,
            {**params},
            limit,
            cursor,
            {"after_created_at": "", "after_rowid": -(2**63) + 1},
            Run.from_row,
            lambda row: (row[10], row[13]),
        )

    def iterate(self, *, status: str | None = None, page_size: int = DEFAULT_PAGE) -> Iterator[Run]:
        """`list` as an iterator, read page by page without holding a transaction open."""
        return each(lambda cursor: self.list(status=status, limit=page_size, cursor=cursor))

    def claim_next(
        self,
        *,
        runner_id: str,
        lease_ms: int,
        claim_token: str | None = None,
        exclude_run_ids: Iterable[str] = (),
        now: datetime | str | None = None,
    ) -> Run | None:
        """Claim the next run that is parked, or whose lease has ended.

        Runs with affinity to this runner come first, then the oldest, then the first
        inserted. The returned run carries the claim token and the fence number.

        Arguments:
            runner_id: who claims.
            lease_ms: the length of the lease in milliseconds.
            claim_token: the claim's secret name; made by the store when left out.
            exclude_run_ids: runs not to take, as many as you like.
            now: the present time instead of the clock's.

        Returns the claimed run, or None when nothing is claimable. Raises CorruptRowError for
        a run whose row can't be read; it stays claimed until the lease ends, so that it does
        not keep the others from being claimed.
        """
        token = new_token() if claim_token is None else key(claim_token, "claim_token")
        rows = self._engine.claim_runs(
            key(runner_id, "runner_id"),
            [token],
            checked_lease(lease_ms),
            _run_ids(exclude_run_ids),
            time_ms(now),
        )
        return Run.from_row(rows[0]) if rows else None

    def claim_many(
        self,
        *,
        runner_id: str,
        lease_ms: int,
        limit: int,
        exclude_run_ids: Iterable[str] = (),
        now: datetime | str | None = None,
    ) -> builtins.list[Run | CorruptRowError]:
        """Claim up to `limit` runs in one transaction, as if by so many `claim_next`.

        Each gets a token of its own. Returns the claimed runs in claim order; in the place
        of one whose row can't be read stands the error that says why.
        """
        tokens = [new_token() for _ in range(integer(limit, "limit", least=1, most=10_000))]
        rows = self._engine.claim_runs(
            key(runner_id, "runner_id"),
            tokens,
            checked_lease(lease_ms),
            _run_ids(exclude_run_ids),
            time_ms(now),
        )
        return [_claimed(row) for row in rows]

    def renew(
        self,
        *,
        run_id: str,
        claim_token: str,
        lease_ms: int,
        now: datetime | str | None = None,
    ) -> bool:
        """Let the lease end `lease_ms` from now. False where the claim is lost or expired."""
        claim = (checked_run_id(run_id), key(claim_token, "claim_token"))
        renewed = self._engine.renew_runs([claim], checked_lease(lease_ms), time_ms(now))[0]
        if not renewed:
            self._refused("runs.renew", run_id)
        return renewed

    def renew_many(
        self,
        *,
        claims: Iterable[tuple[str, str]],
        lease_ms: int,
        now: datetime | str | None = None,
    ) -> builtins.list[bool]:
        """`renew` for many (run_id, claim_token) in one transaction, a result for each."""
        given = _claims(claims)
        results = self._engine.renew_runs(given, checked_lease(lease_ms), time_ms(now))
        return self._each_kept("runs.renew", given, results)

    def verify(self, *, run_id: str, claim_token: str, now: datetime | str | None = None) -> bool:
        """Whether the claim is live now. Changes nothing."""
        live = self._engine.verify_run(
            checked_run_id(run_id), key(claim_token, "claim_token"), time_ms(now)
        )
        if not live:
            self._refused("runs.verify", run_id)
        return live

    def park(self, *, run_id: str, claim_token: str, now: datetime | str | None = None) -> bool:
        """Give the run back for another runner to resume.

        Works after the lease has ended too, as long as nobody claimed the run since.
        False where the claim is lost.
        """
        parked = self._engine.park_run(
            checked_run_id(run_id), key(claim_token, "claim_token"), time_ms(now)
        )
        if not parked:
            self._refused("runs.park", run_id)
        return parked

    def complete(self, *, run_id: str, claim_token: str, now: datetime | str | None = None) -> bool:
        """Mark the run done. Like `park`, it works until somebody else claimed the run."""
        claim = (checked_run_id(run_id), key(claim_token, "claim_token"))
        completed = self._engine.complete_runs([claim], time_ms(now))[0]
        if not completed:
            self._refused("runs.complete", run_id)
        return completed

    def complete_many(
        self, *, claims: Iterable[tuple[str, str]], now: datetime | str | None = None
    ) -> builtins.list[bool]:
        """`complete` for many (run_id, claim_token) in one transaction, a result for each."""
        given = _claims(claims)
        return self._each_kept(
            "runs.complete", given, self._engine.complete_runs(given, time_ms(now))
        )

    def delete(self, *, run_id: str, claim_token: str) -> bool:
        """Delete the run, which frees its parent's one slot. False where the claim is lost."""
        deleted = self._engine.delete_run(checked_run_id(run_id), key(claim_token, "claim_token"))
        if not deleted:
            self._refused("runs.delete", run_id)
        return deleted

    def repair_source(
        self,
        *,
        run_id: str,
        workflow_name: str,
        workflow_source_ref: str,
        runner_id: str,
        claim_token: str,
        lease_ms: int,
        now: datetime | str | None = None,
    ) -> Literal["unchanged", "claimed", False]:
        """Give a run that is not done its right source, and claim it when that is needed.

        Returns `"unchanged"` for a parked run that has the source already, `"claimed"`
        after a claimable run (parked, expired, or live under this very token) got the name
        and the source, and False otherwise.
        """
        outcome = self._engine.repair_source(
            checked_run_id(run_id),
            key(workflow_name, "workflow_name"),
            key(workflow_source_ref, "workflow_source_ref"),
            key(runner_id, "runner_id"),
            key(claim_token, "claim_token"),
            checked_lease(lease_ms),
            time_ms(now),
        )
        if outcome == "unchanged":
            return "unchanged"
        return "claimed" if outcome == "claimed" else False

    def claim_legacy_source(
        self,
        *,
        run_id: str,
        workflow_name: str,
        old_workflow_path: str,
        workflow_source_ref: str,
        runner_id: str,
        claim_token: str,
        lease_ms: int,
        now: datetime | str | None = None,
    ) -> bool:
        """Rewrite the source of a claimable run that has the old one or the new, and claim it."""
        return self._engine.claim_legacy_source(
            checked_run_id(run_id),
            key(workflow_name, "workflow_name"),
            key(old_workflow_path, "old_workflow_path"),
            key(workflow_source_ref, "workflow_source_ref"),
            key(runner_id, "runner_id"),
            key(claim_token, "claim_token"),
            checked_lease(lease_ms),
            time_ms(now),
        )


def _run_or_error(result: Row | Exception) -> Run | FencepostError:
    if isinstance(result, FencepostError):
        return result
    if isinstance(result, Exception):
        raise result
    return Run.from_row(result)


def _claimed(row: Row) -> Run | CorruptRowError:
    try:
        return Run.from_row(row)
    except CorruptRowError as corrupt:
        return corrupt


def _new_run(item: Mapping[str, Any]) -> NewRun:
    if type(item) is not dict and not issubclass(type(item), Mapping):
        raise InvalidArgumentError(f"items: expected dicts, not {type(item).__name__}")
    for member in item:
        if member not in _NEW_RUN_MEMBERS:
            raise InvalidArgumentError(f"items: a run has no member {shown(member)}; remove it")
    given = item.get
    return _checked_run(
        given("run_id"),
        given("workflow_name"),
        given("workflow_source_ref"),
        given("input"),
        given("runner_id"),
        given("claim_token"),
        given("lease_ms"),
        given("affinity_runner_id"),
        given("parent_run_id"),
    )


def _checked_run(
    run_id: Any,
    workflow_name: Any,
    workflow_source_ref: Any,
    input: Any,
    runner_id: Any,
    claim_token: Any,
    lease_ms: Any,
    affinity_runner_id: Any,
    parent_run_id: Any,
) -> NewRun:
    return (
        checked_run_id(run_id),
        key(workflow_name, "workflow_name"),
        key(workflow_source_ref, "workflow_source_ref"),
        json_value(input, "input"),
        key(runner_id, "runner_id"),
        new_token() if claim_token is None else key(claim_token, "claim_token"),
        checked_lease(lease_ms),
        None if affinity_runner_id is None else key(affinity_runner_id, "affinity_runner_id"),
        None if parent_run_id is None else checked_run_id(parent_run_id, "parent_run_id"),
    )


def _claims(claims: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    checked = []
    for claim in checked_items(claims, "claims"):
        if not isinstance(claim, (tuple, list)) or len(claim) != 2:
            raise InvalidArgumentError("claims: expected pairs of (run_id, claim_token)")
        checked.append((checked_run_id(claim[0]), key(claim[1], "claim_token")))
    return checked


def _run_ids(run_ids: Iterable[str]) -> list[str]:
    if type(run_ids) is tuple and not run_ids:
        return []
    return [
        checked_run_id(item, "exclude_run_ids")
        for item in checked_items(run_ids, "exclude_run_ids")
    ]
