"""Running vectors: lines of cases, and what differed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..canonical import canonical_json, fingerprint, parse_json
from ..errors import FencepostError
from .subjects import Refused, Subject, SubjectFailed

_VALIDATION_NOW = "2026-08-04T00:00:00.000Z"
_MOST_DIFFERENCES = 5

# What the lines of the three kinds of files must have, and an operation inside a case.
_OP: dict[str, type] = {"op": str, "args": dict}
_CASES: tuple[dict[str, type], ...] = (
    {"id": str, "ops": list, "tables": dict},
    {"json": str, "canonical": str, "sha256": str},
    _OP,
)


@dataclass(slots=True)
class CaseResult:
    """One case of a file: its id, and what differed (nothing: it passed)."""

    file: str
    case: str
    differences: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.differences


class Symbols:
    """The UUIDs that a store makes, written `$u1`, `$u2`, ... in the vectors."""

    def __init__(self, **bound: Any) -> None:
        self._values: dict[str, Any] = {f"${name}": value for name, value in bound.items()}

    def substitute(self, value: Any) -> Any:
        """The value with every bound symbol replaced."""
        if isinstance(value, str):
            return self._values.get(value, value)
        if isinstance(value, list):
            return [self.substitute(item) for item in value]
        if isinstance(value, dict):
            return {name: self.substitute(item) for name, item in value.items()}
        return value

    def difference(self, expected: Any, actual: Any, path: str) -> str | None:
        """The first difference, or None; an unbound symbol is bound to what stands there."""
        if isinstance(expected, str) and expected.startswith("$u"):
            if not isinstance(actual, str):
                return f"{path}: expected an id, got {_shown(actual)}"
            expected = self._values.setdefault(expected, actual)
        if isinstance(expected, dict) and isinstance(actual, dict):
            if expected.keys() != actual.keys():
                return f"{path}: expected members {sorted(expected)}, got {sorted(actual)}"
            pairs = [(f"{path}.{name}", expected[name], actual[name]) for name in expected]
        elif isinstance(expected, list) and isinstance(actual, list):
            if len(expected) != len(actual):
                return f"{path}: expected {len(expected)} items, got {len(actual)}"
            both = zip(expected, actual, strict=True)
            pairs = [(f"{path}[{index}]", *pair) for index, pair in enumerate(both)]
        else:
            same = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
            return None if same else f"{path}: expected {_shown(expected)}, got {_shown(actual)}"
        found = (self.difference(wanted, got, where) for where, wanted, got in pairs)
        return next((difference for difference in found if difference), None)


def run_file(path: str, subject: Subject) -> Iterator[CaseResult]:
    """The results of a file's cases, one by one.

    Raises ValueError where the file is no file of vectors, OSError where it can't be read.
    """
    lines = []
    for number, text in enumerate(Path(path).read_text("utf-8").split("\n"), start=1):
        if text.strip():
            lines.append((number, _parsed(path, number, text)))
    if lines and "op" in lines[0][1]:
        yield from _validation(path, lines, subject)
        return
    for number, line in lines:
        if "ops" in line:
            yield _operations(path, line, subject)
        else:
            yield _canonical(path, number, line)


def _parsed(path: str, number: int, text: str) -> dict[str, Any]:
    line = json.loads(text)
    if not isinstance(line, dict):
        raise ValueError(f"{path}:{number}: is no JSON object")
    if not any(_has(line, members) for members in _CASES) or not all(
        isinstance(op, dict) and _has(op, _OP) and ("result" in op or "error" in op)
        for op in line.get("ops", [])
    ):
        raise ValueError(f"{path}:{number}: is no case; see the README of the vectors")
    return line


def _has(line: dict[str, Any], members: dict[str, type]) -> bool:
    return all(isinstance(line.get(name), kind) for name, kind in members.items())


def _operations(path: str, case: dict[str, Any], subject: Subject) -> CaseResult:
    result = CaseResult(path, str(case["id"]))
    symbols = Symbols()
    with _opened(subject):
        for index, op in enumerate(case["ops"]):
            difference = _one(subject, symbols, op, f"ops[{index}] {op['op']}")
            if difference:
                result.differences.append(difference)
                if len(result.differences) >= _MOST_DIFFERENCES:
                    return result
        tables = subject.dump()
        for name, rows in case["tables"].items():
            difference = symbols.difference(rows, tables.get(name), f"tables.{name}")
            if difference:
                result.differences.append(difference)
    return result


def _one(subject: Subject, symbols: Symbols, op: dict[str, Any], where: str) -> str | None:
    try:
        actual = subject.call(op["op"], symbols.substitute(op["args"]))
    except Refused as refused:
        if refused.code == op.get("error"):
            return None
        wanted = f"the error {op['error']}" if "error" in op else _shown(op["result"])
        return f"{where}: expected {wanted}, got the error {refused.code} ({refused})"
    if "error" in op:
        return f"{where}: expected the error {op['error']}, got {_shown(actual)}"
    return symbols.difference(op["result"], actual, where)


def _validation(
    path: str, lines: Iterable[tuple[int, dict[str, Any]]], subject: Subject
) -> Iterator[CaseResult]:
    target = {"controller": "alpha", "key": "k1"}
    with _opened(subject):
        new = {**target, "spec": {}, "initial_status": {}, "now": _VALIDATION_NOW}
        uid = _metadata(subject, "put_resource", new)["uid"]
        for number, line in lines:
            current = _metadata(subject, "get_resource", target)["resource_version"]
            args = Symbols(uid=uid, current=current).substitute(_expanded(line["args"]))
            result = CaseResult(path, f"line {number}")
            difference = _accepted(subject, line, args)
            if difference:
                result.differences.append(difference)
            yield result


def _metadata(subject: Subject, op: str, args: dict[str, Any]) -> dict[str, Any]:
    """The metadata of the resource that the lines of a validation file work on."""
    resource = subject.call(op, args)
    found = resource.get("metadata") if isinstance(resource, dict) else None
    if not isinstance(found, dict) or not _has(found, {"uid": str, "resource_version": int}):
        raise SubjectFailed(f"{op} gave no resource: {_shown(resource)}")
    return found


def _accepted(subject: Subject, line: dict[str, Any], args: dict[str, Any]) -> str | None:
    wanted = line.get("error")
    try:
        subject.call(line["op"], args)
    except Refused as refused:
        if refused.code == wanted:
            return None
        return f"{line['op']}: expected {wanted or 'acceptance'}, got {refused.code} ({refused})"
    return f"{line['op']}: expected the error {wanted}, got acceptance" if wanted else None


def _expanded(args: dict[str, Any]) -> dict[str, Any]:
    expanded = {}
    for name, value in args.items():
        if name.endswith("_repeat"):
            repeated = {value["key"]: value["char"] * value["count"]}
            expanded[name.removesuffix("_repeat")] = repeated
        else:
            expanded[name] = value
    return expanded


def _canonical(path: str, number: int, line: dict[str, Any]) -> CaseResult:
    result = CaseResult(path, f"line {number}")
    try:
        value = parse_json(line["json"])
        actual = (canonical_json(value), fingerprint(value))
    except (ValueError, FencepostError) as error:
        result.differences.append(f"{line['json']}: {error}")
        return result
    if actual != (line["canonical"], line["sha256"]):
        result.differences.append(f"{line['json']}: expected {line['canonical']}, got {actual[0]}")
    return result


class _opened:
    """A new store in a folder of its own, closed and deleted afterwards."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._folder = tempfile.TemporaryDirectory(prefix="fencepost-conformance-")

    def __enter__(self) -> None:
        try:
            self._subject.open(os.path.join(self._folder.name, "store.sqlite"))
        except BaseException:
            self._folder.cleanup()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._subject.close()
        finally:
            self._folder.cleanup()


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 120 else f"{text[:117]}..."
