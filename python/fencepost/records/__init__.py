"""The records that the store gives: frozen values with the vectors' member names."""

from .effects import Effect, Event, Request, Reservation
from .queue import QueueClaim, QueueItem
from .resources import Condition, Resource, ResourceMetadata, ResourceStatus, WorkflowRunStatus
from .runs import Run, RunClaim, RunEvent

__all__ = [
    "Condition",
    "Effect",
    "Event",
    "QueueClaim",
    "QueueItem",
    "Request",
    "Reservation",
    "Resource",
    "ResourceMetadata",
    "ResourceStatus",
    "Run",
    "RunClaim",
    "RunEvent",
    "WorkflowRunStatus",
]
