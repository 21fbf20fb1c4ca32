"""Work for many processes on one file, with a history of what the store acknowledged.

Each process appends to a history file of its own: what it is about to do, and what the
store acknowledged. The lines survive a kill of the process; of a killed one the last
intention may have been carried out, or not.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import fencepost
from fencepost.errors import ContinuationExistsError

CONTROLLER = "site"
LEASE = 3_600_000


class History:
    """Intentions and acknowledgements, one line each, written whole or not at all."""

    def __init__(self, folder: Path, worker: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = os.open(folder / f"history-{worker}", flags, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def say(self, what: str, *about: Any) -> None:
        os.write(self._file, json.dumps([what, *about]).encode() + b"\n")


def work(*, path: str, folder: str, engine: str, worker: str, rounds: int, seed: int) -> None:
    """A worker's life: make runs and changes, claim whatever is there, finish it."""
    choose = random.Random(seed)
    with (
        fencepost.open(path, engine=engine, busy_timeout_ms=60_000, synchronous="off") as store,
        History(Path(folder), worker) as history,
    ):
        for number in range(rounds):
            action = choose.random()
            if action < 0.25:
                _new_run(store, history, worker, f"{worker}-{number}", None)
            elif action < 0.40:
                _change(store, history, f"key-{choose.randrange(6)}")
            elif action < 0.75:
                _do_run(store, history, worker, choose)
            else:
                _reconcile(store, history)


def drain(*, path: str, folder: str, engine: str, worker: str) -> None:
    """Finish everything that is left, after the leases of the killed have ended."""
    choose = random.Random(0)
    options: dict[str, Any] = {"busy_timeout_ms": 60_000, "synchronous": "off"}
    with (
        fencepost.open(path, engine=engine, clock=_after_all_leases, **options) as store,
        History(Path(folder), worker) as history,
    ):
        while _do_run(store, history, worker, choose, last=True) or _reconcile(store, history):
            continue


def _after_all_leases() -> int:
    return time.time_ns() // 1_000_000 + 2 * LEASE


def _new_run(
    store: fencepost.Store, history: History, worker: str, run_id: str, parent: str | None
) -> None:
    history.say("run?", run_id, parent)
    run = store.runs.enqueue(
        run_id=run_id,
        workflow_name="work",
        workflow_source_ref="work.ts",
        runner_id=worker,
        lease_ms=LEASE,
        parent_run_id=parent,
    )
    history.say("run", run_id, parent, run.fence)
    if store.runs.park(run_id=run_id, claim_token=run.claim_token or ""):
        history.say("parked", run_id)


def _do_run(
    store: fencepost.Store,
    history: History,
    worker: str,
    choose: random.Random,
    *,
    last: bool = False,
) -> bool:
    run = store.runs.claim_next(runner_id=worker, lease_ms=LEASE)
    if run is None:
        return False
    history.say("claim", run.run_id, run.fence)
    claim: dict[str, Any] = {"run_id": run.run_id, "claim_token": run.claim_token or ""}
    assert store.runs.renew(**claim, lease_ms=LEASE)
    if not last and choose.random() < 0.3:
        assert store.runs.park(**claim)
        return True
    history.say("done?", run.run_id)
    if store.runs.complete(**claim):
        history.say("done", run.run_id, run.fence)
        if not last and choose.random() < 0.5:
            _continue(store, history, worker, run.run_id)
    return True


def _continue(store: fencepost.Store, history: History, worker: str, parent: str) -> None:
    # Twice, under two names: the parent has one continuation whatever happens.
    _new_run(store, history, worker, f"{parent}.c", parent)
    try:
        _new_run(store, history, worker, f"{parent}.d", parent)
    except ContinuationExistsError:
        history.say("refused", parent)


def _change(store: fencepost.Store, history: History, key: str) -> None:
    history.say("change?", key)
    resource = store.resources.put(
        controller=CONTROLLER, key=key, spec={"change": os.urandom(8).hex()}, initial_status=None
    )
    history.say("change", key, resource.metadata.generation)


def _reconcile(store: fencepost.Store, history: History) -> bool:
    claim = store.queue.claim_next(controllers=[CONTROLLER], lease_ms=LEASE)
    if claim is None:
        return False
    resource = store.resources.get(controller=CONTROLLER, key=claim.key)
    assert resource is not None
    generation = resource.metadata.generation
    history.say("reconciled?", claim.key, generation)
    if store.queue.settle(claim=claim):
        history.say("reconciled", claim.key, generation, claim.fence)
    return True


def verify(folder: Path, runs: list[Any], queue: list[Any]) -> Counter[str]:
    """What the processes were told holds in the end; how often each thing was told.

    `runs` and `queue` are the final listings. Only what a killed process had begun last
    may or may not have happened.
    """
    told, begun = _read(folder)
    status = {run.run_id: run.status for run in runs}

    made = [run_id for run_id, _, _ in told["run"]]
    assert len(made) == len(set(made))
    assert set(made) <= set(status), "a run was lost"
    assert set(status) <= {*made, *(run_id for run_id, _ in begun["run?"])}
    done = [run_id for run_id, _ in told["done"]]
    assert len(done) == len(set(done)), "a run was done twice"
    stranded = [run for run in runs if run.status != "done"]
    assert stranded == [], "a run was stranded"
    assert set(status) <= {*done, *(run_id for (run_id,) in begun["done?"])}

    parents = [run.parent_run_id for run in runs if run.parent_run_id is not None]
    assert len(parents) == len(set(parents)), "a parent was continued twice"
    assert {parent for _, parent, _ in told["run"]} <= {*parents, None}
    assert {parent for (parent,) in told["refused"]} <= set(parents)

    fences = [fence for what in ("run", "claim", "reconciled") for *_, fence in told[what]]
    assert len(fences) == len(set(fences)), "two claims had one fence"

    assert queue == [], "a change was never reconciled"
    reconciled = _newest([*told["reconciled"], *begun["reconciled?"]])
    for key, generation in _newest(told["change"]).items():
        assert reconciled[key] >= generation, "a settle swallowed a change"
    return Counter({what: len(lines) for what, lines in told.items()})


_Lines = dict[str, list[list[Any]]]


def _read(folder: Path) -> tuple[_Lines, _Lines]:
    """By their first words: all lines, and those that end a history with an intention."""
    told: _Lines = defaultdict(list)
    begun: _Lines = defaultdict(list)
    for file in sorted(folder.glob("history-*")):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for what, *about in lines:
            told[what].append(about)
        if lines and lines[-1][0].endswith("?"):
            begun[lines[-1][0]].append(lines[-1][1:])
    return told, begun


def _newest(lines: list[list[Any]]) -> dict[str, int]:
    newest: dict[str, int] = defaultdict(int)
    for key, generation, *_ in lines:
        newest[key] = max(newest[key], generation)
    return newest
