"""What one client of a queue under test does, drawn from its own random numbers."""

from __future__ import annotations

import random
import time
from collections import deque

from ..heats import Heats
from ..live import Board
from ..plan import Plan
from .capabilities import WAIT
from .recorder import Held, Recorder

_REMEMBERED = 12
_WAIT_MS = 200
_RACED = 4
"""For so many parents a heat races: those who start apart meet at the second one."""

_LONG_WAIT_MS = 2500
_SILENT_SECONDS = 1.8
_GLANCE_SECONDS = 0.002
_BACKLOG = 3
"""So many items an actor keeps in the queue on its own account: few, so that all want the same."""


class Actor:
    """Enqueues, claims, and works on what it claims, well or badly."""

    def __init__(
        self,
        recorder: Recorder,
        plan: Plan,
        name: str,
        start: int,
        lease_ms: int,
        board: Board,
        makes: bool,
    ) -> None:
        """`makes` is whether it is the one who makes the items that others wait for."""
        self._board = board
        self._makes = makes
        self._recorder = recorder
        self._plan = plan
        self._name = name
        self._start = start
        self._lease_ms = lease_ms
        self._random = random.Random(f"{plan.seed}/{name}")
        self._serial = 0
        self._owed = _BACKLOG
        self._old: deque[Held] = deque(maxlen=_REMEMBERED)
        self._heats = Heats(plan.race_ms)
        self._uses = tuple(
            name
            for name in ("renew", "verify", "complete", "release", "delete")
            if name in recorder.operations
        )

    def step(self) -> None:
        """One thing that a client does."""
        if self._plan.workload == WAIT:
            self._hand_over()
            return
        if self._race():
            return
        if self._old and self._random.random() < 0.06:
            self._use_old()
        elif self._owed > 0 and self._random.random() < 0.5:
            self._owed -= 1
            self._recorder.enqueue(self._unique("run"))
        else:
            self._claim()

    def think(self) -> None:
        time.sleep(self._random.uniform(0, self._plan.think_ms) / 1000)

    def _unique(self, kind: str) -> str:
        self._serial += 1
        return f"{kind}-{self._name}-{self._serial}"

    def _race(self) -> bool:
        """At set moments everybody adds children to the same parents, or the same item."""
        if not self._recorder.operations & {"parents", "unique"}:
            return False
        heat = self._heats.due(self._elapsed_ns)
        if heat is None:
            return False
        if "parents" in self._recorder.operations and (heat % 2 or not self._unique_ids):
            for parent in range(_RACED):
                self._recorder.enqueue(self._unique("child"), f"parent-{heat}-{parent}")
        else:
            self._recorder.enqueue(f"same-{heat}")
        return True

    @property
    def _elapsed_ns(self) -> int:
        return time.monotonic_ns() - self._start

    @property
    def _unique_ids(self) -> bool:
        return "unique" in self._recorder.operations

    def _hand_over(self) -> None:
        """The first client makes one item at a time, and keeps silent until it is taken, for a
        while at least; the others wait. Any further item would wake who missed the first."""
        if not self._makes:
            held = self._recorder.claim(_LONG_WAIT_MS)
            if held is not None and "complete" in self._uses:
                self._recorder.use("complete", held)
            return
        before = self._board.total().claims
        self._recorder.enqueue(self._unique("run"))
        until = time.monotonic() + _SILENT_SECONDS
        while self._board.total().claims == before and time.monotonic() < until:
            time.sleep(self._random.uniform(0, _GLANCE_SECONDS))

    def _claim(self) -> None:
        waits = "wait" in self._recorder.operations and self._random.random() < 0.3
        most = min(_WAIT_MS, self._heats.ahead_ms(self._elapsed_ns))
        held = self._recorder.claim(most if waits else 0)
        if held is None:
            self._owed = max(self._owed, 1)
            return
        self._owed = min(self._owed + 1, _BACKLOG)
        if not self._uses:
            return
        for name in ("renew", "verify"):
            if name in self._uses and self._random.random() < 0.3:
                self.think()
                self._recorder.use(name, held)
        self._end(held)
        self._old.append(held)

    def _end(self, held: Held) -> None:
        """Hold a claim for a while, and let go of it in one of the ways there are."""
        fate = self._random.random()
        if fate < 0.04 and self._comes_back:
            return
        if fate < 0.14 and self._comes_back:
            self._outlive(held)
            return
        if fate < 0.4:
            time.sleep(self._random.choice((0.001, 0.004, 0.012)))
        roll = self._random.random()
        if "delete" in self._uses and roll < 0.05:
            self._recorder.use("delete", held)
        elif "release" in self._uses and roll < 0.25:
            self._recorder.use("release", held)
        else:
            self._recorder.use("complete", held)

    def _outlive(self, held: Held) -> None:
        """Work longer than the lease, by little or more, then go on as if nothing had been."""
        late = self._random.choice((0.5, 1, 2, 4, 8, 40, 80))
        self._rest((self._lease_ms + late) / 1000)
        kept = [name for name in ("renew", "verify") if name in self._uses]
        if kept and self._random.random() < 0.5:
            self._recorder.use(self._random.choice(kept), held)
        if self._random.random() < 0.5:
            self._recorder.use(self._random.choice(self._uses), held)
        self._recorder.use("complete", held)

    def _rest(self, seconds: float) -> None:
        """Sleep, but miss no heat: most clients are asleep at most times."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, (self._heats.ahead_ms(self._elapsed_ns) + 1) / 1000))
            self._race()

    @property
    def _comes_back(self) -> bool:
        """Whether what nobody ends ends by itself: then it may be forgotten."""
        return self._lease_ms > 0

    def _use_old(self) -> None:
        """A claim that was let go of, or may have been lost meanwhile. Where the queue has
        no tokens, its users must not do that: only the ones who were late do, in `_end`."""
        if {"verify", "renew"} & set(self._uses):
            self._recorder.use(self._random.choice(self._uses), self._random.choice(self._old))
        else:
            self._claim()

    def drain(self, deadline: int) -> None:
        """Finish what there is, until there has been nothing for longer than a lease."""
        quiet = (self._lease_ms + 300) * 1_000_000
        last = time.monotonic_ns()
        while (now := time.monotonic_ns()) - last < quiet and now < deadline:
            held = self._recorder.claim()
            if held is None:
                time.sleep(self._random.uniform(0.02, 0.05))
                continue
            last = time.monotonic_ns()
            if "complete" in self._uses:
                self._recorder.use("complete", held)
