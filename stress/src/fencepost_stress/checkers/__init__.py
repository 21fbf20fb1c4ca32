"""The properties, one module each.

Every checker is a fold over the events of `timeline.join`: the same events and end
always give the same finding, and it touches nothing else.
"""

from __future__ import annotations

from .a1_refused import Refused
from .base import Checker, End, Finding, Violation
from .c1_continuation import Continuation
from .c2_freed import Freed
from .d1_durable import Durable
from .e1_once import Once
from .f1_overlap import Overlap
from .f2_stale import Stale
from .f3_expired import Expired
from .f4_fences import Fences
from .i1_integrity import Integrity
from .l1_patience import Patience
from .o1_order import Order
from .p1_pruned import Pruned
from .q1_wakeups import Wakeups
from .q2_events import Events
from .q3_woken import Woken
from .r1_replay import Replay
from .s1_drained import Drained
from .s2_takeover import Takeover
from .w1_feed import Feed

__all__ = ["CHECKERS", "Checker", "End", "Finding", "Violation"]

CHECKERS: tuple[type[Checker], ...] = (
    Overlap,
    Stale,
    Expired,
    Fences,
    Continuation,
    Freed,
    Drained,
    Takeover,
    Wakeups,
    Events,
    Woken,
    Once,
    Feed,
    Pruned,
    Durable,
    Refused,
    Order,
    Patience,
    Integrity,
    Replay,
)
