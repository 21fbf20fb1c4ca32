"""Opening a store: the file, the engine, the guard and the layout, in this order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from . import guard as guards, layout, logs, sqlite_versions
from .clock import MIN_TIME_MS, system_clock
from .engine import probe
from .engine.protocol import MAX_TIME_MS, Clock, Engine
from .engine.resting import RestingReader
from .engine.select import choose, has_json, native_module, python_sqlite
from .errors import (
    EngineUnavailableError,
    InvalidArgumentError,
    ReadOnlyStoreError,
    StoreIOError,
    refusal,
)
from .observing.events import Listener
from .observing.hooks import Telling, checked_listener
from .shown import shown, why_not
from .store import Store
from .validation import absolute_path, choice, integer, items
from .waiting import Ringing

SYNCHRONOUS = ("full", "normal", "off")


def open(
    path: str | os.PathLike[str],
    *,
    engine: str | None = None,
    read_only: bool = False,
    synchronous: str = "full",
    busy_timeout_ms: int = 5000,
    guard: str | None = None,
    clock: Callable[[], int] | None = None,
    hooks: Iterable[Listener] = (),
) -> Store:
    """Open the store in a file, which is created where it does not exist.

    Arguments:
        path: the database file. Missing parent folders are made, with mode 0700; the file
            gets mode 0600.
        engine: `"auto"`, `"native"` or `"python"`; default what `FENCEPOST_ENGINE` says.
        read_only: open an existing file and never write to it.
        synchronous: `"full"` survives a power cut; `"normal"` may lose the last commits
            in one, `"off"` may damage the file in one. A killed process loses nothing.
        busy_timeout_ms: how long, in milliseconds, a call waits for another writer.
        guard: what to do when something else in this process opens the file: `"error"`,
            `"warn"` or `"off"`. Default: refuse `sqlite3.connect` while the native engine
            has the file, warn of the rest.
        clock: gives milliseconds since the epoch; default the system's clock.
        hooks: listeners to tell of what the store does, as by `store.hooks.add`.

    Returns the open store. Raises InvalidArgumentError, UnsupportedSchemaError,
    CorruptStoreError, StoreIOError, ReadOnlyStoreError, StoreBusyError,
    EngineUnavailableError, EngineConflictError and ForkedStoreError; the file is
    unchanged then.
    """
    full_path = absolute_path(path)
    choice(synchronous, "synchronous", SYNCHRONOUS)
    timeout = integer(busy_timeout_ms, "busy_timeout_ms", most=2**31 - 1)
    if guard is not None:
        choice(guard, "guard", guards.CHOICES)
    if clock is not None and not callable(clock):
        raise InvalidArgumentError("clock: expected a callable that gives milliseconds")
    listeners = [checked_listener(listener) for listener in items(hooks, "hooks")]
    chosen, reason = choose(engine)
    _engine_class(chosen, warn=False)  # Refuses before a file is made.
    if not read_only:
        _create_file(full_path)
        if os.access(full_path, os.R_OK) and not os.access(full_path, os.W_OK):
            # SQLite would open it for reading, and refuse each write on its own.
            raise ReadOnlyStoreError(
                f"{full_path}: may not be written; change its permissions or use read_only=True"
            )
    telling = Telling(full_path, chosen)
    this = guards.register(full_path, chosen, guard)
    try:
        connection = connect(chosen, full_path, read_only, synchronous, timeout, clock, telling)
        try:
            layout.prepare(connection, full_path, read_only=read_only)
        except BaseException:
            connection.close()
            raise
    except BaseException:
        guards.release(this, guard)
        raise
    ringing: Any = Ringing(connection, full_path)
    store = Store(
        connection if read_only else ringing,
        path=full_path,
        name=chosen,
        telling=telling,
        read_only=read_only,
        clock=system_clock if clock is None else _checked(clock),
        on_close=lambda: guards.release(this, guard),
    )
    for listener in listeners:
        store.hooks.add(listener)
    logs.opened(full_path, chosen, reason, read_only=read_only)
    return store


def _create_file(path: str) -> None:
    """Make the file with mode 0600, and its missing folders with mode 0700.

    Only a file that did not exist is opened here, one at a time: closing one that a store
    of this process has open would drop that store's locks.
    """
    try:
        create_folders(os.path.dirname(path))
        with guards.creating:
            if not os.path.lexists(path):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        if os.path.exists(path):
            return
        raise StoreIOError(
            f"{path}: can't be created: {why_not(path, error)}; check the path"
        ) from error


def create_folders(folder: str) -> None:
    """Make a folder and those above it, as far as they are missing, with mode 0700."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    for name in reversed(missing):
        try:
            os.mkdir(name, 0o700)
        except FileExistsError:
            continue


def connect(
    name: str,
    path: str,
    read_only: bool,
    synchronous: str,
    busy_timeout_ms: int,
    clock: Callable[[], int] | None,
    telling: Telling | None = None,
) -> Engine:
    """The engine `name` on a file that is there and registered with the guard.

    Takes what `open` has checked; does not look at the file's layout. `telling` hears what
    happens beside the calls, after their commits: nothing comes out of it but what ends the
    thread, as out of a listener.
    """
    options: dict[str, Any] = {
        "read_only": read_only,
        "synchronous": synchronous,
        "busy_timeout_ms": busy_timeout_ms,
        "clock": None if clock is None else _checked(clock),
        "on_wait": None if telling is None else telling.waited,
        "on_log_held": None if telling is None else telling.log_held,
    }
    make = _engine_class(name, warn=not read_only)
    if (hook := probe.installed()) is not None:
        options["probe"] = hook
    if read_only:
        reader: Any = RestingReader(path, lambda rest: make(path, immutable=rest, **options))
        engine: Engine = reader
        return engine
    return make(path, **options)


def _engine_class(name: str, *, warn: bool) -> Callable[..., Engine]:
    if name == "native":
        native = native_module()
        if native is None:
            raise EngineUnavailableError("the native extension is gone; install fencepost again")
        native_engine: Callable[..., Engine] = native.Engine
        return native_engine
    linked = python_sqlite()
    if linked is None:
        raise EngineUnavailableError(
            "the Python engine needs sqlite3, which does not load in this Python; "
            "install a wheel with the native engine, or a Python with sqlite3"
        )
    if sqlite_versions.parse(linked) < sqlite_versions.MINIMUM:
        raise EngineUnavailableError(
            f"the Python engine needs SQLite 3.35 or newer, this Python links {linked}; "
            "install a wheel with the native engine, or a newer Python"
        )
    if not has_json():
        raise EngineUnavailableError(
            f"the Python engine needs SQLite's JSON functions, and this Python links {linked} "
            "built without them; install a wheel with the native engine, or a newer Python"
        )
    if warn:
        sqlite_versions.warn_once(linked)
    from .engine.python import PythonEngine

    return PythonEngine


def _checked(clock: Callable[[], int]) -> Clock:
    def checked() -> int:
        ms: object = clock()
        if type(ms) is not int:
            raise InvalidArgumentError(
                f"clock: gave a {type(ms).__name__}; it must give integer milliseconds"
            )
        if not MIN_TIME_MS <= ms <= MAX_TIME_MS:
            raise refusal("clock_out_of_range", shown(ms))
        return ms

    return checked
