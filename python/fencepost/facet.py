"""What the facets of a store share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from . import logs
from .engine.protocol import Engine, Row, Value
from .pages import Page, make_page, place_of
from .validation import optional_limit

Item = TypeVar("Item")
_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


class Facet:
    """The operations on one table: checked arguments down, records up."""

    __slots__ = ("_engine", "_path")

    def __init__(self, engine: Engine, path: str) -> None:
        self._path = path
        self._engine = engine

    def _refused(self, operation: str, *key: str) -> None:
        """A token was refused: `key` is the run id, or controller and key."""
        logs.refused(self._path, operation, "/".join(key))

    def _each_kept(
        self, operation: str, claims: Sequence[tuple[str, ...]], results: list[bool]
    ) -> list[bool]:
        """The results of a batch; each claim is its key and then its token."""
        if False in results:
            for claim, kept in zip(claims, results, strict=True):
                if not kept:
                    self._refused(operation, *claim[:-1])
        return results

    def _page(
        self,
        statement: str,
        params: dict[str, Value],
        limit: int | None,
        cursor: str | None,
        start: dict[str, str | int],
        record: Callable[[Row], Item],
        place: Callable[[Row], Sequence[str | int]],
    ) -> Page[Item]:
        """One page of `statement`, whose place parameters are named by `start`."""
        count = optional_limit(limit)
        after = dict(zip(start, place_of(cursor, list(start.values())), strict=True))
        rows = self._engine.read(statement, {**params, **after, "limit": count})
        return make_page(rows, count, record, place)

    def _first(
        self, statement: str, params: dict[str, Value], record: Callable[[Row], Item]
    ) -> Item | None:
        rows = self._engine.read(statement, params)
        return record(rows[0]) if rows else None


def use_engine(facet: Facet, engine: Engine) -> None:
    """Have the facet's operations done by this engine: the store's own, or an observed one."""
    facet._engine = engine


def new_token() -> str:
    """A claim token, uid or request id that nobody had before: a random UUID (RFC 9562)."""
    return new_tokens(1)[0]


def new_tokens(count: int) -> list[str]:
    """So many of them: to ask the system for random bytes costs as much as all else about one."""
    digits = os.urandom(16 * count).hex()
    return [_uuid(digits[start : start + 32]) for start in range(0, 32 * count, 32)]


def _uuid(digits: str) -> str:
    variant = _VARIANT[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
