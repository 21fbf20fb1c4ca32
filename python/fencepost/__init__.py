"""fencepost: durable work that many processes share through one SQLite file.

Each run is owned by exactly one live process, taken over when its owner dies, refused to
an owner that comes back too late, continued once, and never stranded.
"""

from . import errors, observing, paths
from ._version import __version__
from .canonical import canonical_json, fingerprint
from .engine.info import EngineInfo, engine_info
from .errors import FencepostError
from .guard import GuardWarning
from .holders import Holder
from .keeping import Lease
from .maintenance import Checkpoint, Pruned, Stats
from .opening import open
from .pages import Page
from .records import (
    Condition,
    Effect,
    Event,
    QueueClaim,
    QueueItem,
    Request,
    Reservation,
    Resource,
    ResourceMetadata,
    ResourceStatus,
    Run,
    RunClaim,
    RunEvent,
    WorkflowRunStatus,
)
from .requests import UNSET
from .sqlite_versions import SQLiteVersionWarning
from .store import Store
from .waiting import Ready

__all__ = [
    "UNSET",
    "Checkpoint",
    "Condition",
    "Effect",
    "EngineInfo",
    "Event",
    "FencepostError",
    "GuardWarning",
    "Holder",
    "Lease",
    "Page",
    "Pruned",
    "QueueClaim",
    "QueueItem",
    "Ready",
    "Request",
    "Reservation",
    "Resource",
    "ResourceMetadata",
    "ResourceStatus",
    "Run",
    "RunClaim",
    "RunEvent",
    "SQLiteVersionWarning",
    "Stats",
    "Store",
    "WorkflowRunStatus",
    "__version__",
    "canonical_json",
    "engine_info",
    "errors",
    "fingerprint",
    "observing",
    "open",
    "paths",
]
