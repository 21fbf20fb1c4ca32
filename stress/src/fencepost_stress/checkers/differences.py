"""What a call did beside what it should have done, in words that a person can follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..model import ANYTHING, Outcome, Prediction
from ..operations import Op
from ..rows import Change, TableRow, key_of

_SHOWN = 4
_WIDTH = 120
_NAMES = ("run_id", "controller", "key", "request_id", "seq", "status", "state", "claim_token")
"""Members by which a record is told from others."""

_Move = Change | Prediction
_Same = Callable[[Any, Any], bool]


def of_changes(expected: Sequence[Prediction], actual: Sequence[Change], same: _Same) -> str:
    """How the rows that changed differ from those that should have."""
    wanted = {_place(move): move for move in expected}
    found = {_place(move): move for move in actual}
    told = []
    for place, move in wanted.items():
        if place not in found:
            told.append(f"{place} should have been {_done(move)}, and was not")
        elif not same(move.after, found[place].after):
            told.append(f"{place}: {_columns(move.after, found[place].after, same)}")
        elif not same(move.before, found[place].before):
            told.append(f"{place} before: {_columns(move.before, found[place].before, same)}")
    told += [
        f"{place} was {_done(move)}, and should not have been"
        for place, move in found.items()
        if place not in wanted
    ]
    return _listed(told) or "the same rows, in another order"


def of_results(expected: Any, actual: Any, same: _Same, differing: Callable[..., list[str]]) -> str:
    """How a result differs from the one that it should be."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return _listed(
            [
                f"{name} {_short(actual.get(name))}, not {_short(expected.get(name))}"
                for name in differing(expected, actual)
            ]
        )
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return f"{_records(actual)}, not {_records(expected)}"
        return _listed(
            [
                f"item {number}: {of_results(due, got, same, differing)}"
                for number, (due, got) in enumerate(zip(expected, actual, strict=True), 1)
                if not same(due, got)
            ]
        )
    return f"{_short(actual)}, not {_short(expected)}"


def told(op: Op) -> str:
    """How a call was answered."""
    return f"was refused ({op.code})" if op.status == "fail" else f"was told {_short(op.result)}"


def due(expected: Outcome | None) -> str:
    """What a call should have been told, or done."""
    if expected is None:
        return "nothing that is known"
    if expected.refusals:
        return f"a refusal ({', '.join(sorted(expected.refusals))})"
    if not expected.changes:
        return _short(expected.result)
    return _listed([f"{_place(move)} {_done(move)}" for move in expected.changes])


def _place(move: _Move) -> str:
    row = move.before if move.after is None else move.after
    if row is None:
        return f"{move.table} (no row)"
    return f"{move.table} {'/'.join(str(part) for part in key_of(move.table, row))}"


def _done(move: _Move) -> str:
    """What became of a row: "inserted (status 'claimed')", "changed (status 'a' -> 'b')"."""
    before, after = move.before, move.after
    if after is None:
        return "deleted"
    if before is None:
        shown = [
            f"{name} {_short(value)}"
            for name, value in after._asdict().items()
            if name in _NAMES and value is not None
        ]
        return f"inserted ({', '.join(shown)})" if shown else "inserted"
    names = [name for name in after._fields if getattr(before, name) != getattr(after, name)]
    if len(names) > 1 and "updated_at" in names:
        names.remove("updated_at")
    shown = [
        f"{name} {_short(getattr(before, name))} -> {_short(getattr(after, name))}"
        for name in names
    ]
    return f"changed ({', '.join(shown)})"


def _columns(expected: TableRow | None, actual: TableRow | None, same: _Same) -> str:
    if expected is None or actual is None:
        return f"{'there' if actual else 'not there'}, and should {'not ' * (not expected)}be"
    return ", ".join(
        f"{name} {_short(getattr(actual, name))}, not {_short(getattr(expected, name))}"
        for name in expected._fields
        if not same(getattr(expected, name), getattr(actual, name))
    )


def _short(value: Any) -> str:
    """A value, cut where it is long; of a record what names it."""
    if value is ANYTHING:
        return "anything"
    if isinstance(value, Mapping):
        named = [f"{name} {_short(value[name])}" for name in _NAMES if value.get(name) is not None]
        if named:
            return f"<{', '.join(named)}>"
    if isinstance(value, list | tuple):
        return _records(value)
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."


def _records(values: Sequence[Any]) -> str:
    shown = ", ".join(_short(value) for value in values[:_SHOWN])
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return f"[{shown}{more}]"


def _listed(parts: Sequence[str]) -> str:
    more = f"; and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return "; ".join(parts[:_SHOWN]) + more
