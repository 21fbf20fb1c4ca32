"""Which engine runs: `FENCEPOST_ENGINE=auto|native|python`, or `open(engine=...)`.

An explicit choice that fails raises. `auto` takes the native engine where its extension
is installed; only its absence leads to the Python engine, and `engine_info` says so.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module, resources
from types import ModuleType

from .._version import __version__
from ..errors import EngineUnavailableError, InvalidArgumentError
from ..shown import shown
from ..statements import scripts, statement
from . import built

CHOICES = ("auto", "native", "python")


def native_module() -> ModuleType | None:
    """The extension, or None where none is installed. A broken or stale one raises."""
    try:
        native = import_module("fencepost._native")
    except ModuleNotFoundError as error:
        if error.name == "fencepost._native":
            return None
        raise
    except ImportError as error:
        raise EngineUnavailableError(
            f"the native extension is broken: {error}; install fencepost again"
        ) from error
    version = getattr(native, "__version__", "unknown")
    if version != __version__:
        raise EngineUnavailableError(
            f"the native extension is of version {version}, fencepost of {__version__}; "
            "install fencepost again"
        )
    _check_sources(native)
    return native


@cache
def _check_sources(native: ModuleType) -> None:
    """Raise where the extension was built beside other SQL, or for another interface.

    One version may have had several builds while it was worked on.
    """
    built_from = native.sources() if hasattr(native, "sources") else {}
    ours = scripts()
    stub = resources.files("fencepost").joinpath("_native.pyi")
    # Some installations leave stubs out.
    ours["_native"] = stub.read_text("utf-8") if stub.is_file() else built_from.get("_native", "")
    other = sorted(name for name in ours | built_from if ours.get(name) != built_from.get(name))
    if other:
        raise EngineUnavailableError(
            "the native extension is of an older or newer build than the source beside it "
            f"({', '.join(other)} differ); install fencepost again"
        )


def python_sqlite() -> str | None:
    """The version of the SQLite that the interpreter links, None where none loads."""
    try:
        return str(import_module("sqlite3").sqlite_version)
    except ImportError:
        return None


@cache
def has_json() -> bool:
    """Whether the interpreter's SQLite was built with its JSON functions."""
    sqlite3 = import_module("sqlite3")
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(statement("connection.has_json"))
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True


def choose(engine: str | None = None) -> tuple[str, str]:
    """The engine's name, and why it was chosen."""
    source = "the engine argument" if engine is not None else "FENCEPOST_ENGINE"
    choice = engine if engine is not None else os.environ.get("FENCEPOST_ENGINE", "auto")
    if type(choice) is not str or choice not in CHOICES:
        raise InvalidArgumentError(f"{source}: {shown(choice)} is none of {', '.join(CHOICES)}")
    if choice == "python":
        return choice, f"{source} asks for it"
    if native_module() is not None:
        return (
            "native",
            "its extension is installed" if choice == "auto" else f"{source} asks for it",
        )
    if choice == "native":
        raise EngineUnavailableError(
            f"{source} asks for the native engine, whose extension is not installed; "
            "install a wheel for this platform, or use engine='python'"
        )
    why = built.why_pure()
    return "python", f"the native extension is not installed{why and ': '}{why}"
