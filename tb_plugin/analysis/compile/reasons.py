"""Changes over all failed guards: sizes of an argument, values of Python, objects."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ...base.regex import regex
from ...base.units import duration, plural
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
    """Change since earlier versions, with the line that depends on it; "" for the first version."""
    listed = [
        each.text + (f" ({each.place})" if each.place else "") for each in changes_of(one.reasons)
    ]
    if not listed:
        return one.failed
    more = len(listed) - most
    return "; ".join(listed[:most]) + (f"; {more} more" if more > 0 else "")


def _life_of(one: Version) -> str:
    """Runs and cost of one version, and when it was compiled."""
    times = []
    if one.before_ns:
        times.append(f"compiled before the recording in {duration(one.before_ns)}")
    if one.compile_ns:
        times.append(f"compiled at {duration(one.compiled_ts)} in {duration(one.compile_ns)}")
    runs = f"{plural(one.calls, 'run')}, {duration(one.run_ns)} in all" if one.calls else "no run"
    return "; ".join([runs, *times])


def versions_of(facts: CompiledFacts, function: str) -> tuple[Version, ...]:
    """The versions of a function, by its label with file and line."""
    return tuple(one for one in facts.versions if facts.full_label(one) == function)


def life_of(facts: CompiledFacts | None, function: str) -> str:
    """Versions, runs, cost and reasons of a compiled function; "" where it is none.

    ``2 versions, 6 runs; compiled 9 s before the recording, 2 s in it; again for size 0 of x``
    """
    some = versions_of(facts, function) if facts is not None else ()
    if not some:
        return ""
    compiled = [one for one in some if not one.failed]
    before, inside = (
        sum(getattr(one, name) or 0 for one in some) for name in ("before_ns", "compile_ns")
    )
    cost = [
        text
        for ns, text in (
            (before, f"{duration(before)} before the recording"),
            (
                inside,
                f"{duration(inside)} in it" if before else f"{duration(inside)} in the recording",
            ),
        )
        if ns
    ]
    changes = changes_of(each for one in some for each in one.reasons)
    reasons = "; ".join(one.text + (f" ({one.place})" if one.place else "") for one in changes[:2])
    parts = (
        f"{plural(len(compiled), 'version')}, {plural(sum(one.calls for one in some), 'run')}",
        f"compiled {', '.join(cost)}" if cost else "",
        f"again for {reasons}" if reasons else "",
        "refused: the recompile limit" if len(compiled) < len(some) else "",
    )
    return "; ".join(filter(None, parts))


def about(facts: CompiledFacts | None, name: str) -> tuple[tuple[str, str], ...]:
    """Labels and texts about a compiled region or a fused kernel, by its name."""
    if facts is None:
        return ()
    nodes, lines = facts.made_of(name)
    found = [("lines of your code", lines), ("fused nodes", nodes)]
    match = _REGION.match(name)
    version = next((one for one in facts.versions if match and one.id == match["id"]), None)
    if version is not None:
        function = facts.full_label(version)
        found.append(("compiled function", function))
        found.append(("all versions", life_of(facts, function)))
        found.append((f"version {version.id}", _life_of(version)))
        found.append(("compiled again for", why_again(version)))
    return tuple((label, text) for label, text in found if text)
