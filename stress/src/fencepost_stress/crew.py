"""The worker processes: starting them, hurting them, and never leaving one behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from .intruders import Intruders
from .sut import engine_of
from .worker import EXIT_HEALED, EXIT_NOT_HEALED, READY, STANDING_BY, Orders


@dataclass(slots=True)
class _Member:
    process: subprocess.Popen[bytes]
    name: str
    doomed: bool = False


class Crew:
    """Up to one process a slot. A context manager: on leaving it, all are gone.

    Each process leads a group of its own, so that a terminal's interrupt reaches the
    harness alone, and is tied to the harness's life (see `lifeline`). Start them from
    the main thread: the kernel's notice of death comes when the starting thread ends.
    """

    def __init__(
        self,
        directory: Path,
        database: Path,
        engine: str,
        clock_offset: int,
        module: str = "fencepost_stress.worker",
    ) -> None:
        self._directory = directory
        self._database = database
        self._engine = engine
        self._module = module
        self._members: dict[int, _Member] = {}
        self._incarnations: dict[int, int] = {}
        self._reading, self._writing = os.pipe()
        self.problems: list[str] = []
        self.healed = 0
        self.gone: dict[str, int] = {}
        """When each process that has ended was seen to be gone, on the monotonic clock."""
        self.clock_offset = clock_offset
        self.start = 0
        self.storm = False
        self.small_disk = False
        self.intruders = Intruders(database, self._reading)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for member in self._members.values():
            _send(member.process, signal.SIGKILL)
        self.intruders.dismiss()
        for member in self._members.values():
            member.process.wait()
            _close(member.process)
        os.close(self._reading)
        os.close(self._writing)

    def hire(self, slot: int) -> None:
        """Start the next incarnation of a slot."""
        incarnation = self._incarnations.get(slot, 0) + 1
        self._incarnations[slot] = incarnation
        name = f"worker-{slot:02d}-{incarnation:03d}"
        orders = Orders(
            directory=str(self._directory),
            database=str(self._database),
            engine=engine_of(self._engine, slot),
            process=name,
            slot=slot,
            incarnation=incarnation,
            parent=os.getpid(),
            lifeline=self._reading,
            clock_offset=self.clock_offset,
            small_disk=self.small_disk,
            waits_to_open=not self.start and self.storm,
        )
        command = [sys.executable, "-m", self._module]
        with (self._directory / "stderr" / f"{name}.txt").open("wb") as stderr:
            process = subprocess.Popen(
                [*command, msgspec.json.encode(orders).decode()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                pass_fds=(self._reading,),
                process_group=0,
            )
        self._members[slot] = _Member(process, name)
        if self.start:
            self._tell_start(process)

    def begin(self, timeout_seconds: float, before: Callable[[], None] = lambda: None) -> bool:
        """Wait until everybody has opened the store, do `before`, then let the load begin.

        The start's stamp is the same for all, those that are hired later included.
        False when somebody was not ready in time, or died.
        """
        deadline = time.monotonic() + timeout_seconds
        ready = all(_says(member.process, READY, deadline) for member in self._members.values())
        before()
        self.start = time.monotonic_ns()
        for member in self._members.values():
            self._tell_start(member.process)
        return ready

    def let_open(self, timeout_seconds: float) -> None:
        """Wait until everybody stands by, then let all of them open the store at once."""
        deadline = time.monotonic() + timeout_seconds
        for member in self._members.values():
            if not _says(member.process, STANDING_BY, deadline):
                self.problems.append(f"{member.name} did not stand by for the opening")
        for member in self._members.values():
            self._say(member.process, b"open\n")

    def _say(self, process: subprocess.Popen[bytes], line: bytes) -> None:
        if process.stdin is None:
            raise RuntimeError("a worker was started without its standard input")
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:
            # It died at once; `collect` says of what.
            return

    def _tell_start(self, process: subprocess.Popen[bytes]) -> None:
        self._say(process, b"%d\n" % self.start)

    def name(self, slot: int) -> str | None:
        """The process in a slot, or None when it has ended."""
        member = self._members.get(slot)
        return None if member is None or member.process.poll() is not None else member.name

    def has_begun(self, slot: int) -> bool:
        """Whether the process in a slot is as far as to have recorded something."""
        # Threads of a process have a history each, named after it.
        histories = (self._directory / "history").glob(f"{self._members[slot].name}*.jsonl")
        return any(path.stat().st_size for path in histories)

    def kill(self, slot: int) -> None:
        """SIGKILL, and wait until it is gone. A stopped process dies of it too."""
        member = self._members[slot]
        member.doomed = True
        _send(member.process, signal.SIGKILL)
        member.process.wait()
        self.gone[member.name] = time.monotonic_ns()

    def doom(self, slot: int) -> None:
        """It may end now, however it does."""
        self._members[slot].doomed = True

    def is_over(self, slot: int) -> bool:
        return self._members[slot].process.poll() is not None

    def ask_to_end(self, slot: int) -> None:
        """SIGTERM: an exception wherever the worker is, also inside a call."""
        self._members[slot].doomed = True
        self._signal(slot, signal.SIGTERM)

    def pause(self, slot: int) -> None:
        self._signal(slot, signal.SIGSTOP)

    def resume(self, slot: int) -> None:
        self._signal(slot, signal.SIGCONT)

    def _signal(self, slot: int, number: signal.Signals) -> None:
        _send(self._members[slot].process, number)

    def collect(self) -> int:
        """Take note of those that ended; gives how many still run."""
        running = 0
        for slot, member in list(self._members.items()):
            code = member.process.poll()
            if code is None:
                running += 1
                continue
            del self._members[slot]
            self.gone.setdefault(member.name, time.monotonic_ns())
            _close(member.process)
            self._ended(member, code)
        return running

    def _ended(self, member: _Member, code: int) -> None:
        if member.doomed:
            return
        if code == EXIT_HEALED:
            self.healed += 1
        elif code != EXIT_NOT_HEALED:
            said = (self._directory / "stderr" / f"{member.name}.txt").read_text(errors="replace")
            last = said.strip().splitlines()[-1:] or ["it said nothing"]
            self.problems.append(f"{member.name} ended with {code}: {last[0]}")


def _send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a worker and what it started itself, which is in its group."""
    # Not yet reaped, so the group's id cannot belong to anybody else.
    if process.poll() is None:
        os.killpg(process.pid, number)


def _says(process: subprocess.Popen[bytes], word: bytes, deadline: float) -> bool:
    if process.stdout is None:
        return False
    waiting, _, _ = select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))
    return bool(waiting) and process.stdout.readline() == word


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            # What was not read or written any more does not matter: the process is gone.
            with suppress(BrokenPipeError):
                pipe.close()
