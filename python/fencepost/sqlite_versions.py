"""Which versions of SQLite fencepost can use, and which have the WAL-reset fault."""

from __future__ import annotations

import warnings

MINIMUM = (3, 35, 0)
"""RETURNING-era SQL and upserts inside triggers need no older one."""

_FAULT_BEGAN = (3, 7, 0)
_FIXED = (3, 51, 3)
_FIXED_BRANCHES = {(3, 44): 6, (3, 50): 7}


class SQLiteVersionWarning(RuntimeWarning):
    """The interpreter's SQLite has a fault that can lose commits in WAL mode."""


def parse(version: str) -> tuple[int, ...]:
    """`"3.40.1"` as `(3, 40, 1)`."""
    return tuple(int(part) for part in version.split("."))


def can_lose_commits(version: str) -> bool:
    """Whether this SQLite can lose commits when several processes write and checkpoint.

    The WAL-reset fault: 3.7.0 to 3.51.2, fixed in 3.51.3 and in 3.44.6 and 3.50.7.
    """
    parts = parse(version)
    if not _FAULT_BEGAN <= parts < _FIXED:
        return False
    patch = _FIXED_BRANCHES.get((parts[0], parts[1]))
    return patch is None or parts[2] < patch


_warned = False


def warn_once(version: str) -> None:
    """Warn, once a process, that the SQLite of the Python engine has the fault."""
    global _warned
    if not _warned and can_lose_commits(version):
        _warned = True
        warnings.warn(
            f"the Python engine runs on SQLite {version}, which can lose commits in WAL mode "
            "when several processes write (fixed in 3.51.3, 3.50.7 and 3.44.6); install a wheel "
            "with the native engine, or a Python that links a fixed SQLite",
            SQLiteVersionWarning,
            stacklevel=5,  # whoever called `fencepost.open`
        )
