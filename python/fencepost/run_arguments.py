"""The arguments of `store.runs`, checked, in the form that the engines take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import quick
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
    token = new_token() if claim_token is None else claim_token
    sure = quick.is_run_claim(run_id, token) and quick.are_keys(
        workflow_name, workflow_source_ref, runner_id
    )
    return (
        run_id if sure else checked_run_id(run_id),
        workflow_name if sure else key(workflow_name, "workflow_name"),
        workflow_source_ref if sure else key(workflow_source_ref, "workflow_source_ref"),
        json_value(input, "input"),
        runner_id if sure else key(runner_id, "runner_id"),
        token if sure else key(token, "claim_token"),
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


def run_claim(run_id: Any, claim_token: Any) -> tuple[str, str]:
    """What names a claim of a run: the run's id, and the token."""
    if quick.is_run_claim(run_id, claim_token):
        return run_id, claim_token
    return checked_run_id(run_id), key(claim_token, "claim_token")


def claimant(runner_id: Any, claim_token: Any) -> tuple[str, str]:
    """Who claims, and the claim's token, which is made where there is none."""
    token = new_token() if claim_token is None else claim_token
    if not quick.are_keys(runner_id, token):
        token = key(token, "claim_token")
        runner_id = key(runner_id, "runner_id")
    return runner_id, token


def run_claims(claims: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs of a run id and the token of its claim."""
    checked = []
    for claim in items(claims, "claims"):
        if not isinstance(claim, (tuple, list)) or len(claim) != 2:
            raise InvalidArgumentError("claims: expected pairs of (run_id, claim_token)")
        checked.append(run_claim(claim[0], claim[1]))
    return checked


def excluded(run_ids: Iterable[str]) -> list[str]:
    """The runs that a claim passes over."""
    if type(run_ids) is tuple and not run_ids:
        return []
    return [checked_run_id(item, "exclude_run_ids") for item in items(run_ids, "exclude_run_ids")]
