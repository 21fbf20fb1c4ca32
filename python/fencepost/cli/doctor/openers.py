"""Who has the store open, with which engine, and who keeps its log from shrinking."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..output import size
from ..processes import Opener, openers
from .finding import Finding

LARGE_LOG_BYTES = 64 * 1024 * 1024


def look_at_openers(path: str) -> Iterator[Finding]:
    """Findings about the processes and the log, before this process opens the store."""
    found = openers(path)
    processes = found or []
    if processes:
        yield Finding(
            "open",
            "note",
            f"is open in {'; '.join(map(str, processes))}",
            "this is usual; doctor does not disturb them",
            {"processes": [opener.to_dict() for opener in processes]},
        )
    writers = [opener for opener in processes if "write" in opener.holds]
    if writers:
        yield Finding(
            "locked",
            "note",
            f"the write lock is held by {' and by '.join(map(str, writers))}",
            "usual for a moment; if the next look finds the same process, others get "
            "StoreBusyError until it ends its transaction or is ended",
            {"writers": [opener.pid for opener in writers]},
        )
    engines = {tuple(opener.engines) for opener in processes if opener.engines}
    if len({engine for names in engines for engine in names}) > 1:
        yield Finding(
            "both_engines",
            "note",
            "processes with both engines, or with both libraries loaded, have it open",
            "fine between processes; inside one process the store refuses the second engine",
            {"engines": sorted({engine for names in engines for engine in names})},
        )
    yield from _log(path, processes)


def _log(path: str, processes: list[Opener]) -> Iterator[Finding]:
    try:
        length = os.path.getsize(f"{path}-wal")
    except OSError:
        return
    if length > LARGE_LOG_BYTES:
        readers = [opener for opener in processes if "read" in opener.holds]
        who = f"; {'; '.join(map(str, readers))} reads at this moment" if readers else ""
        yield Finding(
            "large_log",
            "warning",
            f"the write-ahead log has {size(length)}{who}",
            "end long reads, then `fencepost checkpoint --mode truncate`",
            {"wal_bytes": length, "readers": [opener.pid for opener in readers]},
        )
