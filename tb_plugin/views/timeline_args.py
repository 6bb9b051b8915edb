"""What the file says of one slice: its arguments, read again, and the inputs among them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..analysis.timeline.opened import Opened
from ..base.errors import KinetoscopeError, NotReadyError
from .timeline_answers import SliceArg
from .view import Subject

TEXT_LIMIT = 4000
_DIMS = ("Input Dims", "Input dims")
_TYPES = ("Input type",)
_ENVELOPE = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args")


@dataclass(frozen=True, slots=True)
class Told:
    """``args`` as decoded; ``missing`` says why there are none."""

    args: Mapping[str, Any]
    shown: tuple[SliceArg, ...]
    missing: str
    inputs: tuple[tuple[str, str], ...]


def told_of(subject: Subject, opened: Opened, one: int) -> Told:
    """The arguments of a slice; what the event has beside ``args`` comes after them.

    Raises:
        BeingRead: the columns are still being written.
    """
    slices = opened.timeline.slices
    try:
        event = subject.event(int(slices.raw[one]))
    except NotReadyError:
        raise
    except (KinetoscopeError, OSError, EOFError, zlib.error) as error:
        reason = error.message if isinstance(error, KinetoscopeError) else str(error)
        return Told({}, (), f"The file cannot be read again: {reason}", ())
    if event.get("name", "") != opened.timeline.names[slices.name[one]]:
        return Told({}, (), "The file has changed since it was read.", ())
    args = event.get("args")
    args = args if isinstance(args, Mapping) else {} if args is None else {"args": args}
    beside = {key: value for key, value in event.items() if key not in _ENVELOPE}
    shown = tuple(_arg(key, value) for key, value in {**beside, **args}.items())
    return Told(
        args=args,
        shown=tuple(sorted(shown, key=lambda one: one.key in beside)),
        missing="" if shown else "The recorder wrote none.",
        inputs=inputs_of(args),
    )


def _arg(key: str, value: object) -> SliceArg:
    text = value if isinstance(value, str) else _json(value)
    return SliceArg(_clean(key)[:200], _clean(text)[:TEXT_LIMIT], len(text) > TEXT_LIMIT)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "(cannot be shown)"


def _clean(text: str) -> str:
    """The text as UTF-8 can carry it."""
    return text.encode("utf-8", "replace").decode("utf-8")


def inputs_of(args: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Shape and type of each input, "" where one of the two is not told.

    Shapes are lists, or one text that Python or JSON wrote: "[[8, 3, 224, 224], []]".
    """
    dims = _list(next((args[key] for key in _DIMS if key in args), None))
    types = _list(next((args[key] for key in _TYPES if key in args), None))
    count = max(len(dims), len(types))
    dims += [""] * (count - len(dims))
    types += [""] * (count - len(types))
    return tuple((_shape(one), str(kind)) for one, kind in zip(dims, types, strict=True))


def _list(value: object) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [part.strip() for part in str(value).strip("[]").split(",")] if value else []
    return list(value) if isinstance(value, list) else []


def _shape(value: object) -> str:
    if isinstance(value, list):
        inner = ", ".join(_shape(one) for one in value)
        return f"[{inner}]"
    return _clean(str(value))
