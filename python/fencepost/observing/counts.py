"""A store's numbers as the adapters report them."""

from __future__ import annotations

from collections.abc import Iterator

from ..maintenance import Stats


def counts(stats: Stats) -> Iterator[tuple[str, str, int]]:
    """(table, state, rows) for each state of each table."""
    for table, states in (
        ("runs", stats.runs),
        ("queue", stats.queue),
        ("resources", stats.resources),
        ("effects", stats.effects),
        ("requests", stats.requests),
    ):
        for state, rows in states.items():
            yield table, state, rows
    yield "events", "present", stats.events
    yield "feed", "present", stats.feed["events"]
