"""The claims of somebody's queue, from what its clients were told: there is no witness."""

from __future__ import annotations

from ..operations import Op
from ..rows import RUNS
from ..sut.setup import Setup
from .claims import MOST, Claim, Claims, lane_of
from .origin import Origin

_ENDS = {"complete": "done", "delete": "done", "release": "let go"}


class OutsideClaims(Claims):
    """Fed with every call, in the order of invocation.

    A claim is drawn from its acknowledgement. Where leases do not end by themselves, it lasts
    until somebody ends it; where taking an item is all there is, it lasts no time.
    """

    def __init__(
        self, origin: Origin, setup: Setup, keep: frozenset[str], most: int = MOST
    ) -> None:
        super().__init__(origin, keep, most)
        self._lease_ms = setup.comes_back_ms
        self._taken = setup.capabilities.lease == "taken"
        self._last = 0.0

    def call(self, op: Op) -> None:
        if op.status != "ok":
            return
        returned = self._origin.ms(op.returned)
        self._last = max(self._last, returned)
        if op.name == "claim" and isinstance(op.result, dict):
            self._claimed(op, returned)
            return
        lane = lane_of(RUNS, (op.args.get("run_id"),))
        held = self._open.get(lane)
        if held is None or held.token != op.args.get("claim") or op.result is False:
            return
        if op.name == "renew":
            held.lease, held.renewals = returned + self._lease_ms, held.renewals + 1
        elif op.name in _ENDS:
            self._over(lane, held, self._origin.ms(op.invoked), _ENDS[op.name])

    def _claimed(self, op: Op, at: float) -> None:
        lane = lane_of(RUNS, (op.result["run_id"],))
        before = self._open.get(lane)
        if before is not None:
            early = self._lease_ms and before.lease > at
            self._over(lane, before, at, "taken early" if early else "taken over")
        claim = Claim(op.process, f"{op.process}/{op.n}", at, at + self._lease_ms)
        self._begin(lane, claim)
        if self._taken:
            self._over(lane, claim, at, "done")

    def _over(self, lane: str, claim: Claim, at: float, fate: str) -> None:
        del self._open[lane]
        claim.end, claim.fate = max(at, claim.start), fate
        if not self._lease_ms:
            claim.lease = claim.end

    def drawn(self) -> dict[str, list[Claim]]:
        if not self._lease_ms:
            for claim in self._open.values():
                claim.lease = max(self._last, claim.start)
        return super().drawn()
