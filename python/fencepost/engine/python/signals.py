"""Signals wait for the end of a statement.

CPython's `sqlite3` is C, and a signal's handler runs before or after a call into it. PyPy's is
Python: an exception out of a handler, as from Ctrl-C, may come anywhere in it and leave a
statement that nobody ends, which holds a read mark and keeps the connection from closing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_Result = TypeVar("_Result")
_Args = ParamSpec("_Args")

try:
    from __pypy__.thread import signals_enabled
except ImportError:

    def undisturbed(function: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
        """The function, which needs nothing that keeps signals' handlers out of it."""
        return function

else:

    def undisturbed(function: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
        """The function, with signals' handlers kept out of it until it is over."""

        @wraps(function)
        def holding_off(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
            try:
                # Handlers run in the main thread, and where a thread has asked for them.
                signals_enabled.__exit__()
            except RuntimeError:
                return function(*args, **kwargs)
            try:
                return function(*args, **kwargs)
            finally:
                signals_enabled.__enter__()

        return holding_off
