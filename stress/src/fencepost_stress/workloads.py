"""The workloads: what the workers do, and what a run of it must exercise."""

from __future__ import annotations

from typing import NamedTuple


class Workload(NamedTuple):
    """`weights` says how often a worker does what, relative to each other.

    `properties` are those that the workload exercises, beside D1, L1, I1 and R1, which
    all do; `required` is what must have happened.
    """

    weights: dict[str, int]
    properties: tuple[str, ...]
    required: tuple[str, ...]
    races: bool = False


_RUNS = {"enqueue": 24, "claim": 36, "stale run": 5, "repair": 3}
_QUEUE = {"event": 18, "reconcile": 24, "stale key": 4}
_EFFECTS = {"effect": 13, "request": 9}
_RESOURCES = {"resource": 16, "look": 3}
_FEED = {"record": 9, "consume": 12}
_BATCH = {"batch of runs": 5, "batch of keys": 4}
_WAIT = {"hand over": 1}
_WAIT_AMONG_OTHERS = {"wait": 6}

_CLAIMS = ("lease taken over", "stale token refused", "nothing to claim")
_RUN_PROPERTIES = ("F1", "F2", "F3", "F4", "C1", "C2", "S1", "S2", "O1", "A1")
_QUEUE_PROPERTIES = ("F1", "F2", "F3", "F4", "S2", "Q1", "Q2", "O1", "A1")

COMMON = ("D1", "L1", "I1", "R1")

CUSTOM = "custom"
"""Somebody's own code, which exercises what it will."""

WORKLOADS: dict[str, Workload] = {
    "runs": Workload(
        _RUNS,
        _RUN_PROPERTIES,
        (
            *_CLAIMS,
            "continuation race lost",
            "slot freed and taken again",
            "claim by affinity",
            "claim that left runs out",
            "run parked and resumed",
        ),
        races=True,
    ),
    "queue": Workload(_QUEUE, _QUEUE_PROPERTIES, (*_CLAIMS, "event during a claim")),
    "effects": Workload(
        {**_EFFECTS, **_RESOURCES},
        ("E1", "A1"),
        ("reservation found there", "reservation refused", "final state refused"),
    ),
    "resources": Workload(
        _RESOURCES,
        ("A1",),
        ("swap refused", "resource deleted", "deletion refused"),
    ),
    "feed": Workload(_FEED, ("W1",), ("page of events read", "watermark held back")),
    "batch": Workload(
        _BATCH,
        ("F1", "F2", "F4", "S1", "Q1", "A1"),
        ("batch of several rows", "batch refused in part"),
    ),
}

PRUNING = "prune among others"
"""The step of the workload in which the store is pruned; what that deletes is not witnessed."""
PRUNES = "prunes"
"""What a worker notes when it is about to prune, with what it will say and the run it made."""
PRUNED = "pruned"
"""What a worker notes when it has pruned, with the numbers of rows."""
ROWS_PRUNED = "rows pruned"

_WAITING = Workload(_WAIT, ("Q3", "S1", "Q1"), ("waiter woken",))

WORKLOADS["mixed"] = Workload(
    {name: weight for one in WORKLOADS.values() for name, weight in one.weights.items()}
    | _WAIT_AMONG_OTHERS,
    tuple(
        dict.fromkeys(name for one in (*WORKLOADS.values(), _WAITING) for name in one.properties)
    ),
    tuple(dict.fromkeys(name for one in (*WORKLOADS.values(), _WAITING) for name in one.required)),
    races=True,
)
WORKLOADS["wait"] = _WAITING
WORKLOADS["prune"] = Workload(
    {PRUNING: 1}, ("W1", "S1", "P1"), ("page of events read", ROWS_PRUNED)
)
