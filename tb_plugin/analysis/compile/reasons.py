"""Changes over all failed guards: sizes of an argument, values of Python, objects."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ...base.regex import regex
from .model import CompiledFacts, GuardReason, Version

_SIZE = regex(
    r"^tensor '(?:L\[')?(?P<what>.+?)(?:'\])?' size mismatch at index (?P<index>\d+)\."
    r" expected (?P<old>\d+), actual (?P<new>\d+)$"
)
_VALUE = regex(r"^(?P<what>.+?) == (?P<old>'[^']*'|\"[^\"]*\"|-?[\w.]+)$")
_ITEM = regex(r"^[LG]\['(?P<name>[^']+)'\]")
_REGION = regex(r"^Torch-Compiled Region: (?P<id>\d+/\d+)$")
MOST_VALUES = 6


class Change(Struct, frozen=True):
    """One thing that differed between calls: its kind, its name and the values that were seen."""

    kind: str  # "size" | "value" | "dtype" | "object" | "global" | "other"
    text: str  # "size 0 of x: 8, 16, 24"; "mode: 'a', 'b'"
    place: str  # "train.py:12"; "" unknown


def changes_of(reasons: Iterable[GuardReason]) -> tuple[Change, ...]:
    """Each thing once, with all its values in the order in which they were seen.

    >>> guard = "tensor 'x' size mismatch at index 0. expected 8, actual 16"
    >>> changes_of([GuardReason("0/0", "size", guard, "")])[0].text
    'size 0 of x: 8, 16'
    """
    values: dict[tuple[str, str, str], dict[str, None]] = {}
    for one in reasons:
        size, value = _SIZE.match(one.guard), _VALUE.match(one.guard)
        if size:
            what = f"size {size['index']} of {_plain(size['what'])}"
            key, seen = ("size", what, one.place), [size["old"], size["new"]]
        elif value:
            key, seen = (one.kind, _plain(value["what"]), one.place), [value["old"]]
        else:
            key, seen = (one.kind, one.guard or one.kind, one.place), []
        values.setdefault(key, {}).update(dict.fromkeys(seen))
    return tuple(
        Change(kind, what + (f": {_listed(list(seen))}" if seen else ""), place)
        for (kind, what, place), seen in values.items()
    )


def _plain(name: str) -> str:
    """``L['x']`` of torch before 2.6 as ``x``."""
    match = _ITEM.match(name)
    return match["name"] + name[match.end() :] if match else name


def _listed(values: list[str]) -> str:
    # Torch names the newest version first: sizes are read in their order.
    if all(one.isdecimal() for one in values):
        values.sort(key=int)
    more = len(values) - MOST_VALUES
    return ", ".join(values[:MOST_VALUES]) + (f" and {more} more" if more > 0 else "")


def why_again(one: Version, most: int = 2) -> str:
    """What changed since earlier versions, with the line that depends on it; "" of a first one."""
    listed = [
        each.text + (f" ({each.place})" if each.place else "") for each in changes_of(one.reasons)
    ]
    if not listed:
        return one.failed
    more = len(listed) - most
    return "; ".join(listed[:most]) + (f"; {more} more" if more > 0 else "")


def about(facts: CompiledFacts | None, name: str) -> tuple[tuple[str, str], ...]:
    """Label and text of what is known of a compiled region or a fused kernel, by its name."""
    if facts is None:
        return ()
    nodes, lines = facts.made_of(name)
    found = [("lines of your code", lines), ("fused nodes", nodes)]
    match = _REGION.match(name)
    version = next((one for one in facts.versions if match and one.id == match["id"]), None)
    if version is not None:
        function = facts.functions[version.function] if version.function >= 0 else None
        place = f" ({function.place})" if function is not None and function.place else ""
        found.append(("compiled function", f"{facts.label(version)}{place}"))
        found.append(("compiled again for", why_again(version)))
    return tuple((label, text) for label, text in found if text)
