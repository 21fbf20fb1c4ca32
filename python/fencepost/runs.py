"""The run queue: durable units of work, each owned by one live claim at a time."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from .engine.protocol import NewRun, Row
from .errors import CorruptRowError, FencepostError
from .facet import new_tokens
from .pages import DEFAULT_PAGE, Page, each
from .records import Run
from .run_arguments import claimant, excluded, new_run, new_run_of, run_claim, run_claims
from .run_sources import RunSources
from .validation import (
    choice,
    integer,
    items as checked_items,
    key,
    lease_ms as checked_lease,
    run_id as checked_run_id,
    time_ms,
)

STATUSES = ("claimed", "parked", "done")


class Runs(RunSources):
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
        new = new_run(
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
        result = _run_or_error(new, self._engine.enqueue_runs([new], time_ms(now))[0])
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
        new = [new_run_of(item) for item in checked_items(items, "items")]
        results = self._engine.enqueue_runs(new, time_ms(now))
        return list(map(_run_or_error, new, results))

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
        runner_id, token = claimant(runner_id, claim_token)
        rows = self._engine.claim_runs(
            runner_id,
            [token],
            checked_lease(lease_ms),
            excluded(exclude_run_ids),
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
        tokens = new_tokens(integer(limit, "limit", least=1, most=10_000))
        rows = self._engine.claim_runs(
            key(runner_id, "runner_id"),
            tokens,
            checked_lease(lease_ms),
            excluded(exclude_run_ids),
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
        claim = run_claim(run_id, claim_token)
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
        given = run_claims(claims)
        results = self._engine.renew_runs(given, checked_lease(lease_ms), time_ms(now))
        return self._each_kept("runs.renew", given, results)

    def verify(self, *, run_id: str, claim_token: str, now: datetime | str | None = None) -> bool:
        """Whether the claim is live now. Changes nothing."""
        run_id, claim_token = run_claim(run_id, claim_token)
        live = self._engine.verify_run(run_id, claim_token, time_ms(now))
        if not live:
            self._refused("runs.verify", run_id)
        return live

    def park(self, *, run_id: str, claim_token: str, now: datetime | str | None = None) -> bool:
        """Give the run back for another runner to resume.

        Works after the lease has ended too, as long as nobody claimed the run since.
        False where the claim is lost.
        """
        run_id, claim_token = run_claim(run_id, claim_token)
        parked = self._engine.park_run(run_id, claim_token, time_ms(now))
        if not parked:
            self._refused("runs.park", run_id)
        return parked

    def complete(self, *, run_id: str, claim_token: str, now: datetime | str | None = None) -> bool:
        """Mark the run done. Like `park`, it works until somebody else claimed the run."""
        claim = run_claim(run_id, claim_token)
        completed = self._engine.complete_runs([claim], time_ms(now))[0]
        if not completed:
            self._refused("runs.complete", run_id)
        return completed

    def complete_many(
        self, *, claims: Iterable[tuple[str, str]], now: datetime | str | None = None
    ) -> builtins.list[bool]:
        """`complete` for many (run_id, claim_token) in one transaction, a result for each."""
        given = run_claims(claims)
        return self._each_kept(
            "runs.complete", given, self._engine.complete_runs(given, time_ms(now))
        )

    def delete(self, *, run_id: str, claim_token: str) -> bool:
        """Delete the run, which frees its parent's one slot. False where the claim is lost."""
        run_id, claim_token = run_claim(run_id, claim_token)
        deleted = self._engine.delete_run(run_id, claim_token)
        if not deleted:
            self._refused("runs.delete", run_id)
        return deleted


def _run_or_error(new: NewRun, made: Row | Exception) -> Run | FencepostError:
    if isinstance(made, tuple):
        return Run.of_new(new, made)
    if isinstance(made, FencepostError):
        return made
    raise made


def _claimed(row: Row) -> Run | CorruptRowError:
    try:
        return Run.from_row(row)
    except CorruptRowError as corrupt:
        return corrupt
