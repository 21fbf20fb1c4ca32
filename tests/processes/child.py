"""A process that does what a test tells it, one request at a time, over a pipe.

Run as a script by `remote.Child`. An error of the store travels back; anything else
ends the process with a traceback, which the test then reports.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sqlite3
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import fencepost
from fencepost.conformance import operations
from fencepost.errors import FencepostError
from fencepost.records.base import Record

stores: dict[str, fencepost.Store] = {}
plain_connections: dict[str, sqlite3.Connection] = {}


def open_store(*, path: str, name: str, options: dict[str, Any]) -> str:
    store = stores[name] = fencepost.open(path, **options)
    return store.engine_name


clock_ms = 0


def set_clock(*, ms: int) -> None:
    global clock_ms
    clock_ms = ms


def open_with_clock(*, path: str, name: str, options: dict[str, Any]) -> str:
    """A store whose clock stands where `set_clock` put it, at first at the option `ms`."""
    set_clock(ms=options["ms"])
    rest = {option: value for option, value in options.items() if option != "ms"}
    return open_store(path=path, name=name, options={**rest, "clock": lambda: clock_ms})


def close_store(*, name: str) -> None:
    stores.pop(name).close()


def call(*, target: str, name: str, arguments: dict[str, Any]) -> Any:
    facet, method = target.split(".")
    return getattr(getattr(stores[name], facet), method)(**arguments)


def operation(*, op: str, name: str, arguments: dict[str, Any]) -> Any:
    """One operation under the vectors' name, fences included in the plain result."""
    facet, method = operations.METHODS.get(op, (op.partition(".")[0], op.partition(".")[2]))
    return plain(getattr(getattr(stores[name], facet), method)(**arguments))


def plain(result: Any) -> Any:
    if isinstance(result, Record):
        return result.to_dict()
    if isinstance(result, FencepostError):
        return {"error": type(result).__name__, "message": str(result), **vars(result)}
    if isinstance(result, list):
        items = [plain(item) for item in result]
        cursor = getattr(result, "cursor", None)
        return items if cursor is None else {"items": items, "cursor": cursor}
    return result


def dump(*, name: str) -> dict[str, list[dict[str, Any]]]:
    return operations.dump(stores[name])


def sql(*, path: str, statements: list[str]) -> list[list[Any]]:
    """Statements through the interpreter's own sqlite3; the connection is kept per path."""
    if path not in plain_connections:
        plain_connections[path] = sqlite3.connect(path, isolation_level=None, timeout=5)
    connection = plain_connections[path]
    return [connection.execute(statement).fetchall() for statement in statements]


def run(*, file: str, function: str, arguments: dict[str, Any]) -> Any:
    """A function of a test module, by its file."""
    return runpy.run_path(file, run_name="in_child")[function](**arguments)


COMMANDS: dict[str, Callable[..., Any]] = {
    "open": open_store,
    "open_with_clock": open_with_clock,
    "set_clock": set_clock,
    "close": close_store,
    "call": call,
    "operation": operation,
    "dump": dump,
    "sql": sql,
    "run": run,
}


_SENT_BACK = (FencepostError, ArithmeticError, AttributeError, TypeError, ValueError)


def answer(command: str, arguments: dict[str, Any]) -> tuple[str, Any]:
    try:
        return "result", COMMANDS[command](**arguments)
    except KeyboardInterrupt:
        return "interrupt", None
    except (*_SENT_BACK, sqlite3.Error) as error:
        return "error", error


def serve(connection: Connection) -> None:
    while True:
        try:
            command, arguments = connection.recv()
        except EOFError:
            break
        except KeyboardInterrupt:
            # Sent to a call that had ended already.
            continue
        connection.send(answer(command, arguments))
    for store in stores.values():
        store.close()
    for plain_connection in plain_connections.values():
        plain_connection.close()


_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have Linux kill this process when its parent ends, also while it is stopped or waits."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the parent is gone")


if __name__ == "__main__":
    die_with(int(sys.argv[2]))
    # Functions that tests run here find the same stores under this module's usual name.
    sys.modules.setdefault("tests.processes.child", sys.modules["__main__"])
    serve(Connection(int(sys.argv[1])))
