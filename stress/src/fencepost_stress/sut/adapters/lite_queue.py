"""litequeue 0.9: a popped message is locked until somebody says done, failed, or retry."""

from __future__ import annotations

import litequeue
from litequeue import LiteQueue, MessageStatus

from ..adapter import Adapter, Claim, Item, Place, State
from ..capabilities import Capabilities

_STATES: dict[int, State] = {
    MessageStatus.READY: "waiting",
    MessageStatus.LOCKED: "claimed",
    MessageStatus.DONE: "done",
    MessageStatus.FAILED: "failed",
}
_ACROSS = "litements/litequeue, issue 5: 'this can be used across processes'"
_BY_ID = "done, mark_failed and retry take a message's id, not a claim's"
_EXCUSED = {"F2": _BY_ID, "C1": "there are no parents"}


class Litequeue(Adapter):
    """Without recovery: what a killed worker had popped stays locked."""

    capabilities = Capabilities(
        name="litequeue",
        version=litequeue.__version__,
        operations=("complete", "release"),
        lease="kept",
        promises={
            "F1": f"{_ACROSS}; _pop_transaction: 'lock the message to avoid another process "
            "from getting it too'",
            "S1": "README: 'a persistent queue'",
            "Q1": "peek: 'Show next message to be popped, if any.'",
        },
        excused=_EXCUSED,
    )

    def __init__(self, place: Place) -> None:
        self._queue = LiteQueue(place.directory / "litequeue.db")
        self._lease_seconds = place.lease_ms / 1000

    def enqueue(self, run: str, parent: str | None) -> None:
        self._queue.put(run)

    def claim(self, wait_ms: int) -> Claim | None:
        message = self._queue.pop()
        return None if message is None else Claim(message.data, message.message_id)

    def complete(self, claim: Claim) -> None:
        self._queue.done(claim.handle)

    def release(self, claim: Claim) -> None:
        self._queue.retry(claim.handle)

    def dump(self) -> list[Item]:
        # There is no method for all messages; the README says 'easy to extend using SQL'.
        rows = self._queue.conn.execute(f"SELECT data, status FROM {self._queue.table}")  # noqa: S608
        return [Item(row["data"], _STATES[row["status"]]) for row in rows]

    def close(self) -> None:
        self._queue.close()


class LitequeueWithRetry(Litequeue):
    """Every worker frees what has been locked for too long, with list_locked and retry."""

    capabilities = Capabilities(
        name="litequeue, list_locked and retry before each pop",
        version=litequeue.__version__,
        operations=("complete", "release"),
        lease="expires",
        promises={"Q1": Litequeue.capabilities.promises["Q1"]},
        excused={
            **_EXCUSED,
            "F1": "retry: 'Mark a locked message as free again.' It does not say what it does "
            "to a message that is not locked any more",
            "S1": "as F1",
        },
        # Its lock_time is the wall clock's, taken before the write lock is had.
        clock_error_ms=50,
    )

    def claim(self, wait_ms: int) -> Claim | None:
        # The annotation says int; the value is only multiplied.
        for message in list(self._queue.list_locked(self._lease_seconds)):
            self._queue.retry(message.message_id)
        return super().claim(wait_ms)
