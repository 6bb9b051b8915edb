"""Which args a category of events has, learned from its events; so they decode into typed slots.

A layout knows every key that it has met. A key that it does not know, or a value of another type
than usual, makes it fail and learn. So what it decodes is complete, with the speed of a schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Raw

from .args import COLUMN, ORDER
from .raw import FLOAT_ARGS, INT_ARGS, TEXT_ARGS

MAX_KEYS = 64
INT, FLOAT, TEXT, ODD, IGNORED = "int", "float", "text", "odd", "ignored"
_TYPES: dict[str, Any] = {
    INT: int | None,
    FLOAT: float | None,
    TEXT: str | None,
    ODD: Raw,
    IGNORED: Raw,
}
_DICTS = msgspec.json.Decoder(list[dict[str, Raw]])
_NO_FIELD = re.compile(r'[\x00-\x1f"\\]')  # msgspec has no field of such a name

_FITS = {
    INT: re.compile(rb"-?\d+|null"),
    FLOAT: re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|null"),
    TEXT: re.compile(rb'".*|null', re.DOTALL),
}


def _usual_kind(key: str) -> str:
    if key in INT_ARGS:
        return INT
    if key in FLOAT_ARGS:
        return FLOAT
    return TEXT if key in TEXT_ARGS else IGNORED


@dataclass(frozen=True, slots=True)
class Slot:
    """One argument of a layout."""

    key: str
    column: str
    kind: str
    get: Callable[[Any], Any]


class Layout:
    """Args of one category: key → kind, and the decoder made of them."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._open = False
        self._decoder: msgspec.json.Decoder[list[Any]] | None = None
        self.slots: list[Slot] = []

    def decode(self, args: Sequence[Raw]) -> list[Any] | None:
        """Objects whose ``slots`` hold the values (None = absent or null; ODD is the Raw text).

        None when some args are no object: then they are another's business.
        """
        joined = b"[" + b",".join(args) + b"]"
        for learn in (None, self._learn_keys, self._learn_types):
            if learn is not None and not learn(joined):
                return None
            if self._decoder is not None:
                try:
                    return self._decoder.decode(joined)
                except msgspec.ValidationError:
                    pass
        return None

    def _learn_keys(self, joined: bytes) -> bool:
        try:
            dicts = _DICTS.decode(joined)
        except (msgspec.DecodeError, RecursionError):
            return False
        for key in set().union(*dicts):
            if _NO_FIELD.search(key):
                self._open = True
            else:
                self._kinds.setdefault(key, _usual_kind(key))
        self._build()
        return True

    def _learn_types(self, joined: bytes) -> bool:
        dicts = _DICTS.decode(joined)
        for key, kind in self._kinds.items():
            fits = _FITS.get(kind)
            if fits and not all(fits.fullmatch(args[key]) for args in dicts if key in args):
                self._kinds[key] = ODD
        self._build()
        return True

    def _build(self) -> None:
        if self._open or len(self._kinds) > MAX_KEYS:
            self._open = True
            self._kinds = {key: kind for key, kind in self._kinds.items() if kind != IGNORED}
            for key in (*INT_ARGS, *FLOAT_ARGS, *TEXT_ARGS):
                self._kinds.setdefault(key, ODD)
        fields = [
            (f"f{index}", _TYPES[kind], msgspec.field(name=key, default=None))
            for index, (key, kind) in enumerate(self._kinds.items())
        ]
        struct = msgspec.defstruct("Args", fields, gc=False, forbid_unknown_fields=not self._open)
        self._decoder = msgspec.json.Decoder(list[struct])  # type: ignore[valid-type]
        slots = [
            Slot(key, COLUMN[key], kind, attrgetter(f"f{index}"))
            for index, (key, kind) in enumerate(self._kinds.items())
            if kind != IGNORED
        ]
        # Of two spellings of one column the first in the tables is written last, and stays.
        self.slots = sorted(slots, key=lambda slot: -ORDER[slot.key])
