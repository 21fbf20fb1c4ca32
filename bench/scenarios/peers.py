"""Other queues in the same run: put a job, take one, finish it, from several processes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .. import peers
from ..harness import Figures, Outcome, Plan, Worker, interleaved, scratch, together
from ..peers import PYTHON_PEERS, Unavailable, node
from .contention import summed

TITLE = "Peers: put, take and finish a job, processes without think time"
BACKLOG = 1000


def run(plan: Plan) -> Outcome:
    """Each peer at its default and at settings equal to ours."""
    outcome = Outcome()
    skipped: dict[str, str] = {}
    for settings in plan.pick(("default",), ("default", "equal")):
        present = _present(plan, settings, skipped)
        for processes in plan.pick((2,), (1, 2, 8)):
            variants: dict[str, Callable[[], Figures]] = {
                name: partial(_contend, name, settings, processes, plan) for name in present
            }
            for name, figures in interleaved(variants, plan.rounds).items():
                outcome.rows.append(
                    {
                        "queue": present[name],
                        "settings": settings,
                        "processes": processes,
                        **figures,
                    }
                )
    outcome.notes += [f"Skipped {name}: {reason}." for name, reason in skipped.items()]
    outcome.notes += [
        f"{adapter.NAME} guarantees: {adapter.GUARANTEES}."
        for adapter in (*map(peers.adapter, PYTHON_PEERS), node)
    ]
    return outcome


def _present(plan: Plan, settings: str, skipped: dict[str, str]) -> dict[str, str]:
    """The peers that can be opened, with their names; the others go to `skipped`."""
    present = {}
    for name in PYTHON_PEERS:
        adapter = peers.adapter(name)
        with scratch() as folder:
            probe = Worker(__name__, {"name": name, "path": str(folder / "q"), "probe": settings})
            reason = together([probe], 0, warm_up=0)[0]["reason"]
        if reason is None:
            present[name] = adapter.NAME
        else:
            skipped[f"{adapter.NAME} ({settings})"] = reason
    try:
        node.installed(plan.tools, install=not plan.quick)
    except Unavailable as error:
        skipped[f"{node.NAME} ({settings})"] = str(error)
    else:
        present["plainjob"] = node.NAME
    return present


def _contend(name: str, settings: str, processes: int, plan: Plan) -> dict[str, float]:
    seconds = min(plan.seconds, 3.0)
    with scratch() as folder:
        path = str(folder / "queue.sqlite")
        fill = plan.pick(50, BACKLOG)
        # The first makes the file and its backlog before the others come.
        workers = [_worker(name, {"path": path, "settings": settings, "fill": fill}, plan.tools)]
        workers[0].await_ready()
        job = {"path": path, "settings": settings, "fill": 0}
        workers += [_worker(name, job, plan.tools) for _ in range(processes - 1)]
        try:
            for worker in workers[1:]:
                worker.await_ready()
            begin = time.monotonic() + 0.3
            for worker in workers:
                worker.go(begin, begin + seconds)
            results = [worker.result() for worker in workers]
        finally:
            for worker in workers:
                worker.end()
    figures = summed(results, seconds)
    del figures["CPU us/cycle"]
    taken = Counter(item for result in results for item in result["taken"])
    figures["taken twice"] = sum(count - 1 for count in taken.values())
    return figures


def _worker(name: str, job: dict[str, Any], tools: Path) -> Worker:
    if name == "plainjob":
        return Worker.command(node.command(node.installed(tools, install=False), job))
    return Worker(__name__, {**job, "name": name})


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Put, take and finish until the end of the window; or only see whether it opens."""
    from ..worker import start

    adapter = peers.adapter(job["name"])
    if "probe" in job:
        start()
        try:
            adapter.open(job["path"], job["probe"]).close()
        except Unavailable as error:
            return {"reason": str(error)}
        return {"reason": None}
    peer = adapter.open(job["path"], job["settings"])
    for at in range(job["fill"]):
        peer.put(f"fill-{at}")
    window = start()
    calls: list[float] = []
    taken: list[str] = []
    count = busy = serial = 0

    def step(call: Callable[..., Any], *arguments: Any) -> Any:
        since = time.monotonic()
        result = call(*arguments)
        if time.monotonic() >= window.begin:
            calls.append(time.monotonic() - since)
        return result

    while window.is_open():
        serial += 1
        try:
            step(peer.put, f"{id(window)}-{job['path']}-{time.monotonic_ns()}-{serial}")
            found = step(peer.take)
            if found is not None:
                taken.append(found[0])
                step(peer.done, found[1])
        except peer.busy:
            busy += 1
            continue
        count += window.has(time.monotonic())
    return {"count": count, "busy": busy, "calls": calls, "taken": taken, "cpu": 0.0}
