"""What the model predicts for one call."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ..rows import TableRow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Anything:
    """A value that the store makes up: any text will do."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and other != ""

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "<anything>"


ANYTHING: Any = Anything()


class Prediction(NamedTuple):
    """A row change as the specification demands it."""

    table: str
    before: TableRow | None
    after: TableRow | None


@dataclass(slots=True, frozen=True)
class Outcome:
    """The changes and the result, or the codes with which the call may be refused."""

    result: Any = None
    changes: tuple[Prediction, ...] = ()
    refusals: frozenset[str] = field(default_factory=frozenset)


def text_of(ms: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def ms_of(text: str) -> int:
    """The inverse of `text_of`; any offset is understood."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)
