"""Times as the store writes them, and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


@lru_cache(maxsize=4096)
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.")


@lru_cache(maxsize=4096)
def text_of(ms: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    return f"{_second(ms // 1000)}{ms % 1000:03d}Z"


def ms_of(text: str) -> int:
    """The inverse of `text_of`; any offset is understood."""
    return (datetime.fromisoformat(text) - _EPOCH) // _MS
