"""An agent runner: checkpoints, takeover after a kill, a continuation after a failure.

    python examples/agent_runner.py                  # four workers; one is killed in the middle
    python examples/agent_runner.py --kill 0 --tasks 20 --store agents.sqlite

What it shows:

- A run is one attempt at a task, in steps. After each step the worker records the state so far as
  an event under the run's id. Events are only ever added to, so a late worker overwrites nothing;
  the fence in each of them says which state is of the latest owner. An event takes 64 KiB; a larger
  state goes into a file or a resource's status, and its name into the event.
- A worker that is killed is not missed by anybody: its lease ends, another worker claims the run,
  and goes on after the last checkpoint. Only the step that was interrupted is done again.
- A failed attempt is handed on to a continuation, whose input is the state so far. The store lets a
  run be continued once, so whoever repeats the handing on, after a crash too, changes nothing.
- Everybody can follow what happens in the feed; here the supervisor does.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from multiprocessing.context import SpawnProcess
from typing import Any

import fencepost
from fencepost.errors import ContinuationExistsError, LeaseLostError, RunExistsError

STEPS = ("plan", "search", "read", "draft", "review")
LEASE_MS = 2_000
AGENT = "agent"


class ToolError(Exception):
    """A tool of the agent failed; trying the same again would not help."""


def think(task: dict[str, Any], step: str, notes: list[str]) -> str:
    """Stands for a call of a model or a tool, which takes its time and may fail."""
    time.sleep(0.05)
    if step == "read" and task["source"] == "wiki":
        raise ToolError("the wiki does not answer")
    return f"{step} {task['question']!r} from {len(notes)} notes"


@dataclass(frozen=True)
class State:
    """How far an attempt has come. That it has failed is state too: it is not tried again."""

    notes: list[str]
    failed: str | None = None

    @property
    def over(self) -> bool:
        return self.failed is not None or len(self.notes) == len(STEPS)

    @property
    def step(self) -> str:
        return STEPS[len(self.notes)]

    def after(self, task: dict[str, Any]) -> State:
        try:
            return State([*self.notes, think(task, self.step, self.notes)])
        except ToolError as error:
            return State(self.notes, str(error))


def checkpoint(store: fencepost.Store, run: fencepost.Run, state: State) -> None:
    payload = {"fence": run.fence, "state": asdict(state)}
    store.events.record(controller=AGENT, key=run.run_id, type="checkpoint", payload=payload)


def last_checkpoint(store: fencepost.Store, run: fencepost.Run) -> State:
    """The latest state of the latest owner; before any, what the run was given as input."""
    written = store.events.iterate(controller=AGENT, key=run.run_id)
    last = max(written, key=lambda event: (event.payload["fence"], event.seq), default=None)
    return State(run.input["notes"]) if last is None else State(**last.payload["state"])


def tell(store: fencepost.Store, run: fencepost.Run, what: str, **more: Any) -> None:
    payload = {"pid": os.getpid(), "fence": run.fence, **more}
    store.feed.record(
        run_id=run.run_id,
        workflow_ref=run.workflow_name,
        type=what,
        runner_id=run.runner_id,
        payload=payload,
    )


def submit(store: fencepost.Store, run_id: str, task: dict[str, Any], **more: Any) -> None:
    """Enqueue a run for whichever worker comes: a new run is its maker's, so give it away."""
    run = store.runs.enqueue(
        run_id=run_id,
        workflow_name="answer",
        workflow_source_ref=__file__,
        input=task,
        runner_id="submitter",
        lease_ms=LEASE_MS,
        **more,
    )
    store.runs.park(**run.claim)


def work_on(store: fencepost.Store, run: fencepost.Run) -> None:
    """One attempt, from the last checkpoint on. Raises LeaseLostError where it became another's."""
    with store.keep(claim=run, lease_ms=LEASE_MS) as lease:
        state = last_checkpoint(store, run)
        tell(store, run, "begun", done=len(state.notes))
        while not state.over:
            lease.check()
            tell(store, run, "step", step=state.step)
            state = state.after(run.input)
            lease.check()
            checkpoint(store, run, state)
        if state.failed is not None:
            hand_on(store, run, state)
    if store.runs.complete(**run.claim):
        tell(store, run, "over", done=len(state.notes), failed=state.failed)


