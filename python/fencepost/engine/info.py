"""Which engine runs and why, for `fencepost.engine_info` and the command line."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import EngineUnavailableError
from ..sqlite_versions import can_lose_commits
from .select import choose, native_module, python_sqlite


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """Which engine runs and why; versions of SQLite as text, None where not loadable."""

    engine: str
    reason: str
    native_sqlite: str | None
    python_sqlite: str | None
    python_sqlite_can_lose_commits: bool


def _native_sqlite() -> str | None:
    try:
        native = native_module()
    except EngineUnavailableError:
        # Broken or stale, which only an engine that would load it needs to say.
        return None
    return None if native is None else str(native.sqlite_version())


def engine_info(engine: str | None = None) -> EngineInfo:
    """Which engine `open(engine=engine)` would use, why, and both SQLite versions.

    Raises EngineUnavailableError and InvalidArgumentError as `open` does.
    """
    chosen, reason = choose(engine)
    linked = python_sqlite()
    return EngineInfo(
        chosen,
        reason,
        _native_sqlite(),
        linked,
        linked is not None and can_lose_commits(linked),
    )
