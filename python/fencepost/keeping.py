"""Keeping a lease: a background thread renews it while its owner works.

Whether a lease is lost is decided without asking the store, from the clock that the
store's leases are compared with: a process that was paused past its lease finds it lost
in the first moment that it runs again, before its next renewal.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeAlias

from .clock import ms_from_time
from .engine.protocol import Clock
from .errors import (
    FencepostError,
    ForkedStoreError,
    InvalidArgumentError,
    LeaseLostError,
    ReadOnlyStoreError,
    StoreClosedError,
)
from .records import QueueClaim, Run

Claim: TypeAlias = Run | QueueClaim

_HOPELESS = (StoreClosedError, ForkedStoreError, ReadOnlyStoreError)
"""After these no renewal will succeed; after any other the lease is renewed until its end."""
_LEAST_PAUSE_MS = 10
_MOST_PAUSE_MS = 3_600_000


class Lease:
    """A claim whose lease is renewed as long as the `with` block lasts. Made by `Store.keep`.

    In an `async with` block the loss cancels what the block awaits, and the block then raises
    LeaseLostError, as `asyncio.timeout` does with TimeoutError. A thread renews there too: the
    event loop's own threads may all be at work, and the lease must not wait for them.

    Attributes:
        claim: the run or the claim of a queue key, as it was claimed.
        error: why the store could not renew it the last time, where it raised; else None.
    """

    def __init__(
        self,
        claim: Claim,
        renew: Callable[[], bool],
        clock: Clock,
        ends_ms: int,
        *,
        lease_ms: int,
        every_ms: int,
    ) -> None:
        self.claim = claim
        self.error: FencepostError | None = None
        self._renew = renew
        self._clock = clock
        self._ends_ms = ends_ms
        self._lease_ms = lease_ms
        self._every_ms = every_ms
        self._over = False
        self._stop = threading.Event()
        self._interrupter: _Interrupter | None = None
        self._thread = threading.Thread(
            target=self._keep, name=f"fencepost keeps {name_of(claim)}", daemon=True
        )

    @property
    def fence(self) -> int | None:
        """The claim's fence number, for whatever this owner writes to outside of the store."""
        return self.claim.fence

    @property
    def lost(self) -> bool:
        """Whether the lease is over, so that another worker may own the work. Once true, it stays.

        False is no promise for the next moment: where that matters, let the outside system
        check the fence.
        """
        if not self._over and self._clock() >= self._ends_ms:
            self._over = True
        return self._over

    @property
    def left_ms(self) -> int:
        """The milliseconds left of the lease as it was last renewed; 0 where it is lost."""
        return 0 if self.lost else max(self._ends_ms - self._clock(), 0)

    def check(self) -> None:
        """Raise LeaseLostError where the lease is lost. Costs no call of the store."""
        if self.lost:
            raise self._loss() from self.error

    def _loss(self) -> LeaseLostError:
        name = name_of(self.claim)
        return LeaseLostError(
            f"the lease on {name} is lost; stop, and leave the rest to whoever claims it", key=name
        )

    def renew(self) -> bool:
        """Renew now, in this thread; False where the lease is lost.

        Right before a step that takes no interruption it gives the whole lease for it.
        Raises StoreBusyError, and what else the store's renewal raises.
        """
        if self.lost:
            return False
        # The store counts from a later moment, after it got the lock.
        ends_ms = self._clock() + self._lease_ms
        if self._renew():
            # Also an earlier end than before: of a shorter lease, by a clock that was set back.
            self._ends_ms = ends_ms
            self.error = None
        else:
            self._over = True
        return not self.lost

    def _keep(self) -> None:
        try:
            self._renew_again_and_again()
        finally:
            if self._interrupter is not None:
                self._interrupter.end(lost=self._over)

    def _renew_again_and_again(self) -> None:
        while not self._stop.wait(self._pause_ms() / 1000):
            try:
                if not self.renew():
                    return
            except FencepostError as error:
                self.error = error
                if isinstance(error, _HOPELESS):
                    self._over = True
                    return

    def _pause_ms(self) -> float:
        """Until the next renewal; after a failed one it comes sooner, as the end comes nearer."""
        return max(min(self._every_ms, self.left_ms / 2, _MOST_PAUSE_MS), _LEAST_PAUSE_MS)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    async def __aenter__(self) -> Self:
        interrupter = _Interrupter(self)
        if self._thread.ident is None:
            # Before the start: a thread that fails at once has to tell it, too.
            self._interrupter = interrupter
        # Refuses a second time: a watch that has no end of its block would cancel what comes after.
        self._thread.start()
        interrupter.watch()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._interrupter is None:
            return
        if self._interrupter.is_cause_of(kind):
            raise self._loss() from self.error
        # A renewal that came after the claim's end would be told as a loss.
        if not self.lost:
            await self._interrupter.over.wait()


class _Interrupter:
    """Cancels the task that entered an `async with` block when the lease of the block is lost."""

    def __init__(self, lease: Lease) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a lease is kept by `async with` inside a task only")
        self._lease = lease
        self._owner = task
        self._cancellations = task.cancelling()
        self._fired = False
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self.over = asyncio.Event()

    def watch(self) -> None:
        """Begin; from now on the block may be interrupted."""
        self._watch = self._loop.create_task(self._fire_when_lost())

    def end(self, *, lost: bool) -> None:
        """Say, from any thread, that no more renewals come; and whether the lease is lost."""
        with suppress(RuntimeError):  # the loop may be closed already
            if lost:
                self._loop.call_soon_threadsafe(self._woken.set)
            self._loop.call_soon_threadsafe(self.over.set)

    def is_cause_of(self, kind: type[BaseException] | None) -> bool:
        """Whether the block, which `kind` ended, ended because of this interruption alone."""
        self._watch.cancel()
        if not self._fired:
            return False
        alone = self._owner.uncancel() <= self._cancellations
        return alone and kind is not None and issubclass(kind, asyncio.CancelledError)

    async def _fire_when_lost(self) -> None:
        while not self._lease.lost:
            with suppress(TimeoutError):
                # Before 3.12 `wait_for` loses a cancellation that comes with a wake-up.
                async with asyncio.timeout(self._lease.left_ms / 1000):
                    await self._woken.wait()
        self._fired = True
        self._owner.cancel()


def name_of(claim: Claim) -> str:
    """What a claim is of, for messages."""
    return claim.run_id if isinstance(claim, Run) else f"{claim.controller}/{claim.key}"


def end_of(claim: Claim) -> int:
    """When the lease of a claim ends. Raises InvalidArgumentError for a run without one."""
    if not isinstance(claim, Run | QueueClaim):
        raise InvalidArgumentError(
            f"claim: expected a Run or a QueueClaim, not {type(claim).__name__}"
        )
    expires_at = claim.claim_expires_at if isinstance(claim, Run) else claim.expires_at
    if expires_at is None:
        raise InvalidArgumentError(f"claim: {name_of(claim)} is not claimed; claim it first")
    return ms_from_time(expires_at, "claim")
