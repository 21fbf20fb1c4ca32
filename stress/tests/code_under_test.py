"""Code that somebody might have: the functions that the tests of the library run."""

from __future__ import annotations

from fencepost_stress.library import Worker

LEASE_MS = 400


def work(worker: Worker) -> None:
    """Make an invoice now and then, otherwise send one that waits; park some on the way."""
    store = worker.store
    if not worker.healing and worker.random.random() < 0.5:
        run = store.runs.enqueue(
            run_id=worker.unique("invoice"),
            workflow_name="invoice",
            workflow_source_ref="invoice.py",
            input={"customer": 17},
            runner_id=worker.name,
            lease_ms=LEASE_MS,
        )
    else:
        run = store.runs.claim_next(runner_id=worker.name, lease_ms=LEASE_MS)
    if run is None:
        return
    claim = {"run_id": run.run_id, "claim_token": run.claim_token}
    if worker.random.random() < 0.3:
        store.runs.renew(**claim, lease_ms=LEASE_MS)
        store.runs.renew(**claim, lease_ms=LEASE_MS)
    worker.check(run.input == {"customer": 17}, f"{run.run_id} has another input")
    if worker.random.random() < 0.2 and not worker.healing:
        store.runs.park(**claim)
    else:
        store.runs.complete(**claim)


def reconcile(worker: Worker) -> None:
    """Specifications change, and a reconciler follows."""
    store = worker.store
    if not worker.healing and worker.random.random() < 0.5:
        key = f"site-{worker.random.randrange(4)}"
        store.resources.put(controller="web", key=key, spec={"size": 3}, initial_status={})
        store.feed.record(run_id=key, workflow_ref="web", type="changed", payload={"key": key})
    claim = store.queue.claim_next(controllers=["web"], lease_ms=LEASE_MS)
    if claim is None:
        return
    found = store.resources.get(controller="web", key=claim.key)
    worker.check(found is not None and found.spec["size"] == 3, f"{claim.key} is not there")
    store.queue.settle(claim=claim)


def objects(worker: Worker) -> None:
    work(worker)
    worker.check(worker.random.random() > 0.05, "this does not hold")


def dies(worker: Worker) -> None:
    work(worker)
    if worker.random.random() < 0.05:
        raise KeyError("a defect")


def leaves_work(worker: Worker) -> None:
    """Park everything, and never come back for it."""
    if worker.healing:
        return
    runs = worker.store.runs
    name = worker.unique("left")
    run = runs.enqueue(
        run_id=name,
        workflow_name="w",
        workflow_source_ref="w.py",
        runner_id=worker.name,
        lease_ms=LEASE_MS,
    )
    runs.park(run_id=name, claim_token=run.claim_token)
