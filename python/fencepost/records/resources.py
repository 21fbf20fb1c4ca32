"""Records of resources: desired state, observed state, and what they are stored as.

A status is stored with camelCase members. Members that this version does not know are
kept in `extra` and written back as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from ..engine.protocol import Row
from ..errors import InvalidArgumentError
from ..shown import shown
from ..validation import any_text, integer, items as checked_items
from .base import Columns, Read, Record, read_nested, split_members

COLUMNS = Columns(
    "resources",
    "uid controller resource_key resource_version generation spec_json status_json "
    "deletion_timestamp finalizers_json",
    key="controller resource_key",
    integers="resource_version generation",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRecord(Record):
    """A record whose stored form may have members that this version does not know."""

    _stored_names: ClassVar[dict[str, str]] = {}

    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.extra, dict):
            raise InvalidArgumentError(f"{type(self).__name__}: extra is no dict")
        for name in self._stored_names.values():
            if name in self.extra:
                raise InvalidArgumentError(
                    f"{type(self).__name__}: extra has {name}, which is a member of its own"
                )

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON values; unknown members stand beside the known."""
        plain = super(OpenRecord, self).to_dict()
        return {**plain.pop("extra"), **plain}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The record of such a dict; unknown members go to `extra`."""
        members, others = split_members(cls, data)
        if "extra" in data:
            raise InvalidArgumentError(f"{cls.__name__}: the member extra is not part of a dict")
        for name in others:
            if name in cls._stored_names.values():
                raise InvalidArgumentError(
                    f"{cls.__name__}: {name} is the stored name; use the snake_case one"
                )
        return cls(**cls._with_nested(members, read_nested), extra=others)

    def to_stored(self) -> dict[str, Any]:
        """The camelCase form that the file holds."""
        stored = dict(self.extra)
        for name, stored_name in self._stored_names.items():
            value = getattr(self, name)
            if value is None and name in self._absent_when_none:
                continue
            stored[stored_name] = _stored(value)
        return stored


def _stored(value: Any) -> Any:
    if isinstance(value, OpenRecord):
        return value.to_stored()
    if isinstance(value, tuple):
        # One level: deeper down are the caller's own values, however deep.
        return [item.to_stored() if isinstance(item, OpenRecord) else item for item in value]
    return value


def _from_stored(cls: type[Any], stored: Any) -> Any:
    if not isinstance(stored, dict):
        raise InvalidArgumentError(f"{cls.__name__}: expected an object")
    rest = dict(stored)
    members = {
        name: rest.pop(stored_name)
        for name, stored_name in cls._stored_names.items()
        if stored_name in rest
    }
    known, _ = split_members(cls, members)
    return cls(**cls._with_nested(known, _from_stored), extra=rest)


@dataclass(frozen=True, slots=True)
class Condition(OpenRecord):
    """One aspect of a resource's state, as in Kubernetes' API conventions."""

    _stored_names: ClassVar[dict[str, str]] = {
        "type": "type",
        "status": "status",
        "reason": "reason",
        "message": "message",
        "observed_generation": "observedGeneration",
        "last_transition_time": "lastTransitionTime",
    }
    _absent_when_none: ClassVar[frozenset[str]] = frozenset({"message"})

    type: str
    status: bool | str
    reason: str
    observed_generation: int
    last_transition_time: str
    message: str | None = None

    def __post_init__(self) -> None:
        OpenRecord.__post_init__(self)
        any_text(self.type, "condition.type")
        any_text(self.reason, "condition.reason")
        any_text(self.last_transition_time, "condition.last_transition_time")
        integer(self.observed_generation, "condition.observed_generation")
        if self.message is not None:
            any_text(self.message, "condition.message")
        if type(self.status) is not bool and self.status != "unknown":
            raise InvalidArgumentError(
                f"condition.status: {shown(self.status)} is neither a bool nor 'unknown'"
            )


@dataclass(frozen=True, slots=True)
class WorkflowRunStatus(OpenRecord):
    """The child workflow that a resource is waiting for."""

    _stored_names: ClassVar[dict[str, str]] = {
        "request_id": "requestId",
        "run_id": "runId",
        "state": "state",
        "attempt": "attempt",
    }
    _absent_when_none: ClassVar[frozenset[str]] = frozenset({"run_id"})

    request_id: str
    state: str
    attempt: int
    run_id: str | None = None

    def __post_init__(self) -> None:
        OpenRecord.__post_init__(self)
        any_text(self.request_id, "workflow_run.request_id")
        any_text(self.state, "workflow_run.state")
        integer(self.attempt, "workflow_run.attempt")
        if self.run_id is not None:
            any_text(self.run_id, "workflow_run.run_id")


@dataclass(frozen=True, slots=True)
class ResourceStatus(OpenRecord):
    """The observed state of a resource."""

    _stored_names: ClassVar[dict[str, str]] = {
        "observed_generation": "observedGeneration",
        "conditions": "conditions",
        "controller_status": "controllerStatus",
        "workflow_run": "workflowRun",
    }
    _absent_when_none: ClassVar[frozenset[str]] = frozenset({"workflow_run"})

    observed_generation: int
    conditions: tuple[Condition, ...] = ()
    controller_status: Any = None
    workflow_run: WorkflowRunStatus | None = None

    def __post_init__(self) -> None:
        OpenRecord.__post_init__(self)
        integer(self.observed_generation, "status.observed_generation")
        object.__setattr__(self, "conditions", _listed(self.conditions))
        for condition in self.conditions:
            _expect(Condition, condition, "status.conditions")
        if self.workflow_run is not None:
            _expect(WorkflowRunStatus, self.workflow_run, "status.workflow_run")

    @classmethod
    def from_stored(cls, stored: Any) -> Self:
        """The record of the stored form; InvalidArgumentError where it can't be read."""
        status: Self = _from_stored(cls, stored)
        return status

    @classmethod
    def _with_nested(cls, members: dict[str, Any], read: Read) -> dict[str, Any]:
        conditions = tuple(read(Condition, item) for item in _listed(members.get("conditions", ())))
        run = members.get("workflow_run")
        if run is not None:
            run = read(WorkflowRunStatus, run)
        return {**members, "conditions": conditions, "workflow_run": run}


