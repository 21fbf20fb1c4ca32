"""The systems under test: fencepost's engines, and other people's queues.

`engines` opens fencepost itself; everything else here tests a queue through an adapter.
"""

from __future__ import annotations

from .engines import ENGINES, MUTANT, engine_of, open_store

__all__ = ["ENGINES", "MUTANT", "engine_of", "open_store"]
