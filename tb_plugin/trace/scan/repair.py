"""One JSON value from text that is nearly JSON, with the faults that were tolerated.

What is tolerated, and how it is read, is the table in ``faults``. The text is looked at as Latin-1,
so that an index is a byte; strings become UTF-8 again when they are taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from ...base.regex import regex
from .json_values import Json, NumberText, decode_lenient, int_or_text

MAX_DEPTH = 64
MAX_QUOTES = 200
MAX_BYTES = 1024 * 1024
"""Larger damage is not repaired: that would take long."""

_BLANK = regex(r"[ \t\r\n]*")
_LINE_COMMENT = regex(r"//[^\n]*")
_PLAIN_STRING = regex(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
# The same, or one that the end of the text cuts off: so none is looked at twice.
_ANY_STRING = regex(r'"([^"\\]*(?:\\.[^"\\]*)*)(?:"|\\?\Z)', re.DOTALL)
_NUMBER = regex(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?(?![\w.+#-])", re.ASCII)
_ODD_NUMBER = regex(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.+#-])", re.ASCII)
_WORD = regex(r"[^\s,\[\]{}\":]+", re.ASCII)
_OPEN_KEY = regex(r'[^"\\:,{}\[\]\s]+"(?=\s*:)', re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}

# What follows the quote that ends a text: in an object the next member, or the end of the object
# and then something that may follow an object. How far that is looked for has bounds: it is asked
# at every quote.
_GAP = r"\s{0,400}(?:(?://[^\n]{0,200}\n|/\*[^*]{0,200}\*/)\s{0,400}){0,4}"
_NEXT_KEY = rf'"?(?:[^"\\\n]|\\.){{0,200}}"{_GAP}:'
_AFTER_KEY = regex(_GAP + ":", re.ASCII)
_AFTER_MEMBER = regex(rf"{_GAP}(?:,{_GAP}(?:,|{_NEXT_KEY}|\}})|\}}{_GAP}(?:[,\]}}]|$)|$)", re.ASCII)
_AFTER_ITEM = regex(_GAP + r"(?:,|\]|$)", re.ASCII)

_ESCAPE = regex(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt])|())', re.DOTALL)
_CONTROL = regex(r"[\x00-\x1f]")
_SURROGATE = regex(r"[\ud800-\udfff]")
_SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Unrepairable(Exception):
    """The text cannot be read as a value. ``at`` is how far it was understood."""

    def __init__(self, at: int = 0) -> None:
        super().__init__(at)
        self.at = at


def repair(text: bytes) -> tuple[Json, tuple[str, ...]]:
    """The one value in ``text``, and the kinds of fault that were tolerated in it, each once.

    For text that must be one value: damage cannot make it take a part of what follows.
    Numbers with a fraction or an exponent are ``NumberText``. Of equal keys the last counts.

    Raises:
        Unrepairable: there is no value, or something behind it.
    """
    if len(text) > MAX_BYTES:
        raise Unrepairable
    found = _nearly_strict(text)
    if found:
        return found
    value, end, kinds = repair_front(text)
    if end != len(text):
        raise Unrepairable(end)
    return value, kinds


def repair_front(text: bytes) -> tuple[Json, int, tuple[str, ...]]:
    """The value at the start of ``text``, the index behind it and behind blanks, and the kinds.

    Raises:
        Unrepairable: there is no value.
    """
    parser = _Parser(text.decode("latin-1"))
    value = parser.value(_AFTER_MEMBER, 0)
    parser.blank()
    return value, parser.at, tuple(parser.kinds)


def _nearly_strict(text: bytes) -> tuple[Json, tuple[str, ...]] | None:
    """The parser's result for the commonest damage, at the speed of the strict decoder.

    That is bytes that are no UTF-8, NaN and Infinity, control characters, and backslashes of a
    writer that does not escape.
    """
    kinds: dict[str, None] = {}
    decoded = text.decode("utf-8", "replace")
    if "\N{REPLACEMENT CHARACTER}" in decoded and decoded.encode() != text:
        kinds["bad_utf8"] = None
    controls = False
    while True:
        try:
            value, constants = decode_lenient(decoded, controls=controls)
        except RecursionError:
            return None
        except json.JSONDecodeError as error:
            if error.msg.startswith("Invalid control character") and not controls:
                controls = True
                kinds["control_char"] = None
            elif error.msg.startswith("Invalid \\") and "bad_escape" not in kinds:
                decoded = _ANY_STRING.sub(_escaped, decoded)
                kinds["bad_escape"] = None
            else:
                return None
        else:
            if constants:
                kinds["not_a_number"] = None
            return value, tuple(kinds)


def _escaped(string: re.Match[str]) -> str:
    """A JSON string whose backslashes are escaped, if one of them begins no escape."""
    raw = string[1]
    if "\\" not in raw or all(match[3] is None for match in _ESCAPE.finditer(raw)):
        return string[0]
    end = string[0][1 + len(raw) :]
    return '"' + raw.replace('\\"', '"').replace("\\", "\\\\").replace('"', '\\"') + end


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.kinds: dict[str, None] = {}
        self._comment_end = 0  # The first "*/" that was found so far, −1 where none follows.

    def note(self, kind: str) -> None:
        self.kinds[kind] = None

    def blank(self) -> str:
        """Skips white space and comments; the character that follows, "" at the end."""
        while True:
            blank = _BLANK.match(self.text, self.at)
            self.at = blank.end() if blank else self.at
            char = self.text[self.at : self.at + 1]
            end = self.comment() if char == "/" else -1
            if end < 0:
                return char
            self.note("comment")
            self.at = end

    def comment(self) -> int:
        """The index behind the comment here; −1: there is none."""
        line = _LINE_COMMENT.match(self.text, self.at)
        if line:
            return line.end()
        if not self.text.startswith("/*", self.at) or self._comment_end < 0:
            return -1
        if self._comment_end < self.at + 2:
            self._comment_end = self.text.find("*/", self.at + 2)
        return self._comment_end + 2 if self._comment_end >= 0 else -1

    def value(self, after: re.Pattern[str], depth: int) -> Json:
        char = self.blank()
        if depth > MAX_DEPTH or not char:
            raise Unrepairable(self.at)
        if char == '"':
            return self.string(after)
        if char == "{":
            return self.object(depth)
        if char == "[":
            return self.array(depth)
        if char in ",}]":
            self.note("not_a_number")
            return None
        return self.word()

    def object(self, depth: int) -> dict[str, Json]:
        members: dict[str, Json] = {}

        def member(char: str) -> None:
            key = self.key(char)
            if self.blank() != ":":
                raise Unrepairable(self.at)
            self.at += 1
            members[key] = self.value(_AFTER_MEMBER, depth + 1)

        self.members("}", member)
        return members

    def array(self, depth: int) -> list[Json]:
        items: list[Json] = []
        self.members("]", lambda _: items.append(self.value(_AFTER_ITEM, depth + 1)))
        return items

    def members(self, close: str, member: Callable[[str], None]) -> None:
        """The members between two brackets, to behind the closing one."""
        self.at += 1
        while True:
            char = self.blank()
            if char == ",":
                self.note("stray_comma")
                self.at += 1
            elif char == close:
                self.at += 1
                return
            else:
                member(char)
                char = self.blank()
                if char == ",":
                    self.at += 1
                    if self.blank() == close:
                        self.note("stray_comma")
                elif char != close:
                    raise Unrepairable(self.at)

    def key(self, char: str) -> str:
        if char == '"':
            return self.string(_AFTER_KEY)
        bare = _OPEN_KEY.match(self.text, self.at)
        if not bare:
            raise Unrepairable(self.at)
        self.note("missing_quote")
        self.at = bare.end()
        return self.unescape(bare[0][:-1])

    def word(self) -> Json:
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            whole = number[1] is None and number[2] is None
            return int_or_text(number[0]) if whole else NumberText(number[0])
        odd = _ODD_NUMBER.match(self.text, self.at)
        if odd:
            self.note("bad_number")
            self.at = odd.end()
            return NumberText(_as_json(odd[0]))
        word = _WORD.match(self.text, self.at)
        if not word:
            raise Unrepairable(self.at)
        self.at = word.end()
        if word[0] not in _WORDS:
            self.note("not_a_number")
        return _WORDS.get(word[0])

    def string(self, after: re.Pattern[str]) -> str:
        start = self.at + 1
        plain = _PLAIN_STRING.match(self.text, self.at)
        if plain and after.match(self.text, plain.end()):
            self.at = plain.end()
            return self.unescape(plain[1])
        quote = self.at
        for _ in range(MAX_QUOTES):
            quote = self.text.find('"', quote + 1)
            if quote < 0:
                raise Unrepairable(len(self.text))
            if after.match(self.text, quote + 1):
                self.at = quote + 1
                raw = self.text[start:quote]
                if _PLAIN_STRING.fullmatch(f'"{raw}"') is None and not raw.endswith("\\"):
                    self.note("unescaped_quote")
                return self.unescape(raw)
        raise Unrepairable(quote)

    def unescape(self, raw: str) -> str:
        if _CONTROL.search(raw):
            self.note("control_char")
        text = self.utf8(raw)
        if "\\" not in text:
            return text
        if any(match[3] is not None for match in _ESCAPE.finditer(text)):
            # A writer that does not escape: a\nn\u is a path, not a newline. Quotes it escaped.
            self.note("bad_escape")
            return text.replace('\\"', '"')
        return self.whole(_ESCAPE.sub(_unescaped, text))

    def utf8(self, raw: str) -> str:
        if raw.isascii():
            return raw
        data = raw.encode("latin-1")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            self.note("bad_utf8")
            return data.decode("utf-8", "replace")

    def whole(self, text: str) -> str:
        """``text`` with pairs of surrogates joined and single ones replaced."""
        if not _SURROGATE.search(text):
            return text
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        if _SURROGATE.search(text):
            self.note("lone_surrogate")
            text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
        return text


def _as_json(number: str) -> str:
    """A number as JSON writes it: 05 is 5, +7 is 7, .5 is 0.5, 1. is 1."""
    sign = "-" if number.startswith("-") else ""
    mantissa, mark, power = number.lstrip("+-").lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = "." if fraction else ""
    return f"{sign}{whole.lstrip('0') or '0'}{point}{fraction}{mark}{power}"


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _SIMPLE[match[2]]
