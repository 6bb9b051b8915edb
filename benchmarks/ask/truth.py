"""The answer of a question by brute force: the raw JSON and the standard library, nothing of ours.

A truth is a list, such as ``["union", {"cat": "kernel", "name": "nccl"}]``: the name of a function
below and its arguments. A selection of events names their category, a regular expression of their
name, or both; times are in ms.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any

Event = Mapping[str, Any]
Wanted = Mapping[str, str]
Span = tuple[float, float]


@cache
def events(path: str) -> tuple[Event, ...]:
    """The duration events of a file, or of the first file of a folder."""
    file = Path(path)
    if file.is_dir():
        file = min(file.glob("*.json*"))
    raw = file.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    return tuple(json.loads(raw)["traceEvents"])


def some(path: str, wanted: Wanted) -> list[Event]:
    """The duration events of a selection."""
    name = re.compile(wanted.get("name", ""))
    return [
        one
        for one in events(path)
        if one.get("ph") == "X"
        and wanted.get("cat", one.get("cat")) == one.get("cat")
        and name.search(str(one["name"]))
    ]


def spans(found: Iterable[Event]) -> list[Span]:
    """Begin and end of each, in ms."""
    return [(one["ts"] / 1000, (one["ts"] + one.get("dur", 0)) / 1000) for one in found]


def merged(parts: Iterable[Span]) -> list[Span]:
    """The union as disjoint stretches."""
    found: list[Span] = []
    for start, end in sorted(parts):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def length(parts: Iterable[Span]) -> float:
    """Their sum."""
    return sum(end - start for start, end in parts)


STEP = {"cat": "user_annotation", "name": r"^ProfilerStep#\d+$"}


def steps(path: str) -> list[Event]:
    """The steps in time order."""
    return sorted(some(path, STEP), key=lambda one: one["ts"])


# --- truths ---------------------------------------------------------------------------------------


def count(path: str, wanted: Wanted) -> float:
    """Number of events."""
    return len(some(path, wanted))


def total(path: str, wanted: Wanted) -> float:
    """Sum of their lengths."""
    return length(spans(some(path, wanted)))


def longest(path: str, wanted: Wanted) -> float:
    """The longest of them."""
    return max(end - start for start, end in spans(some(path, wanted)))


def per_step(path: str, wanted: Wanted) -> float:
    """Sum of their lengths, by the number of steps."""
    return total(path, wanted) / len(steps(path))


def calls_per_step(path: str, wanted: Wanted) -> float:
    """Their number, by the number of steps."""
    return count(path, wanted) / len(steps(path))


def union(path: str, wanted: Wanted) -> float:
    """Length of their union."""
    return length(merged(spans(some(path, wanted))))


def minus(path: str, wanted: Wanted, other: Wanted) -> float:
    """Length of the union of the first without the second."""
    a, b = spans(some(path, wanted)), spans(some(path, other))
    return length(merged([*a, *b])) - length(merged(b))


def overlap(path: str, wanted: Wanted, other: Wanted) -> float:
    """Length of what is in both unions."""
    return union(path, wanted) - minus(path, wanted, other)


def step_length(path: str, which: str) -> float:
    """Median, mean, longest or shortest length of the steps on the host."""
    lengths = [end - start for start, end in spans(steps(path))]
    figures = {
        "median": median(lengths), "mean": mean(lengths),
        "longest": max(lengths), "shortest": min(lengths),
    }  # fmt: skip
    return figures[which]


def slowest_step(path: str) -> str:
    """Name of the longest step."""
    return str(max(steps(path), key=lambda one: one["dur"])["name"])


def largest(path: str, wanted: Wanted) -> str:
    """The name with the largest sum of lengths."""
    sums: dict[str, float] = defaultdict(float)
    for one in some(path, wanted):
        sums[str(one["name"])] += one["dur"]
    return max(sums, key=sums.__getitem__)


def largest_self(path: str, wanted: Wanted) -> str:
    """The name with the largest sum of time without events inside, on each thread."""
    threads: dict[tuple[Any, Any], list[Event]] = defaultdict(list)
    for one in events(path):
        if one.get("ph") == "X" and one.get("cat") in (
            "cpu_op",
            "user_annotation",
            "python_function",
        ):
            threads[one["pid"], one["tid"]].append(one)
    sums: dict[str, float] = defaultdict(float)
    for lane in threads.values():
        open_ones: list[Event] = []
        for one in sorted(lane, key=lambda e: (e["ts"], -e["dur"])):
            while open_ones and open_ones[-1]["ts"] + open_ones[-1]["dur"] <= one["ts"]:
                open_ones.pop()
            if open_ones:
                sums[str(open_ones[-1]["name"])] -= one["dur"]
            sums[str(one["name"])] += one["dur"]
            open_ones.append(one)
    names = {str(one["name"]) for one in some(path, wanted)}
    return max(names, key=sums.__getitem__)


def during(path: str, wanted: Wanted, start_ms: float, end_ms: float) -> str:
    """The name with the largest sum of lengths in a stretch of time from the first event on."""
    first = min(one["ts"] for one in events(path) if one.get("ph") == "X") / 1000
    sums: dict[str, float] = defaultdict(float)
    for one in some(path, wanted):
        start, end = one["ts"] / 1000 - first, (one["ts"] + one["dur"]) / 1000 - first
        sums[str(one["name"])] += max(0.0, min(end, end_ms) - max(start, start_ms))
    return max(sums, key=sums.__getitem__)


def allocated(path: str) -> float:
    """Bytes of all allocations, in MiB."""
    sizes = [one["args"]["Bytes"] for one in events(path) if one.get("name") == "[memory]"]
    return float(sum(size for size in sizes if size > 0)) / 2**20


def count_memory(path: str) -> float:
    """Number of allocator events."""
    return float(sum(one.get("name") == "[memory]" for one in events(path)))


def change(path: str, other: str, which: str) -> float:
    """How much longer a step of the second is."""
    return step_length(other, which) - step_length(path, which)


def busiest_rank(path: str, wanted: Wanted) -> str:
    """The file of a folder whose union of these events is the longest."""
    files = sorted(map(str, Path(path).glob("*.json*")))
    return str(re.findall(r"\d+", Path(max(files, key=lambda one: union(one, wanted))).name)[0])


def truth(how: Sequence[Any], paths: Sequence[str]) -> float | str | None:
    """The value of a truth; None where nobody can tell."""
    if not how:
        return None
    found: float | str = globals()[how[0]](*paths, *how[1:])
    return found
