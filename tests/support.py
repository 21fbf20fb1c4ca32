"""What the tests share: times, plain looks at a store, and SQL in another process."""

from __future__ import annotations

import atexit
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import fencepost
from fencepost.conformance.operations import dump
from fencepost.engine.select import native_module
from fencepost.errors import EngineUnavailableError, FencepostError
from fencepost.statements import script

ENGINES = ("native", "python")
VECTORS = Path(__file__).parent / "vectors"
_START = datetime(2026, 8, 4, tzinfo=UTC)
START_MS = int(_START.timestamp() * 1000)


def at(ms: int = 0) -> str:
    """The text of the time `ms` milliseconds after the tests' start of time."""
    moment = _START + timedelta(milliseconds=ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


class SetClock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.ms = START_MS
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        return self.ms

    def advance(self, ms: int) -> None:
        self.ms += ms


def absence(engine: str) -> str | None:
    """Why an engine can't be tested here, or None."""
    if engine == "native" and native_module() is None:
        return "the native extension is not installed"
    return None


def describe(engine: str) -> str:
    """An engine for the header of the report."""
    try:
        missing = absence(engine)
        info = fencepost.engine_info(engine) if missing is None else None
    except EngineUnavailableError as error:
        return f"{engine} (broken: {error})"
    if info is None:
        return f"{engine} (not tested: {missing})"
    version = info.native_sqlite if engine == "native" else info.python_sqlite
    return f"{engine} (SQLite {version})"


# Each request opens the file and closes it again, in a process that lives as long as the tests.
_SQL_SCRIPT = """
import json, sqlite3, sys
for line in sys.stdin:
    path, statements = json.loads(line)
    answer = {}
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    try:
        for statement, params in statements:
            answer["rows"] = connection.execute(statement, params).fetchall()
    except sqlite3.Error as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    connection.close()
    print(json.dumps(answer, default=lambda blob: {"hex": blob.hex()}), flush=True)
"""


@cache
def _sql_process() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _SQL_SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)
    return process


def sql(path: str | Path, *statements: str | tuple[str, Any]) -> list[list[Any]]:
    """Run statements in another process, each by itself; the rows of the last come back."""
    pairs = [(one, []) if isinstance(one, str) else one for one in statements]
    process = _sql_process()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([str(path), pairs]) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert "error" not in answer, answer["error"]
    rows: list[list[Any]] = answer["rows"]
    return rows


def statements_of(file: str) -> list[str]:
    """The statements of one of the package's scripts."""
    bare = re.sub(r"--.*", "", script(file))
    return [part.strip() for part in bare.split(";") if part.strip()]


def bytes_of(path: str | Path) -> str:
    """A fingerprint of a file that no store has open."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@contextmanager
def unchanged(store: fencepost.Store) -> Iterator[None]:
    """Whatever happens inside, the tables stay as they are."""
    before = dump(store)
    yield
    assert dump(store) == before


@contextmanager
def refused(code: str) -> Iterator[list[FencepostError]]:
    """The block raises the error of this code; it stands in the list afterwards."""
    caught: list[FencepostError] = []
    try:
        yield caught
    except FencepostError as error:
        caught.append(error)
    assert [error.code for error in caught] == [code]


def outcome(action: Callable[[], Any]) -> Any:
    """The result of an action as plain data, or everything about the error it raised."""
    try:
        return plain(action())
    except FencepostError as error:
        return {
            "class": type(error).__name__,
            "code": error.code,
            "message": str(error),
            "retryable": error.retryable,
            "fields": {name: plain(value) for name, value in vars(error).items()},
        }


def plain(value: Any) -> Any:
    """Records as dicts, errors as what they say, lists member by member."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, FencepostError):
        return outcome(lambda: _raise(value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _raise(error: FencepostError) -> None:
    raise error


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def without_ids(value: Any, path: str = "") -> Any:
    """Plain data with the random ids numbered in order of appearance, the path left out."""
    seen: dict[str, str] = {}
    text = json.dumps(value)
    if path:
        text = text.replace(json.dumps(path)[1:-1], "$path")
    return json.loads(_UUID.sub(lambda m: seen.setdefault(m[0], f"$u{len(seen) + 1}"), text))


Claimed = TypeVar("Claimed", fencepost.Run, fencepost.QueueClaim)


def readable(claims: Sequence[Claimed | FencepostError]) -> list[Claimed]:
    """What a batch claimed, where none of its rows is corrupt."""
    found: list[Claimed] = []
    for claim in claims:
        assert not isinstance(claim, FencepostError), claim
        found.append(claim)
    return found


def put(store: fencepost.Store, key: str = "k", **more: Any) -> fencepost.Resource:
    """A resource of the controller `ctl`, made at the start of time unless told otherwise."""
    given: dict[str, Any] = {
        "controller": "ctl",
        "spec": {"want": 1},
        "initial_status": {"have": 0},
        "now": at(),
        **more,
    }
    return store.resources.put(key=key, **given)


def enqueue(store: fencepost.Store, run_id: str = "r", **more: Any) -> fencepost.Run:
    """A run claimed by `alice` under the token `t-<run id>` for a second."""
    given: dict[str, Any] = {
        "workflow_name": "w",
        "workflow_source_ref": "/w.py",
        "input": None,
        "runner_id": "alice",
        "claim_token": f"t-{run_id}",
        "lease_ms": 1000,
        "now": at(),
        **more,
    }
    return store.runs.enqueue(run_id=run_id, **given)


def park(store: fencepost.Store, run_id: str = "r", **more: Any) -> None:
    """A run that was enqueued and parked."""
    run = enqueue(store, run_id, **more)
    assert run.claim_token is not None
    assert store.runs.park(run_id=run_id, claim_token=run.claim_token, now=more.get("now", at()))
