"""persist-queue's SQLiteAckQueue: safe among threads; what was not acked comes back on opening."""

from __future__ import annotations

from importlib import metadata

from persistqueue import Empty, SQLiteAckQueue
from persistqueue.sqlackqueue import AckStatus

from ..adapter import Adapter, Claim, Item, Place, State
from ..capabilities import Capabilities

_STATES: dict[str, State] = {
    AckStatus.inited: "waiting",
    AckStatus.ready: "waiting",
    AckStatus.unack: "claimed",
    AckStatus.acked: "done",
    AckStatus.ack_failed: "failed",
}
_BY_ID = "ack and nack take an item or its id, not a claim"
_THREADS = "README: 'Thread-safe: Supports multi-threaded producers and consumers'"
_NO_PROCESSES = (
    "peter-wangxu/persist-queue, issue 132: 'multiprocessing is not supported and verified'"
)


class PersistAckQueue(Adapter):
    """Threads of one process share one object, as its README shows."""

    capabilities = Capabilities(
        name="persist-queue SQLiteAckQueue",
        version=metadata.version("persist-queue"),
        operations=("complete", "release", "wait"),
        lease="session",
        workers="threads",
        promises={
            "F1": _THREADS,
            "S1": "README: 'Recoverable: Items can be read after process restart'",
            "Q1": f"{_THREADS}; SQLiteAckQueue.get: 'block until the timeout reached'",
        },
        excused={"F2": _BY_ID, "C1": "there are no parents"},
    )

    def __init__(self, place: Place) -> None:
        self._queue = SQLiteAckQueue(str(place.directory / "ack"), multithreading=True)

    def enqueue(self, run: str, parent: str | None) -> None:
        self._queue.put(run)

    def claim(self, wait_ms: int) -> Claim | None:
        try:
            if wait_ms:
                got = self._queue.get(timeout=wait_ms / 1000, raw=True)
            else:
                got = self._queue.get(block=False, raw=True)
        except Empty:
            return None
        return Claim(got["data"], got["pqid"])

    def complete(self, claim: Claim) -> None:
        self._queue.ack(id=claim.handle)

    def release(self, claim: Claim) -> None:
        self._queue.nack(id=claim.handle)

    def dump(self) -> list[Item]:
        return [Item(row["data"], _STATES[str(row["status"])]) for row in self._queue.queue()]

    def close(self) -> None:
        self._queue.close()


class PersistAckQueueInProcesses(PersistAckQueue):
    """What its authors do not support, to see what that means."""

    capabilities = Capabilities(
        name="persist-queue SQLiteAckQueue, in processes",
        version=PersistAckQueue.capabilities.version,
        operations=("complete", "release"),
        lease="session",
        excused={
            "F1": _NO_PROCESSES,
            "F2": _BY_ID,
            "C1": "there are no parents",
            "S1": _NO_PROCESSES,
            "Q1": _NO_PROCESSES,
        },
    )