def _listed(conditions: Any) -> tuple[Any, ...]:
    if not isinstance(conditions, (list, tuple)):
        raise InvalidArgumentError("status.conditions: expected a list")
    return tuple(conditions)


def _expect(kind: type[Record], value: Any, argument: str) -> None:
    if not isinstance(value, kind):
        raise InvalidArgumentError(
            f"{argument}: expected a {kind.__name__}, not {type(value).__name__}; "
            f"{kind.__name__}.from_dict makes one of a dict"
        )


@dataclass(frozen=True, slots=True)
class ResourceMetadata(Record):
    """Who a resource is, and its versions.

    `resource_version` grows with every change, `generation` with every new spec.
    """

    _absent_when_none: ClassVar[frozenset[str]] = frozenset({"deletion_timestamp"})

    uid: str
    controller: str
    key: str
    resource_version: int
    generation: int
    finalizers: tuple[str, ...]
    deletion_timestamp: str | None = None

    @classmethod
    def _with_nested(cls, members: dict[str, Any], _read: Read) -> dict[str, Any]:
        return {**members, "finalizers": tuple(checked_items(members["finalizers"], "finalizers"))}


@dataclass(frozen=True, slots=True)
class Resource(Record):
    """A desired state (`spec`) and the observed one (`status`) that a controller reconciles."""

    metadata: ResourceMetadata
    spec: Any
    status: ResourceStatus

    @classmethod
    def _with_nested(cls, members: dict[str, Any], read: Read) -> dict[str, Any]:
        metadata = read(ResourceMetadata, members["metadata"])
        return {**members, "metadata": metadata, "status": read(ResourceStatus, members["status"])}

    @classmethod
    def from_row(cls, row: Row) -> Resource:
        """The record of a row of `resources.get`."""
        COLUMNS.check(row)
        stored_status = COLUMNS.json(row, "status_json")
        try:
            status = ResourceStatus.from_stored(stored_status)
        except InvalidArgumentError as error:
            raise COLUMNS.corrupt(row, "status_json", f"is no status ({error})") from None
        finalizers = COLUMNS.json(row, "finalizers_json")
        if not isinstance(finalizers, list) or not all(isinstance(n, str) for n in finalizers):
            raise COLUMNS.corrupt(row, "finalizers_json", "is no list of names")
        uid, controller, key, version, generation, _, _, deleted_at, _ = row
        metadata = ResourceMetadata(
            uid, controller, key, version, generation, tuple(finalizers), deleted_at
        )
        return cls(metadata, COLUMNS.json(row, "spec_json"), status)
