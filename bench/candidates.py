"""Ways of waiting for the write lock, run against each other: `python -m bench --only candidates`.

Plain `sqlite3` with the store's own statements; only the way to the lock differs. What
came of it is argued in `docs/contention.md`.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .harness import Figures, Outcome, Plan, Worker, interleaved, scratch, together
from .scenarios.contention import prepared, summed

TITLE = "Ways of waiting for the write lock"
BUSY_SECONDS = 30.0
QUANTUM_SECONDS = 0.0025

# How long a turn in the line lasts: names of the constants of `engine/python/turns.py`.
LINES: Mapping[str, Mapping[str, float]] = {
    "line": {},
    "line, one call a turn": {
        "LEAST_TURN_SECONDS": 0.0,
        "LEAST_TURN_CALLS": 1,
        "SHORT_TURN_CALLS": 1,
    },
    "line, turns of 1 ms": {"LEAST_TURN_SECONDS": 0.001, "LEAST_TURN_CALLS": 2},
    "line, turns of 5 ms": {"LEAST_TURN_SECONDS": 0.005},
    "line, turns of 10 ms": {"LEAST_TURN_SECONDS": 0.01},
    "line, turns of 20 ms": {"LEAST_TURN_SECONDS": 0.02},
}
CANDIDATES = ("busy", "retry 0.5 ms", "retry 2 ms", "flock", "flock, quanta", *LINES)

Begin = Callable[[], bool]


def run(plan: Plan) -> Outcome:
    """Each candidate with each number of processes."""
    outcome = Outcome()
    for processes in plan.pick((2,), (1, 2, 8, 32)):
        variants: dict[str, Callable[[], Figures]] = {
            how: partial(_contend, how, processes, plan.seconds) for how in CANDIDATES
        }
        for how, figures in interleaved(variants, plan.rounds).items():
            outcome.rows.append({"way": how, "processes": processes, **figures})
    return outcome


def _contend(how: str, processes: int, seconds: float) -> dict[str, float]:
    with scratch() as folder:
        path = prepared(folder)
        workers = [
            Worker(__name__, {"path": path, "how": how, "name": f"w{at}"})
            for at in range(processes)
        ]
        return summed(together(workers, seconds), seconds)


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Claim and park until the end of the window, the lock taken in the way named."""
    from .worker import start

    how = job["how"]
    # The first to come sets the log up, and the others wait for that as SQLite does.
    connection = sqlite3.connect(job["path"], timeout=BUSY_SECONDS, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    if how != "busy":
        connection.execute("PRAGMA busy_timeout = 0").close()
    if how == "hold":
        return _hold(connection)
    begin, end = _way(how, job["path"], partial(_try_begin, connection))
    window = start()
    calls: list[float] = []
    count = busy = 0
    cpu = time.process_time()
    while window.is_open():
        began = time.monotonic()
        if began < window.begin:
            cpu = time.process_time()
        token = f"{job['name']}-{time.monotonic_ns()}"
        try:
            for step in (_claim, _park):
                since = time.monotonic()
                if not begin():
                    busy += 1
                    break
                try:
                    step(connection, token)
                    connection.execute("COMMIT")
                finally:
                    end()
                if time.monotonic() >= window.begin:
                    calls.append(time.monotonic() - since)
            else:
                count += window.has(time.monotonic())
        except sqlite3.OperationalError:
            busy += 1
    return {"count": count, "busy": busy, "calls": calls, "cpu": time.process_time() - cpu}


def _hold(connection: sqlite3.Connection) -> dict[str, Any]:
    """Keep the write lock until the end of the window."""
    from .worker import start

    connection.execute("BEGIN IMMEDIATE")
    window = start()
    time.sleep(max(window.end - time.monotonic(), 0.0))
    connection.execute("ROLLBACK")
    return {"count": 0, "busy": 0, "calls": [], "cpu": 0.0}


def _try_begin(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def _way(how: str, path: str, attempt: Begin) -> tuple[Begin, Callable[[], None]]:
    """How to get the lock, and what to do after the transaction."""
    if how == "busy":
        return attempt, lambda: None
    if how.startswith("retry"):
        return partial(_retry, attempt, float(how.split()[1]) / 1000), lambda: None
    if how.startswith("flock"):
        lock = _FileLock(path, attempt, QUANTUM_SECONDS if "quanta" in how else 0.0)
        return lock.begin, lock.end
    from fencepost.engine.python import turns

    for name, value in LINES[how].items():
        setattr(turns, name, value)
    line = turns.Turns(path, int(BUSY_SECONDS * 1000))
    return lambda: line.take(attempt, time.monotonic()), lambda: None


def _retry(attempt: Begin, seconds: float) -> bool:
    deadline = time.monotonic() + BUSY_SECONDS
    while not attempt():
        if time.monotonic() > deadline:
            return False
        time.sleep(seconds)
    return True


class _FileLock:
    """A blocking `flock` around transactions, kept for a quantum or for one of them."""

    def __init__(self, path: str, attempt: Begin, quantum: float) -> None:
        self._descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        self._attempt = attempt
        self._quantum = quantum
        self._since: float | None = None

    def begin(self) -> bool:
        if self._since is None:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            self._since = time.monotonic()
        return self._attempt()

    def end(self) -> None:
        if self._since is not None and time.monotonic() - self._since >= self._quantum:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._since = None


def _claim(connection: sqlite3.Connection, token: str) -> None:
    from fencepost.statements import statement

    now = time.time_ns() // 1_000_000
    cursor = connection.execute(statement("runs.parked"))
    row = cursor.fetchone()
    cursor.close()
    values = {
        "runner_id": "plain",
        "claim_token": token,
        "claim_expires_at": now + 60_000,
        "updated_at": "2026-01-01T00:00:00.000Z",
        "now": now,
    }
    connection.execute(statement("runs.claim"), {**values, "run_id": row[0]})
    _mine[token] = row[0]


def _park(connection: sqlite3.Connection, token: str) -> None:
    from fencepost.statements import statement

    values = {"run_id": _mine.pop(token), "claim_token": token, "updated_at": "2026"}
    connection.execute(statement("runs.park"), values)


_mine: dict[str, str] = {}
