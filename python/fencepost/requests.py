"""Child requests: workflows that a resource asks for, each asked for once."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, Literal

from .facet import Facet, new_token
from .pages import DEFAULT_PAGE, Page, each
from .records import Request, Reservation
from .validation import choice, error_text, integer, key as checked_key, optional_text, text

STATES = ("pending", "running", "waiting", "succeeded", "failed", "interrupted")


class Unset(Enum):
    """The type of `UNSET`, which stands for an argument that was left out."""

    UNSET = "UNSET"


UNSET: Final = Unset.UNSET


class Requests(Facet):
    """`store.requests`."""

    __slots__ = ()

    def reserve(
        self, *, resource_uid: str, request_key: str, workflow: str, input_fingerprint: str
    ) -> Reservation[Request]:
        """Ask for a child workflow, state `"pending"`, attempt 0.

        Returns the record and whether this call created it; the same key with the same
        workflow and fingerprint gives the present record. Raises RequestConflictError for
        other ones, UnknownResourceError.
        """
        row, created = self._engine.reserve_request(
            text(resource_uid, "resource_uid"),
            checked_key(request_key, "request_key"),
            checked_key(workflow, "workflow"),
            text(input_fingerprint, "input_fingerprint"),
            new_token(),
        )
        return Reservation(Request.from_row(row), created)

    def get(self, *, resource_uid: str, request_key: str) -> Request | None:
        """The request under a resource's key, or None."""
        params = {
            "resource_uid": text(resource_uid, "resource_uid"),
            "request_key": checked_key(request_key, "request_key"),
        }
        return self._first("requests.get", {**params}, Request.from_row)

    def get_by_id(self, *, request_id: str) -> Request | None:
        """The request with this id, or None."""
        params = {"request_id": text(request_id, "request_id")}
        return self._first("requests.get_by_id", {**params}, Request.from_row)

    def update(
        self,
        *,
        request_id: str,
        state: str,
        run_id: str | Literal[Unset.UNSET] | None = UNSET,
        attempt: int | Literal[Unset.UNSET] = UNSET,
        error: str | Literal[Unset.UNSET] | None = UNSET,
    ) -> Request:
        """Record how the child workflow goes on.

        What is left out keeps its value; None clears `run_id` and `error`. Raises
        RequestNotFoundError.
        """
        row = self._engine.update_request(
            text(request_id, "request_id"),
            choice(state, "state", STATES),
            None if run_id is UNSET else optional_text(run_id, "run_id"),
            run_id is not UNSET,
            None if attempt is UNSET else integer(attempt, "attempt"),
            None if error is UNSET else error_text(error),
            error is not UNSET,
        )
        return Request.from_row(row)

    def list(
        self, *, resource_uid: str, limit: int | None = None, cursor: str | None = None
    ) -> Page[Request]:
        """The requests of a resource in the order of their insertion."""
        return self._page(
            "requests.list",
            {"resource_uid": text(resource_uid, "resource_uid")},
            limit,
            cursor,
            {"after_rowid": -(2**63) + 1},
            Request.from_row,
            lambda row: (row[9],),
        )

    def iterate(self, *, resource_uid: str, page_size: int = DEFAULT_PAGE) -> Iterator[Request]:
        """`list` as an iterator, read page by page without holding a transaction open."""
        return each(
            lambda cursor: self.list(resource_uid=resource_uid, limit=page_size, cursor=cursor)
        )
