"""What all records share: reading a row, and the plain form with the vectors' names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar, Self

from ..canonical import parse_json
from ..clock import iso_from_ms
from ..engine.protocol import Row
from ..errors import CorruptRowError, InvalidArgumentError


class Record:
    """A frozen value with `to_dict` and `from_dict`."""

    __slots__ = ()
    _absent_when_none: ClassVar[frozenset[str]] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON values, members named as in the vectors."""
        plain: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value is None and field.name in self._absent_when_none:
                continue
            plain[field.name] = _plain(value)
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The record of such a dict. Raises InvalidArgumentError for other members."""
        members, others = split_members(cls, data)
        if others:
            raise InvalidArgumentError(
                f"{cls.__name__}: has no member {next(iter(others))!r:.60}; remove it"
            )
        return cls(**members)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def split_members(
    cls: type[Record], data: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The members of `data` that the record `cls` has, and the others.

    Raises InvalidArgumentError where a member without a default is missing.
    """
    if not isinstance(data, Mapping):
        raise InvalidArgumentError(f"{cls.__name__}: expected a dict, not {type(data).__name__}")
    members: dict[str, Any] = {}
    for field in fields(cls):  # type: ignore[arg-type]
        if not field.init:
            continue
        if field.name in data:
            members[field.name] = data[field.name]
        elif field.default is MISSING and field.default_factory is MISSING:
            raise InvalidArgumentError(f"{cls.__name__}: the member {field.name} is missing")
    others = {name: value for name, value in data.items() if name not in members}
    return members, others


class Columns:
    """How the rows of one table are read: its name, its columns, those of its key."""

    __slots__ = ("_key", "_names", "table")

    def __init__(self, table: str, names: str, *, key: str) -> None:
        self.table = table
        self._names = names.split()
        self._key = [self._names.index(column) for column in key.split()]

    def check(self, row: Row) -> Row:
        """The row; CorruptRowError where a value is no text, integer or null."""
        for index, value in enumerate(row):
            kind = type(value)
            if kind is bytes or kind is float:
                raise self.corrupt(row, self._names[index], f"holds a {kind.__name__}")
        return row

    def json(self, row: Row, column: str) -> Any:
        """The parsed JSON of a column."""
        text = row[self._names.index(column)]
        try:
            return parse_json(text)
        except (ValueError, TypeError) as error:
            raise self.corrupt(row, column, f"is no JSON ({error})") from None

    def time(self, row: Row, column: str) -> Any:
        """The ISO text of a column of integer milliseconds, None for null."""
        ms = row[self._names.index(column)]
        if ms is None:
            return None
        try:
            return iso_from_ms(ms)
        except (ValueError, TypeError) as error:
            raise self.corrupt(row, column, f"is no time ({error})") from None

    def corrupt(self, row: Row, column: str, what: str) -> CorruptRowError:
        """The error for a row of this table that can't be read."""
        key = "/".join(str(row[index]) for index in self._key)
        return CorruptRowError(
            f"{self.table} {key}: the column {column} {what}; repair the row or delete it",
            table=self.table,
            key=key,
            column=column,
        )
