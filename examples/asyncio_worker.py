"""An asyncio worker: four runs at a time, leases kept meanwhile, a SIGTERM that parks them.

    python examples/asyncio_worker.py           # the first worker gets a SIGTERM, a second goes on
    python examples/asyncio_worker.py --kill    # a SIGKILL instead: its leases have to end first

What it shows:

- `store.wait_async` sleeps until there is a run to claim, while the other tasks go on.
- Operations of the store block for a moment, so they are called in threads. A thread can't be
  cancelled: where its task is, the call is waited for all the same. A run that was claimed
  meanwhile, and that nobody knows of, would be stranded until its lease ends.
- `async with store.keep(...)` renews in the background and interrupts the work when the lease is
  lost, so that only one worker goes on with a run.
- SIGTERM cancels the tasks, and each gives its run back on the way out. Who takes it over goes on
  after the last step that was recorded.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from typing import ParamSpec, TypeVar

import fencepost
from fencepost.errors import LeaseLostError

JOBS = 12
STEPS = 10
AT_ONCE = 4
LEASE_MS = 3_000
JOB = "job"

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


async def in_thread(
    function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """`asyncio.to_thread`, but a cancellation comes after the call instead of leaving it alone."""
    call = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        await asyncio.wait([call])
        raise


async def claimed(store: fencepost.Store, name: str) -> fencepost.Run:
    """The next run, as soon as there is one."""
    while True:
        call = asyncio.to_thread(store.runs.claim_next, runner_id=name, lease_ms=LEASE_MS)
        claiming = asyncio.ensure_future(call)
        try:
            run = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            if run := await claiming:
                await asyncio.to_thread(store.runs.park, **run.claim)
            raise
        if run is not None:
            return run
        await store.wait_async(runs=True)


async def work(store: fencepost.Store, run: fencepost.Run) -> None:
    """The steps of a run that are not recorded yet, then its end."""
    async with store.keep(claim=run, lease_ms=LEASE_MS) as lease:
        await in_thread(tell, store, run, "begun")
        for step in range(await in_thread(done, store, run.run_id), STEPS):
            await asyncio.sleep(0.02)  # stands for a request, a query, ...
            lease.check()
            await in_thread(record, store, run, step)
    if await in_thread(store.runs.complete, **run.claim):
        await in_thread(tell, store, run, "over")


def done(store: fencepost.Store, run_id: str) -> int:
    """How many steps of a run are recorded, by whichever worker."""
    recorded = store.events.iterate(controller=JOB, key=run_id)
    return len({event.payload["step"] for event in recorded})


def record(store: fencepost.Store, run: fencepost.Run, step: int) -> None:
    what = {"step": step, "worker": run.runner_id}
    store.events.record(controller=JOB, key=run.run_id, type="step", payload=what)


def tell(store: fencepost.Store, run: fencepost.Run, what: str) -> None:
    print(f"{run.runner_id:>7} {run.run_id:>7} {what}", flush=True)
    name = run.workflow_name
    store.feed.record(run_id=run.run_id, workflow_ref=name, type=what, runner_id=run.runner_id)


async def slot(store: fencepost.Store, name: str) -> None:
    """One run after another. Whatever ends the work on one early, another worker can have it."""
    while True:
        run = await claimed(store, name)
        try:
            await work(store, run)
        except LeaseLostError as lost:
            print(f"{name}: {lost}", flush=True)
        except asyncio.CancelledError:
            if await asyncio.to_thread(store.runs.park, **run.claim):
                tell(store, run, "parked")
            raise


async def serve(path: str, name: str) -> None:
    """Work until SIGTERM."""
    with fencepost.open(path) as store:
        async with asyncio.TaskGroup() as slots:
            tasks = [slots.create_task(slot(store, name)) for _ in range(AT_ONCE)]

            def stop() -> None:
                for task in tasks:
                    task.cancel()

            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)


def worker(path: str, name: str) -> None:
    asyncio.run(serve(path, name))


def submit(store: fencepost.Store) -> None:
    for number in range(JOBS):
        run = store.runs.enqueue(
            run_id=f"job-{number}",
            workflow_name="count",
            workflow_source_ref=__file__,
            runner_id="submitter",
            lease_ms=LEASE_MS,
        )
        store.runs.park(**run.claim)


def until(holds: Callable[[], bool], store: fencepost.Store, process: SpawnProcess) -> None:
    """Wait until something holds; the feed says when to look again."""
    seq = 0
    while not holds():
        if not store.wait(feed_after=seq, timeout_ms=500) and not process.is_alive():
            sys.exit("the worker has ended")
        seq = store.feed.latest_seq()


def begun(store: fencepost.Store) -> int:
    return sum(event.type == "begun" for event in store.feed.iterate())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kill", action="store_true", help="kill the first worker")
    parser.add_argument("--store", help="default: one that is deleted afterwards")
    options = parser.parse_args()

    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = options.store or os.path.join(folder, "jobs.sqlite")
        first, second = (spawn.Process(target=worker, args=(path, n)) for n in ("first", "second"))
        with fencepost.open(path) as store:
            submit(store)
            try:
                first.start()
                until(lambda: begun(store) >= AT_ONCE + 2, store, first)
                first.kill() if options.kill else first.terminate()
                first.join()
                left = store.stats().runs
                print(f"first ended with {first.exitcode}: {left}")
                second.start()
                # Not by what the feed tells: who was killed may have completed a run untold.
                until(lambda: store.stats().runs["done"] == JOBS, store, second)
                second.terminate()
                second.join()
            finally:
                for process in (first, second):
                    if process.is_alive():
                        process.kill()
            steps = Counter(
                (event.key, event.payload["step"]) for event in store.events.iterate(controller=JOB)
            )
            print(f"second ended with {second.exitcode}: {store.stats().runs}")
    print(f"steps: {len(steps)}, recorded more than once: {sum(n > 1 for n in steps.values())}")
    if len(steps) != JOBS * STEPS or second.exitcode != 0:
        sys.exit("not all was done")
    if not options.kill and (first.exitcode != 0 or left["claimed"] > 0):
        sys.exit("the first worker has kept something")


if __name__ == "__main__":
    main()
