"""What listeners are told; `docs/observing.md` says which kind of event has which fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from ..holders import Holder
from ..records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEvent(Record):
    """Something that a call of this process did to a store, or learned about it.

    Never has a claim token, an input, a spec, a status or a payload. Which fields an event
    has depends on its kind; the others are None.

    Attributes:
        kind: what happened: `"claim"`, `"renew"`, `"lost"`, ..., or `"call"`: a call ended.
        facet: the attribute of the store, `"runs"`; `"store"` for the store's own methods.
        operation: what was called: `"claim"` for `claim_next` and `claim_many`.
        path, engine: the store's `path` and `engine_name`.
        key: the run id, the resource's key, the effect's key, the request's id, or the
            consumer's session id.
        controller: with a resource's key.
        workflow_name: of the run.
        runner_id: who has the run's claim; of a lost one, who has it now.
        fence: the claim's fence number.
        lease_ms: the length of the lease, in milliseconds.
        state: the effect's or request's new state, or the event's type.
        created: whether a reservation was new.
        failed: whether a requeue reports an error.
        seq: the sequence number of an event, or a watermark.
        count: how many rows or pages.
        seconds: how long it took.
        error: the code of the error that the call raised, or its class for a foreign one.
        holders: the processes that held the write lock when the call gave up on it.
    """

    _absent_when_none: ClassVar[frozenset[str]] = frozenset(
        "key controller workflow_name runner_id fence lease_ms state created failed seq count "
        "seconds error holders".split()
    )

    kind: str
    facet: str
    operation: str
    path: str
    engine: str
    key: str | None = None
    controller: str | None = None
    workflow_name: str | None = None
    runner_id: str | None = None
    fence: int | None = None
    lease_ms: int | None = None
    state: str | None = None
    created: bool | None = None
    failed: bool | None = None
    seq: int | None = None
    count: int | None = None
    seconds: float | None = None
    error: str | None = None
    holders: tuple[Holder, ...] | None = None


class Listener(Protocol):
    """Anything that can be called with an event.

    It is called after the commit, in the thread that made the call and before the call
    returns, so it should be quick. What it raises is logged and changes nothing. It may
    use the store; what it does there is told to nobody.
    """

    def __call__(self, event: StoreEvent, /) -> object:
        """Take one event; what it returns is ignored."""
