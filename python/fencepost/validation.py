"""The rules that arguments must keep, checked before any write.

Each function gives the value back in the form that the engines take, or raises
InvalidArgumentError (ValueTooLargeError for sizes) with the argument's name, what was
wrong and what to do. Limits count what the shared format counts: UTF-16 code units for
keys, bytes of canonical UTF-8 for JSON.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from . import quick
from .canonical import MAX_SAFE_INTEGER, canonical_json, reference_json, too_large
from .clock import ms_from_time
from .errors import InvalidArgumentError
from .shown import shown

MAX_KEY_UNITS = 512
MAX_VALUE_BYTES = 1_048_576
MAX_EVENT_BYTES = 65_536
MAX_ERROR_CHARACTERS = 8_192
MAX_EVENTS_PAGE = 10_000

_SURELY_IN_LIMIT = MAX_KEY_UNITS // 2
"""So many characters have no more UTF-16 code units than a key may have."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_NOT_IN_KEY = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _wrong_type(value: object, argument: str, expected: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{argument}: expected {expected}, not {type(value).__name__}")


def _text(value: Any, argument: str) -> str:
    # The type itself is asked: an object can lie about its __class__.
    if issubclass(type(value), str):
        return str.__str__(value)
    raise _wrong_type(value, argument, "text")


def name(value: object, argument: str) -> str:
    """A controller, event type, effect kind or finalizer."""
    text = _text(value, argument)
    if _NAME.fullmatch(text) is None:
        raise InvalidArgumentError(
            f"{argument}: {text[:60]!r} is no name; use a letter, then letters, digits, '_.-'"
        )
    return text


def key(value: object, argument: str) -> str:
    """A resource, effect or request key, runner id, claim token, and the like."""
    # Nearly all keys: what can be printed has neither control characters nor surrogates.
    if type(value) is str and value.isprintable() and 0 < len(value) <= _SURELY_IN_LIMIT:
        return value
    text = _text(value, argument)
    units = len(text)
    if not text.isascii():
        units += sum(character > "\uffff" for character in text)
    if not 1 <= units <= MAX_KEY_UNITS:
        raise InvalidArgumentError(
            f"{argument}: has {units} UTF-16 code units; use 1 to {MAX_KEY_UNITS}"
        )
    if _NOT_IN_KEY.search(text) is not None:
        raise InvalidArgumentError(
            f"{argument}: {text[:60]!r} has a control character or a lone surrogate; remove it"
        )
    return text


def optional_key(value: object, argument: str) -> str | None:
    """A key, or None."""
    return None if value is None else key(value, argument)


def run_id(value: object, argument: str = "run_id") -> str:
    """A run id: safe as a file name."""
    text = value if type(value) is str else _text(value, argument)
    if _RUN_ID.fullmatch(text) is None:
        raise InvalidArgumentError(
            f"{argument}: {text[:60]!r} is no run id; use up to 200 letters, digits, '._-', "
            "a letter or a digit first"
        )
    return text


def any_text(value: object, argument: str) -> str:
    """Text inside a JSON value, where a lone surrogate is allowed too."""
    return _text(value, argument)


def text(value: object, argument: str) -> str:
    """Text without a rule of its own (a uid, a fingerprint); lone surrogates are refused."""
    plain = _text(value, argument)
    if _SURROGATE.search(plain) is not None:
        raise InvalidArgumentError(f"{argument}: has a lone surrogate; remove it")
    return plain


def optional_text(value: object, argument: str) -> str | None:
    """Text, or None."""
    return None if value is None else text(value, argument)


def error_text(value: object, argument: str = "error") -> str | None:
    """The text of an error as it is stored: cut at 8,192 UTF-16 code units, then `…`.

    A lone surrogate, which UTF-8 can't hold, becomes U+FFFD.
    """
    if value is None:
        return None
    plain = _text(value, argument)
    units = plain.encode("utf-16-le", "surrogatepass")
    if len(units) > 2 * MAX_ERROR_CHARACTERS:
        cut = units[: 2 * MAX_ERROR_CHARACTERS].decode("utf-16-le", "replace")
        return f"{_SURROGATE.sub(chr(0xFFFD), cut)}…"
    return _SURROGATE.sub("\ufffd", units.decode("utf-16-le", "surrogatepass"))


def integer(value: object, argument: str, *, least: int = 0, most: int = MAX_SAFE_INTEGER) -> int:
    """An integer within bounds; no bool, no float."""
    if type(value) is not int:
        raise _wrong_type(value, argument, "an integer")
    if not least <= value <= most:
        raise InvalidArgumentError(f"{argument}: {shown(value)} is not within {least} to {most}")
    return value


def lease_ms(value: object) -> int:
    """The length of a lease, in milliseconds."""
    if type(value) is int and 1 <= value <= MAX_SAFE_INTEGER:
        return value
    return integer(value, "lease_ms", least=1)


def optional_limit(value: object) -> int:
    """How many rows to list at most; None means all, which SQLite calls -1."""
    return -1 if value is None else integer(value, "limit", least=1)


def choice(value: object, argument: str, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    word = _text(value, argument)
    if word not in allowed:
        raise InvalidArgumentError(f"{argument}: {shown(word)} is none of {', '.join(allowed)}")
    return word


def time_ms(value: datetime | str | None, argument: str = "now") -> int | None:
    """A point in time in milliseconds since the epoch; None (the engine's clock) stays."""
    return None if value is None else ms_from_time(value, argument)


def items(value: object, argument: str) -> list[Any]:
    """The members of a list-like argument; text is refused, for it lists characters."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _wrong_type(value, argument, "a list")
    return list(value)


def finalizers(value: object) -> str:
    """The canonical text of a list of finalizers: names, no duplicates, order kept."""
    names = [
        name(item, f"finalizers[{index}]") for index, item in enumerate(items(value, "finalizers"))
    ]
    if len(set(names)) != len(names):
        raise InvalidArgumentError("finalizers: a name stands twice; remove one")
    return canonical_json(names)


def json_value(value: object, argument: str, most: int = MAX_VALUE_BYTES) -> str:
    """The canonical text of a JSON value of limited size."""
    canonical = quick.canonical_json(value, most)
    if canonical is None:
        canonical = reference_json(value, argument, most)
        if not canonical.isascii() and len(canonical.encode()) > most:
            raise too_large(argument, most)
    return canonical


def payload(value: object) -> str:
    """The canonical text of an event's payload: a JSON object, {} when absent."""
    if value is None:
        return "{}"
    if not isinstance(value, dict):
        raise _wrong_type(value, "payload", "a dict")
    return json_value(value, "payload", MAX_EVENT_BYTES)


def absolute_path(path: str | os.PathLike[str]) -> str:
    """The absolute path of a file."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidArgumentError(f"path: expected a path, not {type(path).__name__}")
    plain: Any = os.fspath(path)
    if not isinstance(plain, str) or not plain or "\0" in plain or not _encodable(plain):
        raise InvalidArgumentError(f"path: {shown(plain)} is no path of a file")
    return os.path.abspath(plain)


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True
