"""The errors of fencepost, one hierarchy with stable codes.

An error says what was wrong and what to do, names the table and the key where it has
them, and keeps SQLite's extended result code as a field. The engines never word an
error: they call `refusal`, and `failures.sqlite_failure`, so both say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from .holders import Holder


class FencepostError(Exception):
    """Base of every error that the store raises on purpose.

    Attributes:
        code: the stable word for this kind of error, the same in every port.
        table: the table concerned, or None.
        key: the row concerned, as text, or None.
        sqlite_code: SQLite's extended result code, or None where SQLite had no part.
        retryable: whether the same call may succeed later; nothing was changed.
    """

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        table: str | None = None,
        key: str | None = None,
        sqlite_code: int | None = None,
    ) -> None:
        super().__init__(message)
        self.table = table
        self.key = key
        self.sqlite_code = sqlite_code

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (type(self), self.args, self.__dict__))


def _restore(
    cls: type[FencepostError], args: tuple[str, ...], fields: dict[str, object]
) -> FencepostError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class InvalidArgumentError(FencepostError, ValueError):
    """An argument breaks a rule of the store; nothing was written."""

    code = "invalid"


class ValueTooLargeError(InvalidArgumentError):
    """A spec, status, input or payload is larger than its limit."""

    code = "too_large"


class ResourceNotFoundError(FencepostError, LookupError):
    """There is no resource under this controller and key."""

    code = "resource_not_found"


class UnknownResourceError(FencepostError, LookupError):
    """There is no resource with this uid."""

    code = "unknown_resource"


class ResourceConflictError(FencepostError):
    """The resource has another version than the caller expected: read it again."""

    code = "resource_conflict"


class ResourceNotReadyError(FencepostError):
    """Deletion was not requested, or finalizers remain."""

    code = "not_ready_for_deletion"


class EffectConflictError(FencepostError):
    """The effect key was reserved for another request."""

    code = "effect_conflict"


class EffectNotFoundError(FencepostError, LookupError):
    """There is no effect under this key."""

    code = "effect_not_found"


class EffectSettledError(FencepostError):
    """The effect has reached a final state, which never changes."""

    code = "effect_terminal"


class RequestConflictError(FencepostError):
    """The request key was reserved for another workflow or input."""

    code = "workflow_conflict"


class RequestNotFoundError(FencepostError, LookupError):
    """There is no request with this id."""

    code = "workflow_request_not_found"


class RunExistsError(FencepostError):
    """The run id is in use."""

    code = "run_exists"


class ContinuationExistsError(FencepostError):
    """The parent has its one continuation already."""

    code = "continuation_exists"


class LeaseLostError(FencepostError):
    """A kept lease is over: another worker may own the work now, so stop."""

    code = "lease_lost"


class StoreBusyError(FencepostError):
    """Another process held the lock past the busy timeout; nothing was changed.

    Attributes:
        holders: the processes that held the write lock when the call gave up; empty where
            none did any more, None where the system does not tell (any but Linux).
    """

    code = "busy"
    retryable = True

    def __init__(
        self,
        message: str,
        *,
        table: str | None = None,
        key: str | None = None,
        sqlite_code: int | None = None,
        holders: tuple[Holder, ...] | None = None,
    ) -> None:
        super().__init__(message, table=table, key=key, sqlite_code=sqlite_code)
        self.holders = holders


class StoreFullError(FencepostError):
    """The disk, or the database's page limit, is full; nothing was changed."""

    code = "full"


class StoreIOError(FencepostError):
    """The operating system refused to read, write, open or lock the file."""

    code = "io"


class CorruptStoreError(FencepostError):
    """The file is no SQLite database, or is damaged."""

    code = "corrupt"


class CorruptRowError(FencepostError):
    """A stored value can't be read; table, key and column say which."""

    code = "corrupt_row"

    def __init__(self, message: str, *, table: str, key: str, column: str) -> None:
        super().__init__(message, table=table, key=key)
        self.column = column


class ReadOnlyStoreError(FencepostError):
    """The store, or the file, is read-only."""

    code = "read_only"


class StoreClosedError(FencepostError):
    """The store was closed."""

    code = "closed"


