"""Texts in a given width: names are shortened as on the page, sentences are wrapped.

Widths are cells of a terminal: a Chinese character takes two.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

_PYTHON = re.compile(r"(.*/)?([^/]+\.py\(\d+\): .+)", re.DOTALL)
_ANONYMOUS = "(anonymous namespace)"
_ARGUMENTS_END = re.compile(r"[)>](?:…| const)?$|…$")
_ARGUMENTS_BEGIN = re.compile(r"(?<!^)[<(]")


class NameParts(NamedTuple):
    """The parts of a name of code: ``base`` matters most; the page shows the rest dim."""

    before: str  # namespace, folder
    base: str
    after: str  # template arguments and parameters


def name_parts(name: str) -> NameParts:
    """The parts of a name, as on the page; a leading ``void`` is dropped.

    >>> name_parts("void at::native::f<int>(x)")
    NameParts(before='at::native::', base='f', after='<int>(x)')
    """
    frame = _PYTHON.fullmatch(name)
    if frame:
        return NameParts(frame[1] or "", frame[2], "")
    text = name.removeprefix("void ")
    is_call = _ARGUMENTS_END.search(text) is not None
    begin = _name_at(text) if is_call else 0
    rest = text[begin:]
    end = _arguments_at(rest) if is_call else len(rest)
    head = rest[:end]
    at = head.rfind("::")
    # "aten::mm" is a name; of "at::native::f" only f is.
    is_qualified = at > 0 and (head.find("::") != at or head[:at].endswith(_ANONYMOUS))
    start = at + 2 if is_qualified else 0
    return NameParts(text[: begin + start], head[start:], rest[end:])


def _name_at(text: str) -> int:
    """Where the name begins: after a return type with template arguments."""
    opened: list[str] = []
    for place, sign in enumerate(text):
        if sign in "<(":
            opened.append(sign)
        elif opened and (sign == ")" or (sign == ">" and opened[-1] == "<")):
            opened.pop()  # a ">" within parentheses compares
        elif sign == " " and not opened:
            return place + 1 if "<" in text[:place] else 0
    return 0


def _arguments_at(text: str) -> int:
    hidden = text.replace(_ANONYMOUS, "_" * len(_ANONYMOUS))
    found = _ARGUMENTS_BEGIN.search(hidden)
    return found.start() if found else len(text)


def shortened_name(name: str, width: int) -> str:
    """A name in ``width`` cells: first without namespace, then arguments, then the middle."""
    if cell_len(name) <= width:
        return name
    before, base, after = name_parts(name)
    if cell_len(before + base + after) <= width:
        return before + base + after
    if cell_len(base) < width:
        return cut(base + after, width)
    return cut_middle(base, width)


def cut(text: str, width: int) -> str:
    """The text in ``width`` cells; "…" replaces the end."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def cut_start(text: str, width: int) -> str:
    """The text in ``width`` cells; "…" replaces the start."""
    return text if cell_len(text) <= width else "…" + _tail(text, width - 1)


def cut_middle(text: str, width: int) -> str:
    """The text in ``width`` cells; "…" replaces the middle, since both ends distinguish names."""
    if cell_len(text) <= width:
        return text
    left = width // 2
    return set_cell_size(text, left) + "…" + _tail(text, width - 1 - left)


def _tail(text: str, width: int) -> str:
    tail = text[-width:] if width > 0 else ""
    while cell_len(tail) > width:
        tail = tail[1:]
    return tail


def wrapped(text: str, width: int | None) -> list[str]:
    """The text in lines of at most ``width`` cells, broken at blanks where possible."""
    if width is None or cell_len(text) <= width:
        return [text]
    lines = [""]
    for word in text.split():
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
            continue
        pieces = _pieces(word, width)
        lines += pieces if lines[-1] else []
        if not lines[0]:
            lines = pieces
    return lines


def _pieces(word: str, width: int) -> list[str]:
    """A word in pieces that fit."""
    pieces = []
    while cell_len(word) > width:
        piece = set_cell_size(word, width).rstrip()
        pieces.append(piece)
        word = word[len(piece) :]
    return [*pieces, word]
