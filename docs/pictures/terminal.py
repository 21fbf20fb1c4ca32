"""A terminal's screen as SVG."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby

import pyte

_WIDTH, _HEIGHT, _SIZE, _MARGIN = 8.4, 18, 14, 12
_FOLDER = "/srv/app"
_PAPER, _INK = "#11151c", "#d5d9e0"
_COLORS = {
    "black": "#3a4250",
    "red": "#ff6b6b",
    "green": "#6bd68a",
    "brown": "#f0c75e",
    "yellow": "#f0c75e",
    "blue": "#6ea8fe",
    "magenta": "#d08bff",
    "cyan": "#5fd0d8",
    "white": "#ffffff",
    "default": _INK,
}


def svg(screen: pyte.Screen, title: str, folder: str) -> str:
    """The screen's lines down to the last that shows something.

    Arguments:
        title: for who can't see it.
        folder: a temporary one, for which another name is shown.
    """
    rows = [[screen.buffer[y][x] for x in range(screen.columns)] for y in range(screen.lines)]
    while rows and not any(character.data.strip() for character in rows[-1]):
        rows.pop()
    width = screen.columns * _WIDTH + 2 * _MARGIN
    height = len(rows) * _HEIGHT + 2 * _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{_PAPER}"/>',
        f'<g font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" '
        f'font-size="{_SIZE}" fill="{_INK}">',
    ]
    for y, row in enumerate(rows):
        x = 0
        for style, run in groupby(row, key=_style):
            text = "".join(character.data for character in run)
            # More than one space would be shown as one.
            for words in re.finditer(r"\S+(?: \S+)*", text):
                lines.append(_text(x + words.start(), y, words[0].replace(folder, _FOLDER), style))
            x += len(text)
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _style(character: pyte.screens.Char) -> tuple[str, bool]:
    return _COLORS.get(character.fg, f"#{character.fg}"), character.bold


def _text(x: int, y: int, text: str, style: tuple[str, bool]) -> str:
    color, bold = style
    left, top = _MARGIN + x * _WIDTH, _MARGIN + y * _HEIGHT + _SIZE
    fill = "" if color == _INK else f' fill="{color}"'
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{left:g}" y="{top:g}" textLength="{len(text) * _WIDTH:g}"{fill}{weight}>'
        f"{escape(text)}</text>"
    )