def hand_on(store: fencepost.Store, run: fencepost.Run, state: State) -> None:
    """Let another run try it another way, from where this one stands.

    First the continuation, then the end of its parent: whoever dies in between leaves a parent
    that is claimed again, is known to have failed, and has its continuation already.
    """
    task = {**run.input, "source": "archive", "notes": state.notes}
    try:
        submit(store, f"{run.run_id}.again", task, parent_run_id=run.run_id)
    except (ContinuationExistsError, RunExistsError) as again:
        print(f"{run.runner_id}: {again}", flush=True)


def worker(path: str, name: str) -> None:
    """Work until the supervisor ends the process; a worker that waits holds nothing."""
    with fencepost.open(path) as store:
        while True:
            run = store.runs.claim_next(runner_id=name, lease_ms=LEASE_MS)
            if run is None:
                store.wait(runs=True)
                continue
            try:
                work_on(store, run)
            except LeaseLostError as lost:
                print(f"{name}: {lost}", flush=True)


def supervise(store: fencepost.Store, workers: list[SpawnProcess], kills: int) -> str:
    """Follow the feed until no run is left, and kill some workers in the middle of a step."""
    calls: Counter[tuple[str, str]] = Counter()
    seq = killed = 0
    while any(store.stats().runs[status] for status in ("claimed", "parked")):
        if not store.wait(feed_after=seq, timeout_ms=LEASE_MS) and not living(workers):
            sys.exit("no worker is left")
        for event in store.feed.iterate(seq=seq):
            seq = event.seq
            show(event)
            if event.type == "step":
                calls[event.run_id, event.payload["step"]] += 1
                if killed < kills and event.payload["step"] != STEPS[0]:
                    killed += kill(store, workers, event)
    return f"workers killed: {killed}, steps done again: {sum(n > 1 for n in calls.values())}"


def living(workers: list[SpawnProcess]) -> list[SpawnProcess]:
    return [process for process in workers if process.is_alive()]


def show(event: fencepost.RunEvent) -> None:
    what = [f"{name}={value}" for name, value in event.payload.items() if value and name != "pid"]
    print(f"{event.runner_id:>10}  {event.run_id:<14} {event.type:<7}", *what, flush=True)


def kill(store: fencepost.Store, workers: list[SpawnProcess], event: fencepost.RunEvent) -> bool:
    """Kill the worker that an event is of, unless it is the last; whether it had the run still."""
    victim = [process for process in living(workers) if process.pid == event.payload["pid"]]
    if not victim or len(living(workers)) == 1:
        return False
    victim[0].kill()
    victim[0].join()
    run = store.runs.get(run_id=event.run_id)
    print(f"supervisor  {event.run_id:<14} killed {victim[0].name} in {event.payload['step']}")
    return run is not None and run.fence == event.payload["fence"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--tasks", type=int, default=6)
    parser.add_argument("--kill", type=int, default=1, help="how many workers to kill")
    parser.add_argument("--store", help="default: one that is deleted afterwards")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        path = options.store or os.path.join(folder, "agents.sqlite")
        with fencepost.open(path) as store:
            for number in range(options.tasks):
                source = "wiki" if number % 3 == 1 else "archive"
                task = {"question": f"question {number}", "source": source, "notes": []}
                submit(store, f"task-{number}", task)

            spawn = multiprocessing.get_context("spawn")
            names = [f"worker-{number}" for number in range(options.workers)]
            workers = [spawn.Process(target=worker, args=(path, n), name=n) for n in names]
            try:
                for process in workers:
                    process.start()
                kills = supervise(store, workers, options.kill)
            finally:
                for process in workers:
                    process.kill()
                    process.join()
            runs = store.runs.list()
            continued = {run.parent_run_id for run in runs}
            answers = [run for run in runs if run.run_id not in continued]
            notes = [last_checkpoint(store, run).notes for run in answers]
    print(f"answers: {len(answers)}, runs: {len(runs)}, {kills}")
    if [len(note) for note in notes] != [len(STEPS)] * options.tasks:
        sys.exit("a task is without its answer")


if __name__ == "__main__":
    main()
