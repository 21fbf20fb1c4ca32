"""The logger `fencepost`, and what is logged at which level; docs/observing.md has the table.

Never a claim token, an input, a spec or a payload: whoever reads a log may not act on a claim.
"""

from __future__ import annotations

import logging
import os

from .holders import command, locks
from .shown import one_line, readable

logger = logging.getLogger("fencepost")
# An application that configures no logging hears nothing, not even warnings on stderr.
_silent = logging.NullHandler()
logger.addHandler(_silent)

SLOW_WAIT_SECONDS = 1.0
"""A wait for the write lock that is worth a line: a fifth of the usual busy timeout."""


def _say(level: int, message: str, path: str, *values: object, trace: bool = False) -> None:
    """One line of the log, about the store at `path`; names in it can't make it two.

    Raises nothing that a filter or a handler raises: what the line is about is committed.
    It is told on stderr, as logging tells what its own handlers fail at.
    """
    try:
        if logger.isEnabledFor(level):
            plain = (one_line(value) if isinstance(value, str) else value for value in values)
            logger.log(
                level,
                f"%s: {message}",
                one_line(readable(path)),
                *plain,
                exc_info=trace,
                stacklevel=2,
            )
    except Exception:  # noqa: BLE001 - the application's own code, which may raise anything
        record = logging.LogRecord(logger.name, level, __file__, 0, message, values, None)
        _silent.handleError(record)


def opened(path: str, engine: str, reason: str, *, read_only: bool) -> None:
    """A store was opened; `reason` says why this engine serves it."""
    how = " for reading" if read_only else ""
    _say(logging.DEBUG, "opened%s with the %s engine: %s", path, how, engine, reason)


def closed(path: str) -> None:
    """A store was closed."""
    _say(logging.DEBUG, "closed", path)


def created(path: str, missing: frozenset[str], *, new: bool) -> None:
    """Tables, indexes and triggers were made; of a file that is not new only the additions."""
    if new:
        _say(logging.INFO, "the schema was created", path)
    else:
        names = ", ".join(sorted(missing))
        _say(logging.INFO, "added to the shared tables: %s", path, names)


def held_up(path: str, mode: str, pages: int, moved: int) -> None:
    """A checkpoint did not get through, because of a reader or a writer."""
    level = logging.INFO if mode == "passive" else logging.WARNING
    if logger.isEnabledFor(level):
        _say(
            level,
            "the %s checkpoint moved %d of %d pages, others read or write%s",
            path,
            mode,
            moved,
            pages,
            _readers(path),
        )


def log_held(path: str) -> None:
    """The log has grown long and can't be emptied; said once until it could be."""
    try:
        size = os.stat(f"{path}-wal").st_size
    except OSError:
        return
    _say(
        logging.WARNING,
        "the write-ahead log has %.0f MiB and can't be emptied, others read or write%s",
        path,
        size / 2**20,
        _readers(path),
    )


def _readers(path: str) -> str:
    held = locks(path) or {}
    who = ", ".join(f"{pid} ({command(pid)})" for pid in sorted(held) if "read" in held[pid])
    return f"; at this moment reads: {who}" if who else ""


def waited(path: str, seconds: float) -> None:
    """A write stood in the line for the write lock."""
    if seconds >= SLOW_WAIT_SECONDS:
        _say(logging.WARNING, "waited %.1f s for the write lock", path, seconds)


def refused(path: str, operation: str, subject: str) -> None:
    """A claim's token was not, or no longer, good for an operation.

    Arguments:
        path: the store's file.
        operation: what was asked for, `"runs.renew"`.
        subject: the run, or controller and key.
    """
    # To ask whether a claim is live is no sign of trouble; to act on a lost one is.
    level = logging.DEBUG if operation == "runs.verify" else logging.WARNING
    _say(level, "%s of %s refused: the claim is lost or expired", path, operation, subject)


def listener_raised(path: str, listener: object, kind: str, *, again: bool) -> None:
    """A listener has raised the exception that is being handled."""
    if again:
        _say(logging.DEBUG, "a listener raised again, on %s", path, kind)
    else:
        _say(
            logging.ERROR,
            "the listener %s raised on the event %s; it is told of further events, "
            "and further errors of it are logged as debug messages",
            path,
            _named(listener),
            kind,
            trace=True,
        )


def _named(listener: object) -> str:
    """A listener as it names itself, or by its type: it may fail at that too."""
    try:
        return repr(listener)
    except Exception:  # noqa: BLE001 - what the caller wants to know is done and committed
        return f"of the type {type(listener).__name__}"


def not_measured(path: str, error: Exception) -> None:
    """A store's rows could not be counted for a scrape."""
    _say(logging.WARNING, "not in the metrics: %s", path, str(error))
