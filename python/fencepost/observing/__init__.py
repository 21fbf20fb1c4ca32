"""Watching a store at work: events for listeners, and adapters for metrics systems.

`docs/observing.md` has the table of the events. The adapters are modules of their own,
each with an extra: `fencepost.observing.opentelemetry`, `fencepost.observing.prometheus`.
"""

from .events import Listener, StoreEvent
from .hooks import Hooks

__all__ = ["Hooks", "Listener", "StoreEvent"]
