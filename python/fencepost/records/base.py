"""What all records share: reading a row, and the plain form with the vectors' names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from .. import quick
from ..canonical import parse_json
from ..clock import iso_from_ms
from ..engine.protocol import Row
from ..errors import CorruptRowError, InvalidArgumentError
from ..shown import shown

Kind = TypeVar("Kind", bound="Record")
Read: TypeAlias = "Callable[[type[Record], Any], Any]"
_KINDS = {bytes: "a blob", float: "a float", str: "text", int: "an integer"}


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
                f"{cls.__name__}: has no member {shown(next(iter(others)))}; remove it"
            )
        return cls(**cls._with_nested(members, read_nested))

    @classmethod
    def _with_nested(cls, members: dict[str, Any], _read: Read) -> dict[str, Any]:
        """The members, those that are records themselves made so by `_read`."""
        return members


def unsealed(kind: type[Kind]) -> type[Any]:
    """A class laid out as the record `kind`, whose instances may be written to.

    For rows, which come by the hundred: a frozen dataclass writes its own members one by
    one through `object.__setattr__`, which costs more than all else about a record. An
    instance of this class becomes a record by `instance.__class__ = kind`.
    """
    freely = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(f"Unsealed{kind.__name__}", (kind,), {"__slots__": (), **freely})


def read_nested(kind: type[Record], value: Any) -> Any:
    """A member that is a record of `kind`, or the dict of one."""
    return value if isinstance(value, kind) else kind.from_dict(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, tuple):
        # One level: deeper down are the caller's own values, however deep.
        return [item.to_dict() if isinstance(item, Record) else item for item in value]
    return value


def split_members(
    cls: type[Record], data: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The members of `data` that the record `cls` has, and the others.

    Raises InvalidArgumentError where a member without a default is missing.
    """
    if not issubclass(type(data), Mapping):
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
    """How the rows of one table are read: its name, its columns, which of them hold
    integers (the others hold text), and which name the row."""

    __slots__ = ("_at", "_key", "_kinds", "_letters", "_names", "table")

    def __init__(self, table: str, names: str, *, key: str, integers: str = "") -> None:
        self.table = table
        self._names = names.split()
        self._key = [self._names.index(column) for column in key.split()]
        self._kinds = [int if name in integers.split() else str for name in self._names]
        self._at = {name: index for index, name in enumerate(self._names)}
        self._letters = "".join("i" if kind is int else "t" for kind in self._kinds)

    def check(self, row: Row) -> Row:
        """The row; CorruptRowError where a value is of another type than its column.

        SQLite keeps whatever does not convert, and text that is no UTF-8 comes as bytes.
        """
        if quick.holds(row, self._letters):
            return row
        for index, value in enumerate(row):
            kind = type(value)
            if value is not None and kind is not self._kinds[index]:
                raise self.corrupt(row, self._names[index], f"holds {_KINDS[kind]}")
        return row

    def json(self, row: Row, column: str) -> Any:
        """The parsed JSON of a column."""
        text = row[self._at[column]]
        try:
            return parse_json(text)
        except (ValueError, TypeError) as error:
            raise self.corrupt(row, column, f"is no JSON ({error})") from None

    def json_object(self, row: Row, column: str) -> dict[str, Any]:
        """The parsed JSON object of a column."""
        value = self.json(row, column)
        if not isinstance(value, dict):
            raise self.corrupt(row, column, "is no JSON object")
        return value

    def time(self, row: Row, column: str) -> Any:
        """The ISO text of a column of integer milliseconds, None for null."""
        ms = row[self._at[column]]
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