class UnsupportedSchemaError(FencepostError):
    """The file has another layout than this version knows; nothing was written to it."""

    code = "unsupported_schema"


class EngineUnavailableError(FencepostError, ImportError):
    """The engine that was asked for can't be loaded here."""

    code = "engine_unavailable"


class EngineConflictError(FencepostError):
    """A second SQLite library would open a file that this process has open already."""

    code = "engine_conflict"


class ForkedStoreError(FencepostError):
    """The store was opened before a fork and is used in the child."""

    code = "forked"


class InternalError(FencepostError):
    """A defect of fencepost itself; the transaction was rolled back."""

    code = "internal"


# code: class, table, message with the subject's parts. The first parts name the row.
_REFUSALS: dict[str, tuple[type[FencepostError], str, int, str]] = {
    "resource_not_found": (
        ResourceNotFoundError,
        "resources",
        2,
        "no resource {0}/{1}; put it first",
    ),
    "unknown_resource": (
        UnknownResourceError,
        "resources",
        1,
        "no resource has the uid {0!r}; it was deleted or never put",
    ),
    "resource_conflict": (
        ResourceConflictError,
        "resources",
        2,
        "resource {0}/{1} has version {3}, not {2}; read it again and decide anew",
    ),
    "not_ready_for_deletion": (
        ResourceNotReadyError,
        "resources",
        2,
        "resource {0}/{1} is not ready for deletion; request its deletion and clear its finalizers",
    ),
    "effect_conflict": (
        EffectConflictError,
        "effects",
        2,
        "effect {0}/{1} was reserved with another fingerprint, generation or kind; "
        "use another key for another effect",
    ),
    "effect_not_found": (EffectNotFoundError, "effects", 2, "no effect {0}/{1}; reserve it first"),
    "effect_terminal": (
        EffectSettledError,
        "effects",
        2,
        "effect {0}/{1} is already {2}, which is final",
    ),
    "workflow_conflict": (
        RequestConflictError,
        "workflow_requests",
        2,
        "request {0}/{1} was reserved with another workflow or input; "
        "use another key for another request",
    ),
    "workflow_request_not_found": (
        RequestNotFoundError,
        "workflow_requests",
        1,
        "no request has the id {0!r}; reserve it first",
    ),
    "run_exists": (
        RunExistsError,
        "workflow_run_queue",
        1,
        "run {0!r} exists already; use a new run id",
    ),
    "continuation_exists": (
        ContinuationExistsError,
        "workflow_run_queue",
        1,
        "run {0!r} has a continuation already: {1!r}; a parent is continued once",
    ),
    "lease_out_of_range": (
        InvalidArgumentError,
        "",
        0,
        "lease_ms: a lease of {0} ms would end after the year 9999; use a shorter one",
    ),
    "clock_out_of_range": (
        InvalidArgumentError,
        "",
        0,
        "now: the clock gives {0} ms, which is outside the years 1 to 9999; set the clock right",
    ),
    "closed": (StoreClosedError, "", 0, "the store is closed; open it again"),
    "forked": (
        ForkedStoreError,
        "",
        0,
        "the store was opened before a fork; open a store of its own in each process, "
        "and close the parent's before forking or start children by exec",
    ),
    "file_gone": (
        StoreIOError,
        "",
        0,
        "{0}: the file was deleted, moved or replaced under the store; nothing was changed, "
        "close the store and open it again",
    ),
    "read_only": (
        ReadOnlyStoreError,
        "",
        0,
        "{0}: the store was opened read-only; open it for writing",
    ),
    "reentrant": (
        StoreBusyError,
        "",
        0,
        "the store was called from inside a call of the same thread (a signal handler, a clock); "
        "call it after that call has returned",
    ),
    "internal": (
        InternalError,
        "",
        0,
        "a defect in fencepost: {0}; the transaction was rolled back, please report it",
    ),
}


def refusal(code: str, *subject: str | int) -> FencepostError:
    """The error for a refusal by an engine.

    Arguments:
        code: a key of the table above; for most it is the error's own code.
        subject: what the message speaks of, the row's key first.
    """
    cls, table, key_parts, template = _REFUSALS[code]
    key = "/".join(str(part) for part in subject[:key_parts])
    return cls(template.format(*subject), table=table or None, key=key or None)
