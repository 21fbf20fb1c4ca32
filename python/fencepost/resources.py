"""Resources: a desired state and an observed one, reconciled by a controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from .engine.protocol import Value
from .facet import Facet, new_token
from .pages import DEFAULT_PAGE, Page, each
from .records import Resource, ResourceStatus
from .validation import (
    finalizers as checked_finalizers,
    integer,
    json_value,
    key as checked_key,
    name,
    text,
    time_ms,
)


class Resources(Facet):
    """`store.resources`. Updates compare and swap on the resource version."""

    __slots__ = ()

    def put(
        self,
        *,
        controller: str,
        key: str,
        spec: Any,
        initial_status: Any,
        now: datetime | str | None = None,
    ) -> Resource:
        """Create a resource, or give an existing one another spec; either enqueues it.

        Arguments:
            spec: the desired state, any JSON value of up to 1 MiB. Its canonical text
                decides whether it is another one; the same changes nothing.
            initial_status: the controller's own status of a new resource.

        Returns the resource as it is now.
        """
        status = ResourceStatus(0, (), initial_status)
        row = self._engine.put_resource(
            name(controller, "controller"),
            checked_key(key, "key"),
            new_token(),
            json_value(spec, "spec"),
            json_value(status.to_stored(), "initial_status"),
            time_ms(now),
        )
        return Resource.from_row(row)

    def get(self, *, controller: str, key: str) -> Resource | None:
        """The resource, or None."""
        return self._first("resources.get", _name(controller, key), Resource.from_row)

    def get_by_uid(self, *, uid: str) -> Resource | None:
        """The resource with this uid, or None."""
        return self._first("resources.get_by_uid", {"uid": text(uid, "uid")}, Resource.from_row)

    def list(
        self,
        *,
        controller: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Resource]:
        """Resources by (controller, key); all, or those of one controller."""
        if controller is None:
            start: dict[str, str | int] = {"after_controller": "", "after_key": ""}
            return self._page(
                "resources.list",
                {},
                limit,
                cursor,
                start,
                Resource.from_row,
                lambda row: (row[1], row[2]),
            )
        return self._page(
            "resources.list_by_controller",
            {"controller": name(controller, "controller")},
            limit,
            cursor,
            {"after_key": ""},
            Resource.from_row,
            lambda row: (row[2],),
        )

    def iterate(
        self, *, controller: str | None = None, page_size: int = DEFAULT_PAGE
    ) -> Iterator[Resource]:
        """`list` as an iterator, read page by page without holding a transaction open."""
        return each(lambda cursor: self.list(controller=controller, limit=page_size, cursor=cursor))

    def update_status(
        self,
        *,
        controller: str,
        key: str,
        expected_resource_version: int,
        status: ResourceStatus | Mapping[str, Any],
        finalizers: Iterable[str] | None = None,
        now: datetime | str | None = None,
    ) -> Resource:
        """Replace the status, and the finalizers where given.

        The same status and finalizers change nothing; anything else makes a new version.
        Does not enqueue. Raises ResourceNotFoundError, ResourceConflictError.
        """
        record = status if isinstance(status, ResourceStatus) else ResourceStatus.from_dict(status)
        row = self._engine.update_status(
            name(controller, "controller"),
            checked_key(key, "key"),
            _version(expected_resource_version),
            json_value(record.to_stored(), "status"),
            None if finalizers is None else checked_finalizers(finalizers),
            time_ms(now),
        )
        return Resource.from_row(row)

    def request_deletion(
        self, *, controller: str, key: str, now: datetime | str | None = None
    ) -> Resource:
        """Ask for the resource's end: sets its deletion timestamp once, enqueues every time.

        Raises ResourceNotFoundError.
        """
        row = self._engine.request_deletion(
            name(controller, "controller"), checked_key(key, "key"), time_ms(now)
        )
        return Resource.from_row(row)

    def update_finalizers(
        self,
        *,
        controller: str,
        key: str,
        expected_resource_version: int,
        finalizers: Iterable[str],
        now: datetime | str | None = None,
    ) -> Resource:
        """Replace the finalizers: names of what must be cleaned up before the deletion.

        Always makes a new version. Raises ResourceNotFoundError, ResourceConflictError.
        """
        row = self._engine.update_finalizers(
            name(controller, "controller"),
            checked_key(key, "key"),
            _version(expected_resource_version),
            checked_finalizers(finalizers),
            time_ms(now),
        )
        return Resource.from_row(row)

    def delete(self, *, controller: str, key: str, expected_resource_version: int) -> bool:
        """Delete the resource with its queue row, effects and requests.

        Returns False where it does not exist. Raises ResourceNotReadyError unless its
        deletion was requested and no finalizers remain, and ResourceConflictError.
        """
        return self._engine.delete_resource(
            name(controller, "controller"),
            checked_key(key, "key"),
            _version(expected_resource_version),
        )


def _name(controller: str, key: str) -> dict[str, Value]:
    return {"controller": name(controller, "controller"), "key": checked_key(key, "key")}


def _version(value: int) -> int:
    return integer(value, "expected_resource_version")
