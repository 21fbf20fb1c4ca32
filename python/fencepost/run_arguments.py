"""The arguments of `store.runs`, checked, in the form that the engines take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .engine.protocol import NewRun
from .errors import InvalidArgumentError
from .facet import new_token
from .shown import shown
from .validation import items, json_value, key, lease_ms as checked_lease, run_id as checked_run_id

_NEW_RUN_MEMBERS = frozenset(
    "run_id workflow_name workflow_source_ref input runner_id lease_ms claim_token "
    "affinity_runner_id parent_run_id".split()
)


def new_run(
    *,
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
    """A run to insert; the members that may be left out are None then."""
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


def new_run_of(item: Mapping[str, Any]) -> NewRun:
    """A run to insert from a dict; a member that a run does not have is refused."""
    if type(item) is not dict and not issubclass(type(item), Mapping):
        raise InvalidArgumentError(f"items: expected dicts, not {type(item).__name__}")
    for member in item:
        if member not in _NEW_RUN_MEMBERS:
            raise InvalidArgumentError(f"items: a run has no member {shown(member)}; remove it")
    given = item.get
    return new_run(
        run_id=given("run_id"),
        workflow_name=given("workflow_name"),
        workflow_source_ref=given("workflow_source_ref"),
        input=given("input"),
        runner_id=given("runner_id"),
        claim_token=given("claim_token"),
        lease_ms=given("lease_ms"),
        affinity_runner_id=given("affinity_runner_id"),
        parent_run_id=given("parent_run_id"),
    )


def run_claims(claims: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs of a run id and the token of its claim."""
    checked = []
    for claim in items(claims, "claims"):
        if not isinstance(claim, (tuple, list)) or len(claim) != 2:
            raise InvalidArgumentError("claims: expected pairs of (run_id, claim_token)")
        checked.append((checked_run_id(claim[0]), key(claim[1], "claim_token")))
    return checked


def excluded(run_ids: Iterable[str]) -> list[str]:
    """The runs that a claim passes over."""
    if type(run_ids) is tuple and not run_ids:
        return []
    return [checked_run_id(item, "exclude_run_ids") for item in items(run_ids, "exclude_run_ids")]
