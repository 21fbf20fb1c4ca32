"""What each operation of an engine tells, from its arguments and its result.

A fact is the kind of an event, and the fields that it has. None of them is a claim token
or anything that callers store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from ..engine.protocol import Engine, NewRun, Row
from ..errors import FencepostError

Facts: TypeAlias = "Iterator[tuple[str, dict[str, Any]]]"


# Runs.


def _enqueue_runs(
    _: Engine, results: list[Row | Exception], runs: Sequence[NewRun], _now: int | None
) -> Facts:
    for run, result in zip(runs, results, strict=True):
        if not isinstance(result, Exception):
            yield (
                "enqueue",
                {
                    "key": run[0],
                    "workflow_name": run[1],
                    "runner_id": run[4],
                    "lease_ms": run[6],
                    "fence": result[2],
                },
            )


def _claim_runs(
    _: Engine, rows: list[Row], runner_id: str, _tokens: Any, lease_ms: int, *_rest: Any
) -> Facts:
    for row in rows:
        yield (
            "claim",
            {
                "key": row[0],
                "workflow_name": row[1],
                "runner_id": runner_id,
                "lease_ms": lease_ms,
                "fence": row[12],
            },
        )


def _renew_runs(
    engine: Engine,
    results: list[bool],
    claims: Sequence[tuple[str, str]],
    lease_ms: int,
    _now: int | None,
) -> Facts:
    for (run_id, token), renewed in zip(claims, results, strict=True):
        if renewed:
            yield "renew", {"key": run_id, "lease_ms": lease_ms}
        else:
            yield _refused_run(engine, run_id, token)


def _complete_runs(
    engine: Engine, results: list[bool], claims: Sequence[tuple[str, str]], _now: int | None
) -> Facts:
    for (run_id, token), completed in zip(claims, results, strict=True):
        yield ("complete", {"key": run_id}) if completed else _refused_run(engine, run_id, token)


def _of_one_run(kind: str | None) -> Callable[..., Facts]:
    """An event of `kind`, if any, for a run whose token is good; else what became of it."""

    def facts(engine: Engine, done: bool, run_id: str, token: str, *_rest: Any) -> Facts:
        if not done:
            yield _refused_run(engine, run_id, token)
        elif kind is not None:
            yield kind, {"key": run_id}

    return facts


def _repair_source(
    _: Engine,
    outcome: str | bool | None,
    run_id: str,
    workflow_name: str,
    *rest: Any,
) -> Facts:
    if outcome and outcome != "unchanged":
        # ..., runner_id, claim_token, lease_ms, now: for both ways to repair a source.
        runner_id, lease_ms = rest[-4], rest[-2]
        yield (
            "claim",
            {
                "key": run_id,
                "workflow_name": workflow_name,
                "runner_id": runner_id,
                "lease_ms": lease_ms,
            },
        )


def _refused_run(engine: Engine, run_id: str, token: str) -> tuple[str, dict[str, Any]]:
    """Why a token was refused, by a look at the run as it is now."""
    row = _look(engine, "runs.get", {"run_id": run_id})
    if row is None:
        return "lost", {"key": run_id}
    kind = "expired" if row[6] == token else "lost"
    return kind, {"key": run_id, "workflow_name": row[1], "runner_id": row[5], "fence": row[12]}


# The queue.


def _enqueue(
    _: Engine,
    results: list[Exception | None],
    items: Sequence[tuple[str, str, int | None]],
    _now: int | None,
) -> Facts:
    for (controller, key, _at), refusal in zip(items, results, strict=True):
        if refusal is None:
            yield "enqueue", {"controller": controller, "key": key}


def _claim_next(
    _: Engine, rows: list[Row], _names: Any, _tokens: Any, lease_ms: int, _now: int | None
) -> Facts:
    for row in rows:
        yield (
            "claim",
            {"controller": row[0], "key": row[1], "lease_ms": lease_ms, "fence": row[6]},
        )


def _renew_claims(
    engine: Engine,
    results: list[bool],
    claims: Sequence[tuple[str, str, str]],
    lease_ms: int,
    _now: int | None,
) -> Facts:
    for claim, renewed in zip(claims, results, strict=True):
        if renewed:
            yield "renew", {"controller": claim[0], "key": claim[1], "lease_ms": lease_ms}
        else:
            yield _refused_key(engine, *claim)


def _settle_claims(
    engine: Engine, results: list[bool], claims: Sequence[tuple[str, str, str]], _now: int | None
) -> Facts:
    for claim, settled in zip(claims, results, strict=True):
        if settled:
            yield "settle", {"controller": claim[0], "key": claim[1]}
        else:
            yield _refused_key(engine, *claim)


def _requeue_claim(
    engine: Engine,
    requeued: bool,
    controller: str,
    key: str,
    token: str,
    _available_at: int,
    error: str | None,
) -> Facts:
    if requeued:
        yield "requeue", {"controller": controller, "key": key, "failed": error is not None}
    else:
        yield _refused_key(engine, controller, key, token)


def _refused_key(
    engine: Engine, controller: str, key: str, token: str
) -> tuple[str, dict[str, Any]]:
    named: dict[str, Any] = {"controller": controller, "key": key}
    row = _look(engine, "queue.claimed", named)
    if row is None or row[2] is None:
        return "lost", named
    return "expired" if row[2] == token else "lost", {**named, "fence": row[6]}


def _look(engine: Engine, statement: str, params: dict[str, Any]) -> Row | None:
    """A row as it is now; None also where it can't be read, which is no error of the call."""
    try:
        rows = engine.read(statement, params)
    except FencepostError:
        return None
    return rows[0] if rows else None


