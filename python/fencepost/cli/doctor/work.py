"""The work in the store: claims that ended, runs that stand still, clocks that jumped."""

from __future__ import annotations

from collections.abc import Iterator

from ...clock import iso_from_ms
from ...engine.protocol import MAX_TIME_MS, Engine
from ..output import span
from .finding import Finding

IDLE_MS = 3_600_000
"""A run that nobody takes for so long stands still."""
FUTURE_MS = 60_000
FAR_LEASE_MS = 7 * 86_400_000
_SOME = 5
_FAILING = 10
_LAST_EVENTS = 10_000


def look_at_work(engine: Engine, now: int) -> Iterator[Finding]:
    """What keeps work from going on, at the time `now` (ms)."""
    yield from _stuck(engine)
    yield from _expired(engine, now)
    yield from _idle(engine, now)
    yield from _failing(engine)
    yield from _clocks(engine, now)


def _stuck(engine: Engine) -> Iterator[Finding]:
    for code, statement, what in (
        ("stuck_runs", "stats.stuck_runs", "runs"),
        ("stuck_keys", "stats.stuck_keys", "keys"),
    ):
        stuck = [str(row[0]) for row in engine.read(statement, {"limit": _SOME})]
        if stuck:
            yield Finding(
                code,
                "error",
                f"{what} are claimed without a token or an end of the lease: {', '.join(stuck)}",
                "nobody can ever take them: park or requeue them, or correct the rows by hand",
                {what: stuck},
            )


def _expired(engine: Engine, now: int) -> Iterator[Finding]:
    runs = engine.read("stats.expired_runs", {"now": now})[0][0]
    keys = engine.read("stats.queue", {"now": now})[0][2]
    if runs or keys:
        yield Finding(
            "expired_claims",
            "warning",
            f"{_some(runs, 'run')} and {_some(keys, 'key')} claimed by owners whose lease ended",
            "their owners died or hang; any worker takes them over, so see that one runs",
            {"runs": runs, "keys": keys},
        )


def _idle(engine: Engine, now: int) -> Iterator[Finding]:
    before = now - IDLE_MS
    rows = engine.read("stats.idle_runs", {"before": before, "before_text": iso_from_ms(before)})
    count, example = rows[0]
    if count:
        yield Finding(
            "idle_runs",
            "warning",
            f"{_some(count, 'run')} could be taken for over {span(IDLE_MS)}, and nobody does "
            f"({example})",
            "see that a worker runs for them, or finish them",
            {"runs": count, "example": example},
        )


def _failing(engine: Engine) -> Iterator[Finding]:
    count, most, example = engine.read("stats.failing_keys", {"errors": _FAILING})[0]
    if count:
        yield Finding(
            "failing_keys",
            "warning",
            f"{_some(count, 'key')} failed {_FAILING} times or more in a row, such as {example}",
            "`fencepost resource CONTROLLER KEY` shows the last error",
            {"keys": count, "most_errors": most, "example": example},
        )


def _clocks(engine: Engine, now: int) -> Iterator[Finding]:
    after = now + FUTURE_MS
    rows = engine.read("stats.future_times", {"after_text": iso_from_ms(after)})
    future = {row[0]: row[1] for row in rows if row[1]}
    if future:
        latest = max(str(row[2]) for row in rows if row[1])
        yield Finding(
            "clock_ahead",
            "warning",
            f"rows have times that have not come yet, up to {latest}: "
            + ", ".join(f"{number} of {table}" for table, number in future.items()),
            "a clock was ahead, or this one is behind; see that all are set by NTP",
            {"rows": future, "latest": latest},
        )
    count, last = engine.read("stats.far_leases", {"after": now + FAR_LEASE_MS})[0]
    if count:
        end = iso_from_ms(last) if type(last) is int and abs(last) <= MAX_TIME_MS else str(last)
        yield Finding(
            "far_leases",
            "warning",
            f"{_some(count, 'lease')} longer than {span(FAR_LEASE_MS)}, up to {end}",
            "if a clock was ahead, park or requeue them; `fencepost runs --status claimed`",
            {"leases": count, "latest": end},
        )
    count, seq = engine.read("stats.clock_back", {"limit": _LAST_EVENTS})[0]
    if count:
        yield Finding(
            "clock_back",
            "warning",
            f"the clock went back {_some(count, 'time')} between events of the feed, "
            f"last at event {seq}",
            "leases are compared with this clock; see that it is set by NTP",
            {"times": count, "last_seq": seq},
        )


def _some(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"
