"""A queue behind a command that speaks JSON, one object a line, on standard input and output.

The protocol is docs/testing-your-queue.md. A request has an `id`, an `op` and `args`; the
answer has the same `id` and one of `ok`, `refused` (a code), `error` (a message, and
whether it is `definite` that nothing changed).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from .adapter import Adapter, Claim, Item, Place, Refused
from .capabilities import Capabilities

PROTOCOL = 1
_CLOSE_SECONDS = 5


class Problem(msgspec.Struct, frozen=True):
    message: str
    definite: bool = False


class Answer(msgspec.Struct, frozen=True):
    id: int
    ok: Any = None
    refused: str | None = None
    error: Problem | None = None


class _Taken(msgspec.Struct, frozen=True):
    run: str
    handle: Any = None


class CommandError(Exception):
    """The command answered with an error, with nonsense, or not at all."""


class CommandAdapter(Adapter):
    """One command a worker; it dies with the worker."""

    def __init__(self, command: Sequence[str], place: Place) -> None:
        leash = [sys.executable, "-m", "fencepost_stress.sut.leash", str(os.getpid())]
        self._process = subprocess.Popen(
            [*leash, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._id = 0
        declared = self._ask(
            "init",
            protocol=PROTOCOL,
            directory=str(place.directory),
            role=place.role,
            worker=place.worker,
            lease_ms=place.lease_ms,
        )
        self.capabilities = _convert(declared, Capabilities)

    def enqueue(self, run: str, parent: str | None) -> None:
        self._ask("enqueue", run=run, parent=parent)

    def claim(self, wait_ms: int) -> Claim | None:
        taken = _convert(self._ask("claim", wait_ms=wait_ms), _Taken | None)
        return None if taken is None else Claim(taken.run, taken.handle)

    def renew(self, claim: Claim) -> bool | None:
        return self._told("renew", claim)

    def verify(self, claim: Claim) -> bool | None:
        return self._told("verify", claim)

    def complete(self, claim: Claim) -> bool | None:
        return self._told("complete", claim)

    def release(self, claim: Claim) -> bool | None:
        return self._told("release", claim)

    def delete(self, claim: Claim) -> bool | None:
        return self._told("delete", claim)

    def dump(self) -> list[Item]:
        found: list[Item] = _convert(self._ask("dump"), list[Item])
        return found

    def close(self) -> None:
        with suppress(CommandError):
            # It may end before it answers.
            self._ask("close")
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _told(self, op: str, claim: Claim) -> bool | None:
        told: bool | None = _convert(self._ask(op, run=claim.run, handle=claim.handle), bool | None)
        return told

    def _ask(self, op: str, **args: Any) -> Any:
        if self._process.stdin is None or self._process.stdout is None:
            raise CommandError("the command was started without pipes")
        self._id += 1
        request = {"id": self._id, "op": op, "args": args}
        try:
            self._process.stdin.write(msgspec.json.encode(request) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise CommandError(f"the command has gone: {self._process.poll()}") from error
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise CommandError(f"the command ended in the middle of {op!r}")
        try:
            answer = msgspec.json.decode(line, type=Answer)
        except msgspec.MsgspecError as error:
            raise CommandError(f"no answer to {op!r}: {error}") from error
        if answer.id != self._id:
            raise CommandError(f"asked {self._id}, and {answer.id} was answered")
        if answer.refused is not None:
            raise Refused(answer.refused)
        if answer.error is not None:
            if answer.error.definite:
                raise Refused("error", answer.error.message)
            raise CommandError(answer.error.message)
        return answer.ok


def _convert(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, type=kind)
    except msgspec.ValidationError as error:
        raise CommandError(str(error)) from error
