"""What the model predicts for one call."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ..rows import TableRow

_encode = msgspec.json.Encoder(order="sorted").encode


class Anything:
    """A value that the store makes up: any text will do."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and other != ""

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "<anything>"


ANYTHING: Any = Anything()


def canonical(value: Any) -> str:
    """The stored text of the plain values that the harness uses."""
    return _encode(value).decode()


class Prediction(NamedTuple):
    """A row change as the specification demands it."""

    table: str
    before: TableRow | None
    after: TableRow | None


class Outcome(msgspec.Struct):
    """The changes and the result, or the codes with which the call may be refused.

    The first `ordered` changes come in this order, the others in any.
    """

    result: Any = None
    changes: tuple[Prediction, ...] = ()
    refusals: frozenset[str] = frozenset()
    ordered: int = 1000


REFUSED = Outcome(result=False)


def refused(*codes: str) -> Outcome:
    """The call may be refused with any of these."""
    return Outcome(refusals=frozenset(codes))
