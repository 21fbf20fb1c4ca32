"""Which claims a call uses, single or many, and what it was told of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from .operations import Op
from .rows import QUEUE, RUNS

Use: TypeAlias = tuple[str, tuple[str, ...], str, Any]
"""Table, key, token and result."""

_RUN = frozenset({"runs.renew", "runs.verify", "runs.park", "runs.complete", "runs.delete"})
_KEY = frozenset({"queue.renew", "queue.settle", "queue.requeue"})
_RUNS = frozenset({"runs.renew_many", "runs.complete_many"})
_KEYS = frozenset({"queue.renew_many", "queue.settle_many"})
CALLS = _RUN | _KEY | _RUNS | _KEYS


def uses(op: Op) -> Iterator[Use]:
    """The claims that the call carries; a call without results has none of them told."""
    name, args = op.name, op.args
    if name in _RUN:
        yield RUNS, (args["run_id"],), args["claim_token"], op.result
    elif name in _KEY:
        claim = args["claim"]
        yield QUEUE, (claim["controller"], claim["key"]), claim["token"], op.result
    elif name in _RUNS or name in _KEYS:
        results = op.result if isinstance(op.result, list) else [None] * len(args["claims"])
        for claim, result in zip(args["claims"], results, strict=True):
            if name in _RUNS:
                yield RUNS, (claim[0],), claim[1], result
            else:
                yield QUEUE, (claim["controller"], claim["key"]), claim["token"], result
