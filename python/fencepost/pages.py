"""Listings: pages with a cursor, and iterators that hold no transaction between pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from .engine.protocol import Row
from .errors import InvalidArgumentError
from .shown import shown

Item = TypeVar("Item")
DEFAULT_PAGE = 500


class Page(list[Item], Generic[Item]):
    """One page of a listing: a list, and where the next page begins.

    Attributes:
        cursor: give it back as `cursor=` for the page after this one; None after a page
            that was not full, which is the last.
    """

    cursor: str | None = None


def make_page(
    rows: Sequence[Row],
    limit: int,
    record: Callable[[Row], Item],
    place: Callable[[Row], Sequence[str | int]],
) -> Page[Item]:
    """The records of `rows`; `place` gives a row's place in the listing's order."""
    page = Page(record(row) for row in rows)
    if rows and len(rows) == limit:
        page.cursor = json.dumps(list(place(rows[-1])), separators=(",", ":"))
    return page


def place_of(cursor: str | None, start: Sequence[str | int]) -> Sequence[str | int]:
    """The place that a cursor stands for, `start` for None.

    `start` also says how many members a place has, and of what types.
    """
    if cursor is None:
        return start
    try:
        place = json.loads(cursor)
    except (ValueError, TypeError, RecursionError):
        place = None
    if not _fits(place, start):
        raise InvalidArgumentError(
            f"cursor: {shown(cursor)} is no cursor of this listing; use the cursor of a page"
        )
    return place  # type: ignore[no-any-return]


def _fits(place: object, start: Sequence[str | int]) -> bool:
    if not isinstance(place, list) or [type(p) for p in place] != [type(s) for s in start]:
        return False
    return all(
        -(2**63) <= part < 2**63 if isinstance(part, int) else _encodable(part) for part in place
    )


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def each(page_after: Callable[[str | None], Page[Item]]) -> Iterator[Item]:
    """Every item, page by page; each page is a read of its own."""
    cursor: str | None = None
    while True:
        page = page_after(cursor)
        yield from page
        cursor = page.cursor
        if cursor is None:
            return
