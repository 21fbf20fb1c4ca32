"""Calls of many: as if by so many single calls, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .outcome import Outcome, Prediction

Rule = Callable[[dict[str, Any], int], Outcome]
Write = Callable[[Prediction], None]


def each(
    rule: Rule, write: Write, items: Iterable[dict[str, Any]], now: int, *, until_none: bool = False
) -> Outcome:
    """Apply a rule to items in turn, each in the state that those before it left.

    The state is put back afterwards: it follows the witness. A refused item shows the
    code of its error. With `until_none` the first empty claim ends the batch.
    """
    results: list[Any] = []
    changes: list[Prediction] = []
    for item in items:
        outcome = rule(item, now)
        if until_none and outcome.result is None:
            break
        for change in outcome.changes:
            write(change)
        changes.extend(outcome.changes)
        results.append({"error": outcome.refusals} if outcome.refusals else outcome.result)
    for change in reversed(changes):
        write(change._replace(before=change.after, after=change.before))
    return Outcome(results, tuple(changes))


def runs_of(args: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments of single calls for pairs of (run_id, claim_token)."""
    for run_id, token in args["claims"]:
        yield {**args, "run_id": run_id, "claim_token": token}


def claims_of(args: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments of single calls for claims of keys."""
    for claim in args["claims"]:
        yield {**args, "claim": claim}


def keys_of(args: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments of single enqueues of keys."""
    for controller, key, *rest in args["items"]:
        yield {"controller": controller, "key": key, "available_at": rest[0] if rest else None}
