"""Canonical JSON: one text for one value, the same in every port of the store.

The rules are ECMAScript's: `JSON.stringify` for strings and numbers (ECMA-262,
Number::toString), and the order of own property keys for objects (array indexes first,
in numeric order, then the others; here these are sorted by UTF-16 code units, as in
RFC 8785). The writer keeps its own stack, so that no nesting can overflow Python's.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from json.encoder import encode_basestring
from typing import Any, TypeAlias

from . import quick
from .errors import InvalidArgumentError, ValueTooLargeError
from .shown import shown

MAX_SAFE_INTEGER = 2**53 - 1
MAX_DEPTH = 512

_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_MAX_ARRAY_INDEX = 4_294_967_294
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_FEWEST_LONG_DIGITS = 16
_LONG_DIGITS = re.compile(r"[0-9]{16}")

_Scan: TypeAlias = "Callable[[str, int], tuple[Any, int]]"


def fingerprint(value: object) -> str:
    """The SHA-256, in hex, of the canonical text of `value`.

    Raises InvalidArgumentError as `canonical_json` does.
    """
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def canonical_json(value: object, argument: str = "value", most: int | None = None) -> str:
    """The canonical text of a JSON value.

    Arguments:
        value: None, bool, int, float, str, list, tuple or dict with text keys, nested up
            to 512 deep.
        argument: the name by which errors call the value.
        most: characters at most; a value that holds itself twice, again and again, would
            have no end otherwise.

    Raises InvalidArgumentError, with the path of the member, for NaN and infinities,
    integers beyond 2**53-1, keys that are no text, cycles, deeper nesting, and whatever
    else is no JSON, and ValueTooLargeError beyond `most`.
    """
    text = quick.canonical_json(value, most)
    return reference_json(value, argument, most) if text is None else text


def reference_json(value: object, argument: str = "value", most: int | None = None) -> str:
    """`canonical_json` by the rules alone, without the native extension."""
    parts: list[str] = []
    size = 0
    stack: list[_Frame] = []
    open_containers: set[int] = set()
    current = value
    while True:
        text = _scalar(current, argument, stack)
        if text is not None:
            parts.append(text)
            size += len(text)
        else:
            if len(stack) >= MAX_DEPTH:
                raise _refused(argument, stack, f"nested deeper than {MAX_DEPTH}; flatten it")
            if id(current) in open_containers:
                raise _refused(argument, stack, "contains itself; break the cycle")
            open_containers.add(id(current))
            frame = _Frame(current, argument, stack)
            stack.append(frame)
            parts.append(frame.opening)
            size += 2
        if most is not None and size > most:
            raise too_large(argument, most)
        while stack:
            frame = stack[-1]
            step = next(frame.members, _END)
            if step is _END:
                parts.append(frame.closing)
                open_containers.discard(frame.identity)
                stack.pop()
                continue
            frame.place, prefix, current = step
            parts.append(prefix)
            size += len(prefix)
            break
        else:
            return "".join(parts)


_END: Any = object()


class _Frame:
    """One open array or object of the writer: what is still to be written of it."""

    __slots__ = ("closing", "identity", "members", "opening", "place")

    def __init__(self, container: Any, argument: str, stack: list[_Frame]) -> None:
        self.identity = id(container)
        self.place: str | int = ""
        if issubclass(type(container), dict):
            self.opening, self.closing = "{", "}"
            self.members = _object_members(container, argument, stack)
        else:
            self.opening, self.closing = "[", "]"
            self.members = _array_members(container)


def _array_members(array: Any) -> Iterator[tuple[str | int, str, Any]]:
    # The items that are there, not those that a subclass shows.
    members = list.__iter__ if issubclass(type(array), list) else tuple.__iter__
    for index, item in enumerate(members(array)):
        yield index, "," if index else "", item


def _object_members(
    members: dict[Any, Any], argument: str, stack: list[_Frame]
) -> Iterator[tuple[str | int, str, Any]]:
    keys: dict[str, Any] = {}
    for key, item in dict.items(members):
        if not issubclass(type(key), str):
            raise _refused(argument, stack[:-1], f"has the key {shown(key)}; keys must be text")
        plain = _well_formed(key)
        if plain in keys:
            raise _refused(argument, stack[:-1], f"has two keys that are both {shown(plain)}")
        keys[plain] = item
    separator = ""
    for key in sorted(keys, key=_key_order):
        yield key, f"{separator}{_quoted(key)}:", keys[key]
        separator = ","


def _key_order(key: str) -> tuple[int, int, bytes]:
    if _ARRAY_INDEX.fullmatch(key) and int(key) <= _MAX_ARRAY_INDEX:
        return 0, int(key), b""
    return 1, 0, key.encode("utf-16-be", "surrogatepass")


def _scalar(value: Any, argument: str, stack: list[_Frame]) -> str | None:
    """The text of a scalar, None for a container; refuses what is no JSON."""
    # The type itself is asked: an object can lie about its __class__.
    kind = type(value)
    if issubclass(kind, str):
        return _quoted(_well_formed(value))
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if issubclass(kind, int):
        number = int.__int__(value)
        if not -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
            raise _refused(argument, stack, "is an integer beyond 2**53-1; send it as text")
        return int.__repr__(number)
    if issubclass(kind, float):
        real = float.__float__(value)
        if not math.isfinite(real):
            raise _refused(argument, stack, f"is {float.__repr__(real)}, which JSON does not have")
        return _number(real)
    if issubclass(kind, (dict, list, tuple)):
        return None
    raise _refused(argument, stack, f"is a {kind.__name__}, which JSON does not have")


def _number(value: float) -> str:
    """ECMAScript's Number::toString: Python's digits are the same, its layout is not."""
    if value == 0:
        return "0"
    text = float.__repr__(value)
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return mantissa.removesuffix(".0")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = whole + fraction.rstrip("0")
    point = int(exponent) + 1
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{point - 1:+d}"


def _well_formed(text: str) -> str:
    """Plain `str`, in which a high and a low surrogate stand as their one character."""
    plain = str.__str__(text)
    if plain.isascii() or _SURROGATE.search(plain) is None:
        return plain
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _quoted(text: str) -> str:
    quoted: str = encode_basestring(text)
    if text.isascii():
        return quoted
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def too_large(argument: str, most: int) -> ValueTooLargeError:
    """The error for a value whose canonical text is longer than its limit."""
    return ValueTooLargeError(
        f"{argument}: has more than {most} bytes of canonical JSON; "
        "store large data elsewhere and refer to it"
    )


def _refused(argument: str, stack: list[_Frame], what: str) -> InvalidArgumentError:
    path = argument
    for frame in stack:
        if isinstance(frame.place, int):
            path += f"[{frame.place}]"
        elif _PLAIN_NAME.fullmatch(frame.place):
            path += f".{frame.place}"
        else:
            path += f"[{shown(frame.place)}]"
    if len(path) > 300:
        path = f"{path[:140]}...{path[-140:]}"
    return InvalidArgumentError(f"{path} {what}")


def parse_json(text: str) -> Any:
    """The value of a JSON text, read as ECMAScript reads it.

    Integers beyond 2**53-1 become floats. Raises ValueError for what is no JSON, and for
    text nested too deep to read.
    """
    length = len(text)
    long = length >= _FEWEST_LONG_DIGITS and _LONG_DIGITS.search(text) is not None
    try:
        # What `raw_decode` calls: most texts are short, and its frame would be half of the cost.
        value, end = (_SCAN_LONG if long else _SCAN)(text, 0)
        if end == length:
            return value
    except (StopIteration, ValueError, RecursionError):
        # Whitespace in front is JSON too; what is not, the decoder refuses below.
        pass
    read = partial((_WITH_LONG_NUMBERS if long else _PLAIN).decode, text)
    try:
        return read()
    except RecursionError:
        # The caller's own calls may have used up the stack: a thread begins with a new one.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(max_workers=1) as thread:
            try:
                return thread.submit(read).result()
            except RecursionError:
                raise ValueError("nested too deep to read") from None


def _number_from_digits(digits: str) -> int | float:
    if len(digits) <= 17:
        number = int(digits)
        if -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
            return number
    return float(digits)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_PLAIN = json.JSONDecoder(parse_constant=_no_constant)
_WITH_LONG_NUMBERS = json.JSONDecoder(parse_constant=_no_constant, parse_int=_number_from_digits)
_SCAN: _Scan = _PLAIN.scan_once  # type: ignore[attr-defined]
_SCAN_LONG: _Scan = _WITH_LONG_NUMBERS.scan_once  # type: ignore[attr-defined]
