"""Values as messages show them: short, and without running code of the value's own."""

from __future__ import annotations

import os

_MOST = 60


def shown(value: object) -> str:
    """A plain value as Python writes it, cut to a few words; of any other value its type.

    `repr` would run the caller's code, and refuses integers of many thousand digits.
    """
    kind = type(value)
    if isinstance(value, str) and kind is str:
        return repr(value[:_MOST])
    if isinstance(value, int) and kind is int:
        return repr(value) if abs(value) < 10**20 else "a number of many digits"
    if value is None or kind is bool or kind is float:
        return repr(value)
    return f"a value of the type {kind.__name__}"


def readable(path: str) -> str:
    """A path as text that any encoder takes; its bytes that are no UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def one_line(text: str) -> str:
    """Text that is one line everywhere: whatever can't be printed stands there as an escape.

    So neither a name that somebody else chose nor a path forges a line of a log or sends
    commands to a terminal; that takes more than line feeds (U+0085, U+2028, ESC).
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def why_not(path: str, error: OSError) -> str:
    """Why no file can be made at a path: in the system's words, or which folder is none."""
    folder = os.path.dirname(os.path.abspath(path))
    if isinstance(error, (NotADirectoryError, FileNotFoundError)):
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        if not os.path.isdir(folder):
            return f"{folder} is no folder"
    return error.strerror or str(error)
