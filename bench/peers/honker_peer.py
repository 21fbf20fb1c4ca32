"""honker."""

from __future__ import annotations

from typing import Any

from . import Peer, Unavailable, library

NAME = "honker"
GUARANTEES = (
    "leases (visibility timeout) and retries; an acknowledgement names the worker, so a worker "
    "that restarts under its name inherits its old claim"
)


def open(path: str, settings: str) -> Peer:
    """Its default is WAL with synchronous=NORMAL, set inside."""
    if settings == "equal":
        raise Unavailable("its interface has no way to set synchronous=FULL on its writer")
    database = library("honker").open(path)
    queue = database.queue("bench")

    def take() -> tuple[str, Any] | None:
        job = queue.claim_one("worker")
        return None if job is None else (job.payload, job)

    def done(job: Any) -> None:
        job.ack()

    return Peer(queue.enqueue, take, done, (RuntimeError,), database.close)
