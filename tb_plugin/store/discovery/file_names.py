"""Worker, time and cycle of a trace, by the name of its file.

=============================================  ======================  ==================
name                                           worker                  stamp
=============================================  ======================  ==================
host_7.1694128201545.pt.trace.json.gz          host_7                  1694128201545 (ms)
host.domain_7.pt.trace.json                    host.domain_7
host_7.1694128201545.pt.trace.pftrace.gz       host_7                  1694128201545 (ms)
rank-0.json.gz                                 rank-0
1713456789.25-TP-3-DP-0.trace.json.gz          TP-3-DP-0               1713456789.25 (s)
libkineto_activities_4711.json                 libkineto_activities_4711
=============================================  ======================  ==================

``number`` gives the spans of a run numbers: equal numbers on two workers mean the same cycle. Every
worker counts its spans 1, 2, … in time order. Where a worker missed a cycle, plain counting would
pair unrelated cycles; then time decides:

    worker 0   █      █      █          1  2  3
    worker 1   █             █          1     3
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ...base.regex import regex
from ...trace.compile_record import SUFFIX as COMPILE_SUFFIX
from ...trace.io.folded import FOLDED

_HANDLER = regex(
    r"(?P<worker>.+?)(?:\.(?P<stamp>\d+))?\.pt\.trace\.(?:json|pftrace)(?:\.gz)?", re.DOTALL
)
_SERVING = regex(r"(?P<stamp>\d{9,}(?:\.\d+)?)-(?P<worker>(?:TP|DP|PP|EP|CP|SP)-\d+.*)", re.DOTALL)
_STAMPED = regex(r"(?P<worker>.+?)\.(?P<stamp>\d{12,})", re.DOTALL)
_PICKLES = (".pickle", ".pkl")
_PERFETTO = (".pftrace", ".perfetto-trace")
_SUFFIXES = (
    ".gz", ".json", ".trace", ".pt", ".chrome", ".chrome_trace", *_PERFETTO, *FOLDED, *_PICKLES
)  # fmt: skip
_INNER_OF_GZ = (
    "", "json", "trace", "raw", "chrome", "chrome_trace", "pftrace", "perfetto-trace", "pickle",
    "pkl",
)  # fmt: skip
_UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".filepart", ".incomplete")
_RANK = regex(r"(?:^|[^a-z])rank[-_ .]?(\d{1,7})(?!\d)", re.IGNORECASE)
_WORKER = regex(r"(?:^|[^a-z])worker[-_ ]?(\d{1,7})(?!\d)", re.IGNORECASE)
_AXIS = regex(r"(?:^|[-_])(?:tp|dp|pp|ep|cp|sp)[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)

# Seconds, milliseconds, microseconds and nanoseconds of an epoch stamp, told by the year they give.
_YEAR_NS = 31_556_952 * 10**9
_EARLIEST_NS, _LATEST_NS = 45 * _YEAR_NS, 130 * _YEAR_NS  # 2015 … 2100


class TraceName(Struct, frozen=True):
    """The parts of the name of a trace file."""

    worker: str
    stamp: str | None  # digits as written
    by_rule: bool  # named as the trace handlers name them: a trace by name alone

    @property
    def recorded_ns(self) -> int | None:
        """Wall clock of the stamp, ns since the epoch; None without one, or when it is no time."""
        return None if self.stamp is None else wall_clock_ns(self.stamp)

    @property
    def order(self) -> tuple[int, int]:
        """Sort key of the spans of a worker, by time."""
        if self.stamp is None:
            return (0, 0)
        wall = self.recorded_ns
        return (2, wall) if wall is not None else (1, int(self.stamp.partition(".")[0]))


def parse(name: str) -> TraceName:
    """Worker and stamp of a file name."""
    match = _HANDLER.fullmatch(name)
    if match:
        return TraceName(match["worker"], match["stamp"], by_rule=True)
    stem = name
    while (suffix := next((s for s in _SUFFIXES if stem.lower().endswith(s)), None)) and len(
        stem
    ) > len(suffix):
        stem = stem[: -len(suffix)]
    match = _SERVING.fullmatch(stem) or _STAMPED.fullmatch(stem)
    if match:
        return TraceName(match["worker"], match["stamp"], by_rule=False)
    return TraceName(stem, None, by_rule=False)


def is_plausible(name: str) -> bool:
    """True if a file of this name may hold a trace and is worth opening."""
    lower = name.lower()
    if lower.endswith(COMPILE_SUFFIX):  # of our handler, read with the trace beside it
        return False
    if lower.endswith(".gz"):
        return lower[:-3].rpartition(".")[2 if "." in lower[:-3] else 1] in _INNER_OF_GZ
    return lower.endswith(
        (".json", ".trace", ".chrome", ".chrome_trace", *_PERFETTO, *FOLDED, *_PICKLES)
    )


def is_pickle(name: str) -> bool:
    """True if a file of this name may hold a memory snapshot."""
    return name.lower().removesuffix(".gz").endswith(_PICKLES)


def is_notable(name: str) -> bool:
    """True if a plausible file that is no trace gets its own line."""
    lower = name.lower()
    return ".json" in lower or ".trace" in lower or any(one in lower for one in _PERFETTO)


def is_unfinished(name: str) -> bool:
    """True if the name marks a trace that is still being written.

    Covers our handler (``.x.json.gz.tmp``), torch (``x.json.tmp``), browsers (``x.json.part``) and
    rsync (``.x.json.gz.Kq81Zb``). Other hidden files are none of ours.
    """
    base = name.lstrip(".")
    marked = False
    while base.lower().endswith(_UNFINISHED):
        base = base.rpartition(".")[0]
        marked = True
    if marked:  # a random part or a process id may stand before it: x.json.gz.4711.tmp
        return is_plausible(base) or is_plausible(base.rpartition(".")[0])
    if not name.startswith("."):
        return False
    return is_plausible(base.rpartition(".")[0]) or (is_plausible(base) and "trace" in base.lower())


def rank_in_name(worker: str) -> int | None:
    """The rank in a worker's name: ``rank-3``, ``worker3_step_12``, ``node0_rank5``, ``TP-3``.

    A position on several axes (``TP-3-DP-1``) is no rank, unless it is off zero on at most one.
    """
    for pattern in (_RANK, _WORKER):
        found = pattern.findall(worker)
        if found:
            return int(found[-1])
    places = [int(text) for text in _AXIS.findall(worker)]
    if places and sum(place > 0 for place in places) <= 1:
        return max(places)
    return None


def wall_clock_ns(stamp: str) -> int | None:
    """An epoch stamp in s, ms, µs or ns as ns; None when no unit gives a year from 2015 to 2100.

    >>> wall_clock_ns("1694128201545") == 1694128201545 * 10**6
    True
    """
    whole, _, fraction = stamp.partition(".")
    if len(whole) > 19:
        return None
    for unit in (10**9, 10**6, 10**3, 1):
        value = int(whole) * unit
        if _EARLIEST_NS <= value <= _LATEST_NS:
            return value + (int(fraction[:9].ljust(9, "0")) * unit // 10**9 if fraction else 0)
    return None


def number(run: Mapping[str, Sequence[TraceName]]) -> dict[str, list[str]]:
    """Keys of the spans of each worker, in the order in which the names were given.

    Stamped files get "1", "2", …; the one without a stamp is "default", further ones "default-2", …
    """
    stamped = {
        worker: sorted((n.order, i) for i, n in enumerate(names) if n.stamp is not None)
        for worker, names in run.items()
    }
    numbers = _by_time(stamped) or {w: list(range(1, len(s) + 1)) for w, s in stamped.items()}
    keys: dict[str, list[str]] = {}
    for worker, names in run.items():
        mine = ["" for _ in names]
        for (_, index), cycle in zip(stamped[worker], numbers[worker], strict=False):
            mine[index] = str(cycle)
        bare = [i for i, name in enumerate(names) if name.stamp is None]
        for count, index in enumerate(bare, start=1):
            mine[index] = "default" if count == 1 else f"default-{count}"
        keys[worker] = mine
    return keys


def _by_time(
    stamped: Mapping[str, Sequence[tuple[tuple[int, int], int]]],
) -> dict[str, list[int]] | None:
    """Cycle numbers from gaps in time; None where counting is right already or time does not help.

    Two cycles are apart by at least half the smallest distance between two spans of one worker, and
    spans of one cycle by less than a quarter of it.
    """
    if len({len(spans) for spans in stamped.values() if spans}) <= 1:
        return None
    times = {worker: [order[1] for order, _ in spans] for worker, spans in stamped.items()}
    if any(order[0] != 2 for spans in stamped.values() for order, _ in spans):
        return None  # no wall clock
    period = min((b - a for mine in times.values() for a, b in itertools.pairwise(mine)), default=0)
    cycle_of: dict[int, int] = {}
    cycle, previous = 0, None
    for time in sorted({t for mine in times.values() for t in mine}):
        if previous is None or time - previous >= period / 2:
            cycle += 1
        elif time - previous >= period / 4:
            return None
        cycle_of[time] = cycle
        previous = time
    numbers = {worker: [cycle_of[t] for t in mine] for worker, mine in times.items()}
    if any(len(set(mine)) != len(mine) for mine in numbers.values()):
        return None  # two spans of one worker in one cycle
    return numbers
