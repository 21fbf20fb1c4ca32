"""The properties, one module each.

Every checker is a fold over the events of `timeline.join`: the same events and end
always give the same finding, and it touches nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from .base import Checker, End, Finding, Violation
from .c1_continuation import Continuation
from .d1_durable import Durable
from .f1_overlap import Overlap
from .f2_stale import Stale
from .f3_expired import Expired
from .f4_fences import Fences
from .i1_integrity import Integrity
from .q1_wakeups import Wakeups
from .q2_events import Events
from .r1_replay import Replay
from .s1_drained import Drained

__all__ = ["CHECKERS", "Checker", "End", "Finding", "Violation"]

CHECKERS: tuple[Callable[[], Checker], ...] = (
    Overlap,
    Stale,
    Expired,
    Fences,
    Continuation,
    Drained,
    Wakeups,
    Events,
    Durable,
    Integrity,
    Replay,
)
