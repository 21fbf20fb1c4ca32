"""Violations while the run is on, for the progress display: a few rules that need no witness.

The verdict comes from the checkers afterwards. These rules only look at what workers wrote
into their histories, and object only to what no correct store can answer:

- a claim of a run, made at a time at which another acknowledged claim of it was live,
  unless a call that lets go of that one, or makes it anew, had begun;
- a renewal or verification that succeeded after the lease's end, by the worker's own clock;
- a call that succeeded with a token although a later claim of the row had been acknowledged
  before the call began. Fence numbers tell which one is later; an answer that leaves the
  number out is before what began after it, and nothing more is known of it.

All files are read to their ends at each look, and an answer is judged one look later: whatever
had begun before it took effect is in the files by then, because a call is written down first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from .history import Clock, Info, Invoke, Ok, Record

_KEPT = 50_000
"""So many claims are kept in mind, the latest ones."""
_KEEPS = frozenset({"claim_next", "enqueue", "renew", "renew_many", "verify", "get"})
"""Calls that let go of nothing; any other one that carries a token may."""
_RECLAIMS = frozenset({"claim_legacy_source", "repair_source"})
"""Calls that claim a run anew with the very token that holds it."""
_USES = frozenset({"renew", "verify", "park", "complete", "delete", "settle", "requeue"})
_decoder = msgspec.json.Decoder(Record)


@dataclass(slots=True)
class _Held:
    """An acknowledged claim. `fence` is None where the answer leaves it out.

    `ends` are the ends of its lease, by the wall time that its calls read, each with the
    moment at which the call that brought it was invoked; `released` is when the first call
    that may let go of it was.
    """

    lane: str
    token: str
    fence: int | None
    returned: int
    now: int
    ends: list[tuple[int, int]]
    released: int | None = None

    @property
    def began(self) -> int:
        """When it was asked for."""
        return self.ends[0][0]

    @property
    def until(self) -> int:
        """The lease's end."""
        return self.ends[-1][1]

    def until_at(self, mono: int) -> int:
        """The lease's end as far as it had been asked for at a moment."""
        return next((end for invoked, end in reversed(self.ends) if invoked <= mono), self.now)

    def was_before(self, other: _Held) -> bool:
        """Whether the other claim of the same row is the later one, for certain."""
        if self.fence is None or other.fence is None:
            return self.returned < other.began
        return self.fence < other.fence


@dataclass(slots=True)
class _File:
    path: Path
    offset: int = 0
    call: Invoke | None = None
    now: int | None = None


class Lookout:
    """Reads the histories of a run as they grow. `violations` counts what it saw.

    `clock_error_ms` is how far the wall clocks of two workers may be apart.
    """

    def __init__(self, histories: Path, clock_error_ms: int = 0) -> None:
        self._folder = histories
        self._slack = clock_error_ms
        self._files: dict[Path, _File] = {}
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._newest: OrderedDict[str, _Held] = OrderedDict()
        self._pairs: list[tuple[_Held, _Held]] = []
        self._uses: list[tuple[_Held, int]] = []
        self.violations = 0

    def look(self) -> int:
        """Read on; gives the violations so far."""
        pairs, self._pairs = self._pairs, []
        uses, self._uses = self._uses, []
        for path in sorted(self._folder.glob("worker-*.jsonl")):
            file = self._files.setdefault(path, _File(path))
            for record in _more(file):
                self._take(file, record)
        for held, invoked in uses:
            newest = self._newest.get(held.lane, held)
            self.violations += held.was_before(newest) and newest.returned < invoked
        for before, after in pairs:
            early = before.now < after.now < before.until_at(after.returned) - self._slack
            free = before.released is not None and before.released <= after.returned
            self.violations += early and not free
        for kept in (self._held, self._newest):
            while len(kept) > _KEPT:
                kept.popitem(last=False)
        return self.violations

    def _take(self, file: _File, record: Record) -> None:
        if isinstance(record, Invoke):
            file.call, file.now = record, None
            if record.name.partition(".")[2] not in _KEEPS:
                for token in _tokens(record.args):
                    held = self._held.get(token)
                    if held is not None and held.released is None:
                        held.released = record.mono
        elif isinstance(record, Clock):
            file.now = record.wall
        elif isinstance(record, Ok) and file.call is not None and file.now is not None:
            self._returned(file.call, file.now, record)
        elif isinstance(record, Info) and file.call is not None and "lease_ms" in file.call.args:
            # Nobody knows whether the lease has another end now.
            for token in _tokens(file.call.args):
                self._held.pop(token, None)

    def _returned(self, call: Invoke, now: int, ok: Ok) -> None:
        facet, _, verb = call.name.partition(".")
        if isinstance(ok.result, dict) and "lease_ms" in call.args and facet in {"runs", "queue"}:
            token = ok.result.get("claim_token") or ok.result.get("token")
            fence = ok.result.get("fence")
            if isinstance(token, str) and isinstance(fence, int):
                ends = [_end(call, now)]
                self._claimed(_Held(_lane(ok.result), token, fence, ok.mono, now, ends))
        elif verb in _USES and ok.result is True:
            for token in _tokens(call.args):
                if token in self._held:
                    self._used(self._held[token], call, verb, now)
        elif verb in _RECLAIMS and ok.result in (True, "claimed"):
            for token in _tokens(call.args):
                if token in self._held:
                    lane = self._held[token].lane
                    self._held[token] = _Held(lane, token, None, ok.mono, now, [_end(call, now)])
        elif verb == "renew_many" and isinstance(ok.result, list):
            for claim, renewed in zip(call.args["claims"], ok.result, strict=True):
                for token in _tokens({"claims": [claim]}):
                    if renewed is True and token in self._held:
                        self._held[token].ends.append(_end(call, now))

    def _claimed(self, claim: _Held) -> None:
        before = self._newest.get(claim.lane)
        if before is not None and claim.was_before(before):
            # It was read later than the claim that came after it.
            before, after = claim, before
        else:
            after = claim
            self._newest[claim.lane] = claim
            self._newest.move_to_end(claim.lane)
        self._held[claim.token] = claim
        if before is not None and claim.lane.startswith("run "):
            self._pairs.append((before, after))

    def _used(self, held: _Held, call: Invoke, verb: str, now: int) -> None:
        self.violations += verb in {"renew", "verify"} and now >= held.until
        self._uses.append((held, call.mono))
        if verb == "renew":
            held.ends.append(_end(call, now))


def _more(file: _File) -> Iterator[Record]:
    """The records that were added to a file, as far as they are whole lines."""
    with file.path.open("rb") as source:
        source.seek(file.offset)
        complete, newline, _ = source.read().rpartition(b"\n")
    if newline:
        file.offset += len(complete) + 1
        yield from _decoder.decode_lines(complete)


def _end(call: Invoke, now: int) -> tuple[int, int]:
    """The end of the lease that a call asked for, and when it did."""
    return call.mono, now + int(call.args["lease_ms"])


def _tokens(args: dict[str, Any]) -> Iterator[str]:
    """The claim tokens that a call carries, one or many."""
    for claim in (args, args.get("claim"), *(args.get("claims") or ())):
        if isinstance(claim, dict):
            yield from (str(claim[name]) for name in ("claim_token", "token") if name in claim)
        elif isinstance(claim, list):
            yield from (part for part in claim if isinstance(part, str))


def _lane(record: dict[str, Any]) -> str:
    if "run_id" in record:
        return f"run {record['run_id']}"
    return f"key {record.get('controller')}/{record.get('key')}"
