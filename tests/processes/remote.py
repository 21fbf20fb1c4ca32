"""The test's end of a child process: ask, pause, resume, kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

CHILD = Path(__file__).with_name("child.py")
PATIENCE = 60.0
"""Seconds after which a child that does not answer counts as hung."""


class ChildHung(AssertionError):
    """A child gave no answer."""


class ChildEnded(AssertionError):
    """A child ended instead of answering; its traceback is on stderr."""


class Interrupted(Exception):
    """A KeyboardInterrupt in the child; raised as itself, it would end the tests."""


class Child:
    """A process of its own that opens stores and calls them."""

    def __init__(
        self,
        *,
        python: Sequence[str] = (),
        env: dict[str, str] | None = None,
    ) -> None:
        self._pipe, theirs = Pipe()
        self.process = subprocess.Popen(
            [sys.executable, *python, str(CHILD), str(theirs.fileno()), str(os.getpid())],
            pass_fds=[theirs.fileno()],
            env=None if env is None else {**os.environ, **env},
            start_new_session=True,
        )
        theirs.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    def begin(self, command: str, **arguments: Any) -> None:
        """Send a request without waiting for its answer."""
        self._pipe.send((command, arguments))

    def answered(self, seconds: float) -> bool:
        """Whether an answer is there, or comes within the time."""
        return self._pipe.poll(seconds)

    def end(self, patience: float = PATIENCE) -> Any:
        """The answer to `begin`: the result, or the error raised here."""
        if not self._pipe.poll(patience):
            self.kill()
            raise ChildHung(f"no answer within {patience} s")
        try:
            kind, value = self._pipe.recv()
        except EOFError:
            self.kill()
            raise ChildEnded(f"ended with status {self.process.returncode}") from None
        if kind == "interrupt":
            raise Interrupted
        if kind == "error":
            raise value
        return value

    def ask(self, command: str, **arguments: Any) -> Any:
        self.begin(command, **arguments)
        return self.end()

    def open(self, path: Path, engine: str, *, name: str = "store", **options: Any) -> Child:
        opened = self.ask("open", path=str(path), name=name, options={"engine": engine, **options})
        assert opened == engine
        return self

    def close(self, *, name: str = "store") -> None:
        self.ask("close", name=name)

    def begin_call(self, target: str, *, name: str = "store", **arguments: Any) -> None:
        self.begin("call", target=target, name=name, arguments=arguments)

    def call(self, target: str, *, name: str = "store", **arguments: Any) -> Any:
        """A method of a facet (`"runs.claim_next"`) of the child's store."""
        return self.ask("call", target=target, name=name, arguments=arguments)

    def sql(self, path: Path, *statements: str) -> list[list[Any]]:
        """Statements through sqlite3 in the child, the rows of each."""
        rows: list[list[Any]] = self.ask("sql", path=str(path), statements=list(statements))
        return rows

    def begin_run(self, function: Callable[..., Any], **arguments: Any) -> None:
        file = function.__code__.co_filename
        self.begin("run", file=file, function=function.__name__, arguments=arguments)

    def run(self, function: Callable[..., Any], **arguments: Any) -> Any:
        """A module-level function of a test module, called in the child."""
        self.begin_run(function, **arguments)
        return self.end()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def pause(self) -> None:
        """Stop the process; back when it has stopped."""
        self.signal(signal.SIGSTOP)
        self.until_stopped()

    def until_stopped(self) -> None:
        """Back when the process has stopped, by whatever signal."""
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            self.process.returncode = os.waitstatus_to_exitcode(status)
            raise ChildEnded(f"ended with status {self.process.returncode} instead of stopping")

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL; back when the process is gone, and its locks with it.

        What it has forked goes too: as long as nobody has waited for the child, the
        number of its group is nobody else's.
        """
        if self.process.returncode is None:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()

    def drop(self) -> None:
        """Give back what this end holds of a child that is gone."""
        self._pipe.close()

    def finish(self) -> int:
        """Let the child close its stores and end; its exit status."""
        self._pipe.close()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ChildHung("did not end") from None


def check_file(child: Child, path: Path) -> None:
    """The database is whole: integrity and foreign keys, asked in the child's process."""
    integrity, violations = child.sql(path, "PRAGMA integrity_check", "PRAGMA foreign_key_check")
    assert integrity == [("ok",)]
    assert violations == []
