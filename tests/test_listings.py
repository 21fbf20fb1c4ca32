"""Listings: limits, cursors, and iterators between which others may write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fencepost import Page, Store
from tests.support import at, enqueue, park, put, refused, sql


@dataclass(frozen=True)
class Listing:
    """One listing: how to fill it with item n, list it, and name an item."""

    fill: Callable[[Store, int], Any]
    page: Callable[..., Page[Any]]
    each: Callable[..., Iterator[Any]]
    name: Callable[[Any], Any]
    newest_first: bool = False


def _uid(store: Store) -> str:
    return put(store, "owner", controller="owner").metadata.uid


def _effect(store: Store, n: int) -> None:
    store.effects.reserve(
        key=f"{n:03d}",
        resource_uid=_uid(store),
        generation=1,
        kind="x",
        request_fingerprint="f",
        now=at(),
    )


def _request(store: Store, n: int) -> None:
    store.requests.reserve(
        resource_uid=_uid(store), request_key=f"{n:03d}", workflow="w", input_fingerprint="f"
    )


def _event(store: Store, n: int, controller: str = "ctl", key: str = "k") -> None:
    store.events.record(controller=controller, key=key, type="t", payload={"n": n}, now=at())


def _two_events(store: Store, n: int) -> None:
    _event(store, n)
    _event(store, -1, key="x", controller="y")


def _two_runs(store: Store, n: int) -> None:
    park(store, f"p{n}")
    enqueue(store, f"r{n}")


LISTINGS = {
    "resources": Listing(
        lambda store, n: put(store, f"{n:03d}"),
        lambda store, **page: store.resources.list(**page),
        lambda store, **page: store.resources.iterate(**page),
        lambda item: int(item.metadata.key),
    ),
    "resources of a controller": Listing(
        lambda store, n: (put(store, f"{n:03d}"), put(store, f"{n:03d}", controller="other")),
        lambda store, **page: store.resources.list(controller="ctl", **page),
        lambda store, **page: store.resources.iterate(controller="ctl", **page),
        lambda item: int(item.metadata.key),
    ),
    "queue": Listing(
        lambda store, n: put(store, f"{n:03d}"),
        lambda store, **page: store.queue.list(**page),
        lambda store, **page: store.queue.iterate(**page),
        lambda item: int(item.key),
    ),
    "effects": Listing(
        _effect,
        lambda store, **page: store.effects.list(resource_uid=_uid(store), **page),
        lambda store, **page: store.effects.iterate(resource_uid=_uid(store), **page),
        lambda item: int(item.key),
    ),
    "requests": Listing(
        _request,
        lambda store, **page: store.requests.list(resource_uid=_uid(store), **page),
        lambda store, **page: store.requests.iterate(resource_uid=_uid(store), **page),
        lambda item: int(item.request_key),
    ),
    "runs": Listing(
        lambda store, n: enqueue(store, f"r{n}"),
        lambda store, **page: store.runs.list(**page),
        lambda store, **page: store.runs.iterate(**page),
        lambda item: int(item.run_id[1:]),
    ),
    "runs of a status": Listing(
        _two_runs,
        lambda store, **page: store.runs.list(status="parked", **page),
        lambda store, **page: store.runs.iterate(status="parked", **page),
        lambda item: int(item.run_id[1:]),
    ),
    **{
        f"events of {where or 'all'}": Listing(
            _two_events,
            lambda store, where=where, **page: store.events.list(**where, **page),
            lambda store, where=where, **page: store.events.iterate(**where, **page),
            lambda item: item.payload["n"],
            newest_first=True,
        )
        for where in ({"controller": "ctl"}, {"key": "k"}, {"controller": "ctl", "key": "k"})
    },
}


@pytest.fixture(params=LISTINGS)
def listing(request: pytest.FixtureRequest) -> Listing:
    return LISTINGS[request.param]


def expected(listing: Listing, count: int) -> list[int]:
    numbers = list(range(count))
    return numbers[::-1] if listing.newest_first else numbers


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
def test_pages_give_every_item_once(store: Store, listing: Listing, size: int) -> None:
    """All rows have the same time: a page ends in the midst of equals."""
    for number in range(7):
        listing.fill(store, number)
    seen: list[int] = []
    cursor = None
    pages = 0
    while True:
        page = listing.page(store, limit=size, cursor=cursor)
        assert len(page) <= size
        seen += [listing.name(item) for item in page]
        pages += 1
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == expected(listing, 7)
    assert pages == 7 // size + 1
    assert [listing.name(item) for item in listing.each(store, page_size=size)] == seen


def test_a_write_between_pages_neither_repeats_nor_hides(store: Store, listing: Listing) -> None:
    for number in range(4):
        listing.fill(store, number)
    first = listing.page(store, limit=2)
    listing.fill(store, 4)
    rest = listing.page(store, limit=99, cursor=first.cursor)
    seen = [listing.name(item) for item in [*first, *rest]]
    assert seen == ([3, 2, 1, 0] if listing.newest_first else [0, 1, 2, 3, 4])


def test_an_iterator_holds_no_transaction(store: Store, listing: Listing, path: str) -> None:
    """Between two items another process can checkpoint the whole log and empty it."""
    for number in range(5):
        listing.fill(store, number)
    items = listing.each(store, page_size=2)
    next(items)
    assert sql(path, "PRAGMA wal_checkpoint(TRUNCATE)") == [[0, 0, 0]]
    assert len(list(items)) == 4


def test_an_empty_listing(store: Store, listing: Listing) -> None:
    page = listing.page(store)
    assert page == []
    assert page.cursor is None


WRONG_LIMITS = (0, -1, 1.0, True, "1", 2**53, 2**63)


def test_wrong_limits_are_refused(store: Store, listing: Listing) -> None:
    for limit in WRONG_LIMITS:
        with refused("invalid"):
            listing.page(store, limit=limit)
        with refused("invalid"):
            list(listing.each(store, page_size=limit))


WRONG_CURSORS: tuple[Any, ...] = (
    "",
    "{}",
    "[]",
    "null",
    "not json",
    "[" * 100_000,
    "[1.5]",
    "[true]",
    "[null]",
    '["\\ud800","x"]',
    f"[{2**63}]",
    f"[{-(2**63) - 1}]",
    "[" + "9" * 5000 + "]",
    "[1,2,3,4]",
    "[1e400]",
    5,
    10**5000,
    [1],
    b"\xff",
    1.5,
)


def test_wrong_cursors_are_refused(store: Store, listing: Listing) -> None:
    for cursor in WRONG_CURSORS:
        with refused("invalid") as caught:
            listing.page(store, limit=2, cursor=cursor)
        assert str(caught[0]).startswith("cursor: ")


def test_a_cursor_of_another_listing_is_refused_or_harmless(store: Store) -> None:
    for number in range(3):
        enqueue(store, f"r{number}")
        put(store, f"{number:03d}")
    cursor = store.runs.list(limit=1).cursor
    with refused("invalid"):
        store.resources.list(cursor=cursor)
    with refused("invalid"):
        store.queue.list(cursor=cursor)