# Resources, effects, requests, events and the feed.


def _of_resource(kind: str) -> Callable[..., Facts]:
    """An event for a resource that came back as a row, or was there to be deleted."""

    def facts(_: Engine, result: Row | bool, controller: str, key: str, *_rest: Any) -> Facts:
        if result:
            yield kind, {"controller": controller, "key": key}

    return facts


def _reserve(_: Engine, result: tuple[Row, bool], *_arguments: Any) -> Facts:
    row, created = result
    yield "reserve", {"key": row[0], "created": created}


def _update_effect(_: Engine, _row: Row, _uid: str, key: str, state: str, *_rest: Any) -> Facts:
    yield "update", {"key": key, "state": state}


def _update_request(_: Engine, _row: Row, request_id: str, state: str, *_rest: Any) -> Facts:
    yield "update", {"key": request_id, "state": state}


def _record_event(_: Engine, row: Row, controller: str, key: str, type: str, *_rest: Any) -> Facts:
    yield "record", {"controller": controller, "key": key, "state": type, "seq": row[0]}


def _record_run_event(
    _: Engine, seq: int, run_id: str, _workflow_ref: str, type: str, *_rest: Any
) -> Facts:
    yield "record", {"key": run_id, "state": type, "seq": seq}


def _set_watermark(_: Engine, _none: None, session_id: str, seq: int, _now: int | None) -> Facts:
    yield "watermark", {"key": session_id, "seq": seq}


OPERATIONS: dict[str, tuple[str, str, Callable[..., Facts]]] = {
    "put_resource": ("resources", "put", _of_resource("put")),
    "update_status": ("resources", "update_status", _of_resource("update")),
    "request_deletion": ("resources", "request_deletion", _of_resource("update")),
    "update_finalizers": ("resources", "update_finalizers", _of_resource("update")),
    "delete_resource": ("resources", "delete", _of_resource("delete")),
    "enqueue": ("queue", "enqueue", _enqueue),
    "claim_next": ("queue", "claim", _claim_next),
    "renew_claims": ("queue", "renew", _renew_claims),
    "settle_claims": ("queue", "settle", _settle_claims),
    "requeue_claim": ("queue", "requeue", _requeue_claim),
    "reserve_effect": ("effects", "reserve", _reserve),
    "update_effect": ("effects", "update", _update_effect),
    "reserve_request": ("requests", "reserve", _reserve),
    "update_request": ("requests", "update", _update_request),
    "record_event": ("events", "record", _record_event),
    "enqueue_runs": ("runs", "enqueue", _enqueue_runs),
    "claim_runs": ("runs", "claim", _claim_runs),
    "renew_runs": ("runs", "renew", _renew_runs),
    "verify_run": ("runs", "verify", _of_one_run(None)),
    "park_run": ("runs", "park", _of_one_run("park")),
    "complete_runs": ("runs", "complete", _complete_runs),
    "delete_run": ("runs", "delete", _of_one_run("delete")),
    "repair_source": ("runs", "repair_source", _repair_source),
    "claim_legacy_source": ("runs", "claim_legacy_source", _repair_source),
    "record_run_event": ("feed", "record", _record_run_event),
    "set_watermark": ("feed", "set_watermark", _set_watermark),
}
"""By operation of an engine: the facet, the operation's name there, and what it tells."""
