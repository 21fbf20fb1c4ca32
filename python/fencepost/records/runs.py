"""Records of the run queue and of its event feed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from ..canonical import parse_json
from ..clock import iso_from_ms
from ..engine.protocol import NewRun, Row
from ..errors import InvalidArgumentError
from .base import Columns, Record, unsealed

_RUNS = Columns(
    "workflow_run_queue",
    "run_id workflow_ref workflow_path input_json status runner_id claim_token claim_expires_at "
    "affinity_runner_id parent_run_id created_at updated_at fence rowid",
    key="run_id",
    integers="claim_expires_at fence rowid",
)
_FEED = Columns(
    "run_events",
    "seq recorded_at run_id workflow_ref type runner_id payload_json",
    key="seq",
    integers="seq",
)


class RunClaim(TypedDict):
    """What names a claim of a run to the operations that need one."""

    run_id: str
    claim_token: str


@dataclass(frozen=True, slots=True)
class Run(Record):
    """A durable unit of work and its present claim.

    Attributes:
        status: `"claimed"`, `"parked"` or `"done"`.
        claim_expires_at: when the lease ends, ISO 8601 in UTC; None while unclaimed.
        fence: a number that grows with every claim of this run id and never comes again;
            hand it to outside systems, so that they too can refuse a late writer. None
            while unclaimed.
    """

    _absent_when_none: ClassVar[frozenset[str]] = frozenset({"fence"})

    run_id: str
    workflow_name: str
    workflow_source_ref: str
    input: Any
    status: str
    runner_id: str | None
    claim_token: str | None
    claim_expires_at: str | None
    affinity_runner_id: str | None
    parent_run_id: str | None
    created_at: str
    updated_at: str
    fence: int | None = None

    @property
    def claim(self) -> RunClaim:
        """The claim as the arguments of `renew`, `verify`, `park`, `complete` and `delete`::

            store.runs.complete(**run.claim)

        Raises InvalidArgumentError for a run that is not claimed.
        """
        if self.claim_token is None:
            raise InvalidArgumentError(f"claim: run {self.run_id} is not claimed; claim it first")
        return {"run_id": self.run_id, "claim_token": self.claim_token}

    @classmethod
    def from_row(cls, row: Row) -> Run:
        """The record of a row of `runs.get` or `runs.list`."""
        return _run(_RUNS.check(row))

    @classmethod
    def of_new(cls, new: NewRun, made: Row) -> Run:
        """The record of a run that has just been enqueued, and of what the store made of it."""
        run_id, name, source, input_json, runner_id, claim_token, _, affine, parent = new
        expires_at, stamp, fence = made
        row = (
            run_id,
            name,
            source,
            input_json,
            "claimed",
            runner_id,
            claim_token,
            expires_at,
            affine or runner_id,
            parent,
            stamp,
            stamp,
            fence,
        )
        # The fence alone has been in the file, where another hand may have changed it.
        return _run(row) if type(fence) is int else cls.from_row(row)


_UnsealedRun = unsealed(Run)
_new = object.__new__


def _run(row: Row) -> Run:
    run = _new(_UnsealedRun)
    # One unpacking: a run is made for every claim.
    (
        run.run_id,
        run.workflow_name,
        run.workflow_source_ref,
        input_json,
        run.status,
        run.runner_id,
        run.claim_token,
        expires_at,
        run.affinity_runner_id,
        run.parent_run_id,
        run.created_at,
        run.updated_at,
        run.fence,
    ) = row[:13]
    try:
        run.input = parse_json(input_json)
        run.claim_expires_at = None if expires_at is None else iso_from_ms(expires_at)
    except (ValueError, TypeError):
        # Again, as errors of the row: one of the two is it.
        _RUNS.json(row, "input_json")
        _RUNS.time(row, "claim_expires_at")
        raise
    run.__class__ = Run
    sealed: Run = run
    return sealed


@dataclass(frozen=True, slots=True)
class RunEvent(Record):
    """One event of the feed; `seq` grows and never comes again."""

    seq: int
    recorded_at: str
    run_id: str
    workflow_ref: str
    type: str
    runner_id: str | None
    payload: dict[str, Any]

    @classmethod
    def from_row(cls, row: Row) -> RunEvent:
        """The record of a row of `feed.after`."""
        _FEED.check(row)
        seq, recorded_at, run_id, workflow_ref, type, runner_id, _ = row
        payload = _FEED.json_object(row, "payload_json")
        return cls(seq, recorded_at, run_id, workflow_ref, type, runner_id, payload)
