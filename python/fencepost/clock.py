"""Time: milliseconds since the epoch inside, ISO 8601 text in UTC at the edges.

Stored text has the one form `YYYY-MM-DDTHH:MM:SS.mmmZ` (ECMAScript's `toISOString`),
so that the order of texts is the order of times.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from .engine.protocol import MAX_TIME_MS
from .errors import InvalidArgumentError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MILLIS = [f".{millis:03d}Z" for millis in range(1000)]
MIN_TIME_MS = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // _MILLISECOND
_ECMASCRIPT_LIMIT_MS = 8_640_000_000_000_000

# A date alone means midnight in UTC, as in ECMAScript; a time needs its offset.
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?P<offset>Z|[+-]\d{2}:\d{2}))?",
    re.ASCII,
)


def system_clock() -> int:
    """The system's wall clock, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def iso_from_ms(ms: int) -> str:
    """The text of a time, as ECMAScript's `Date.prototype.toISOString` writes it.

    Times outside the years 0 to 9999, which only another store can have written, get
    the expanded year (`+010000-...`). Raises ValueError outside ECMAScript's range.
    """
    if MIN_TIME_MS <= ms <= MAX_TIME_MS:
        seconds, millis = divmod(ms, 1000)
        return _to_the_second(seconds) + _MILLIS[millis]
    if abs(ms) > _ECMASCRIPT_LIMIT_MS:
        raise ValueError(f"{ms} ms is no time that ECMAScript can represent")
    # The Gregorian calendar repeats every 400 years: shift into datetime's range.
    cycles, rest = divmod(ms - MIN_TIME_MS, 146_097 * 86_400_000)
    text = iso_from_ms(rest + MIN_TIME_MS)
    year = int(text[:4]) + 400 * cycles
    sign = "-" if year < 0 else "+"
    shown = f"{year:04d}" if 0 <= year <= 9999 else f"{sign}{abs(year):06d}"
    return shown + text[4:]


@lru_cache(maxsize=64)
def _to_the_second(seconds: int) -> str:
    # Leases that are handed out in one second end in one second, too.
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]


def ms_from_time(value: datetime | str, argument: str) -> int:
    """Milliseconds since the epoch of an aware datetime or an ISO 8601 text.

    Finer fractions are cut. Raises InvalidArgumentError for anything else, naive
    datetimes and texts without an offset among it: their meaning would depend on the
    machine's time zone.
    """
    given: Any = value
    kind = type(given)
    if issubclass(kind, datetime):
        moment: datetime = given
    elif issubclass(kind, str):
        text = str.__str__(given)
        match = _ISO.fullmatch(text)
        if match is None:
            raise InvalidArgumentError(
                f"{argument}: {text[:60]!r} is no ISO 8601 time with an offset; "
                "give one like 2026-08-04T09:30:00.000Z"
            )
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise InvalidArgumentError(f"{argument}: {text!r} is no time: {error}") from None
        if match["offset"] is None:
            moment = moment.replace(tzinfo=UTC)
    else:
        raise InvalidArgumentError(
            f"{argument}: expected an aware datetime or an ISO 8601 text, not {kind.__name__}"
        )
    if moment.utcoffset() is None:
        raise InvalidArgumentError(
            f"{argument}: a naive datetime has no time zone; use datetime.now(timezone.utc)"
        )
    ms = (moment - _EPOCH) // _MILLISECOND
    if not MIN_TIME_MS <= ms <= MAX_TIME_MS:
        raise InvalidArgumentError(f"{argument}: outside the years 1 to 9999 in UTC")
    return ms
