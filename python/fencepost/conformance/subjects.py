"""What the vectors are run against: a store of this package, or a command.

A command speaks JSON lines: it reads `{"op", "args"}` from standard input, one at a
time, and answers each with `{"result": ...}` or `{"error": code}` on standard output.
Beside the vectors' operations it answers `{"op": "open", "args": {"path": ...}}` (a new
file), `{"op": "dump", "args": {}}` (the tables, as in the vectors) and
`{"op": "close", "args": {}}`.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from ..errors import FencepostError
from ..opening import open
from ..store import Store
from . import operations


class Refused(ValueError):
    """The subject refused an operation; `code` is a word of the error table."""

    def __init__(self, op: str, code: str, message: str = "") -> None:
        super().__init__(message or f"{op} was refused: {code}")
        self.code = code


class SubjectFailed(ValueError):
    """The subject does not work at all, which says nothing about its behaviour."""


class Subject(Protocol):
    """One store under test at a time."""

    def open(self, path: str) -> None: ...

    def call(self, op: str, args: Mapping[str, Any]) -> Any:
        """The plain result; raises Refused."""

    def dump(self) -> dict[str, list[dict[str, Any]]]: ...

    def close(self) -> None: ...


class StoreSubject:
    """A store of this package, on either engine."""

    def __init__(self, engine: str | None) -> None:
        self._engine = engine
        self._store: Store | None = None

    def open(self, path: str) -> None:
        self._store = open(path, engine=self._engine, synchronous="off")

    def _opened(self) -> Store:
        if self._store is None:
            raise RuntimeError("no store is open")
        return self._store

    def call(self, op: str, args: Mapping[str, Any]) -> Any:
        try:
            return operations.call(self._opened(), op, args)
        except FencepostError as error:
            raise Refused(op, error.code, str(error)) from error

    def dump(self) -> dict[str, list[dict[str, Any]]]:
        return operations.dump(self._opened())

    def close(self) -> None:
        self._opened().close()


class CommandSubject:
    """A store behind a command that speaks JSON lines."""

    def __init__(self, command: str) -> None:
        try:
            words = shlex.split(command)
            if not words:
                raise ValueError("it is empty")
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        except (OSError, ValueError) as error:
            raise SubjectFailed(f"the command can't be started: {error}") from error

    def open(self, path: str) -> None:
        self.call("open", {"path": path})

    def call(self, op: str, args: Mapping[str, Any]) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the command has no pipes")
        try:
            stdin.write(json.dumps({"op": op, "args": args}) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SubjectFailed(f"the command ended with status {self._process.wait()}")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not answer.keys() & {"error", "result"}:
            raise SubjectFailed(f"the command answered {line[:60]!r} to {op}, which is no answer")
        if "error" in answer:
            raise Refused(op, str(answer["error"]))
        return answer.get("result")

    def dump(self) -> dict[str, list[dict[str, Any]]]:
        tables: dict[str, list[dict[str, Any]]] = self.call("dump", {})
        return tables

    def close(self) -> None:
        self.call("close", {})

    def end(self) -> None:
        """Let the command end: its input is over."""
        with suppress(BrokenPipeError):
            self._process.communicate()
