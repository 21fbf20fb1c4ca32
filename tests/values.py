"""Values that break rules, and objects that lie about themselves."""

from __future__ import annotations

import enum
from datetime import datetime

NOT_TEXT = [None, 5, b"a", ["a"], True, object()]
GOOD_NAMES = ["a", "Z", "a9", "A_.-", "a" * 5000]
BAD_NAMES = [
    "",
    "9a",
    "_a",
    "-a",
    ".a",
    "a b",
    "a/b",
    "a\n",
    "é",
    "aé",
    "a\x00",
    "\uff41",
    *NOT_TEXT,
]
GOOD_KEYS = ["a", " ", "x" * 512, "😀" * 256, "a/b#c?d é", "\x80", "\xa0", "\u2028", "'; --"]
BAD_KEYS = [
    "", "x" * 513, "😀" * 256 + "x", "a\n", "\x00", "a\x1f", "\x7f", "\ud800", "a\udfff",
    *NOT_TEXT,
]  # fmt: skip
GOOD_RUN_IDS = ["a", "9", "a.b_c-D", "x" * 200, "0...", "r.json"]
BAD_RUN_IDS = [
    "", "-a", ".a", "_a", "x" * 201, "a/b", "a\\b", "..", "a b", "a\n", "é", "a\x00", "٣",
    *NOT_TEXT,
]  # fmt: skip


class Unspeakable:
    """Anything asked of it fails."""

    def __repr__(self) -> str:
        raise ZeroDivisionError

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __hash__ = object.__hash__


class SaysDict:
    __class__ = dict  # type: ignore[assignment]


class SaysText:
    __class__ = str  # type: ignore[assignment]


class SaysInt:
    __class__ = int  # type: ignore[assignment]


class SaysDatetime:
    __class__ = datetime  # type: ignore[assignment]


class Colour(enum.Enum):
    RED = "red"
