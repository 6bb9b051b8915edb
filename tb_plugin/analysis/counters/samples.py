"""Sampled counters of a device as steps, and their exact integrals over any set of intervals.

A sample holds from its time until the next one, for two periods at most; what is longer is a hole,
and what lies in a hole, before the first sample, or a period after the last, is *uncovered*: it is
no zero.

    samples  ●───●───●           ●───●───
    covered  ████████████████    ████████      two periods behind the third, then a hole

That is what the samples mean. Performance counters are sums or means over the sampling interval
that begins at the time in the file (torch writes the ``start_ns`` of CUPTI's PM sampling), so they
are exact. Clocks, power and temperature are readings of one instant (``timestamp`` of CUPTI's
``CUpti_ActivityEnvironment``) that are taken to hold until the next. NVIDIA documents that power is
itself a mean over the last second from Ampere on, except for the GA100
(``nvmlDeviceGetPowerUsage`` of the NVML API reference): what is shorter shares it.

Values are decimals, and are held as integers of 10^−``decimals`` of their unit: as many digits as
the file has, or as an integral over the whole recording fits into 62 bits. So integrals over parts
sum to the integral over the whole to the last digit.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from ...base.arrays import F64, I64, ColumnTable, distinct_values
from ...base.intervals import Intervals, length_before, overlaps
from ...base.regex import regex
from ...trace.model import Trace
from ..facts import CounterFacts, Integral
from ..speed_of_light.devices import peak_of

HOLDS_PERIODS = 2
_BITS = 62
_MOST_DECIMALS = 9


class _Known(NamedTuple):
    """One kind of counter that is integrated; ``unit`` "" = as its name says."""

    kind: str
    pattern: re.Pattern[str]


def _named(kind: str, pattern: str) -> _Known:
    return _Known(kind, regex(pattern, re.IGNORECASE))


KNOWN = (
    _named("power", r"^Power\b"),
    _named("temperature", r"^Temperature\b"),
    _named("sm_clock", r"^(SM|GPU|Graphics) Clock\b"),
    _named("memory_clock", r"^(Memory|Mem|HBM|DRAM) Clock\b"),
    # Of the second engine of torch, and as CUPTI names its metrics.
    _named("sm_active", r"^SM Active\b|^sm__cycles_active\.avg\.pct"),
    _named("dram", r"^(DRAM|HBM) BW\b|^dram__(throughput|bytes)\."),
    _named("dram_read", r"^(DRAM|HBM) Read\b|^dram__(read_throughput|bytes_read)\."),
    _named("dram_write", r"^(DRAM|HBM) Write\b|^dram__(write_throughput|bytes_write)\."),
    _named("pcie", r"^PCIe\b|^pcie__"),
    _named("nvlink_rx", r"^NVLink RX\b|^nvlrx__"),
    _named("nvlink_tx", r"^NVLink TX\b|^nvltx__"),
)
"""Kind of each counter by a pattern of its name; the first match counts."""

SAMPLING_KINDS = ("sm_active", "dram", "dram_read", "dram_write", "pcie", "nvlink_rx", "nvlink_tx")
"""Kinds that come from sampling performance counters, which locks the clocks of the device."""

_UNITS: tuple[tuple[re.Pattern[str], str, float], ...] = (
    (regex(r"\(%\)$|\.pct\b|\.pct_of_peak"), "%", 1.0),
    (regex(r"\(W\)$"), "W", 1.0),
    (regex(r"\(mW\)$"), "W", 1e-3),
    (regex(r"\(MHz\)$"), "MHz", 1.0),
    (regex(r"\(C\)$"), "°C", 1.0),
    (regex(r"\(B/s\)$|__bytes\w*\.sum\.per_second$"), "B/s", 1.0),
    (regex(r"\(MB/s\)$"), "B/s", 1e6),
    (regex(r"\(GB/s\)$"), "B/s", 1e9),
    # A sum is of one sampling interval; it becomes a rate.
    (regex(r"__bytes\w*\.sum$"), "B", 1.0),
)


def kind_of(name: str) -> str:
    """Kind of a counter; "" if unknown.

    >>> kind_of("SM Active (%)"), kind_of("Cycles (Current Kernel)")
    ('sm_active', '')
    """
    return next((one.kind for one in KNOWN if one.pattern.search(name)), "")


def unit_of(name: str) -> tuple[str, float]:
    """The unit of a counter, and by what its values are multiplied; "" where it is not written.

    >>> unit_of("Power (W)"), unit_of("NVLink TX")
    (('W', 1.0), ('', 1.0))
    """
    return next(((unit, by) for end, unit, by in _UNITS if end.search(name)), ("", 1.0))


class Steps(ColumnTable, frozen=True, eq=False):
    """A sampled series: ``value`` holds in [start, end); they are in order and do not overlap."""

    start: I64
    end: I64
    value: I64  # integers of 10^−decimals of the unit

    @property
    def covered(self) -> Intervals:
        """When a sample holds; neighbours may touch."""
        return Intervals(self.start, self.end)


class Series(Struct, frozen=True, eq=False):
    """One counter of one device (row of ``Trace.devices``)."""

    device: int
    facts: CounterFacts
    steps: Steps


def series_of(trace: Trace, device: int) -> tuple[Series, ...]:
    """The counters of a device that are known, by kind in the order of ``KNOWN``, then by name."""
    counters = trace.counters
    mine = np.flatnonzero(counters.device == device)
    if not len(mine):
        return ()
    order = {one.kind: at for at, one in enumerate(KNOWN)}
    found: list[Series] = []
    mine = mine[np.argsort(counters.name[mine], kind="stable")]
    for rows in np.split(mine, np.flatnonzero(np.diff(counters.name[mine])) + 1):
        name = trace.strings[counters.name[rows[0]]]
        kind = kind_of(name)
        if not kind:
            continue
        ts, value = _in_order(trace, rows)
        if (one := _series(device, kind, name, ts, value)) is not None:
            found.append(one)
    return tuple(sorted(found, key=lambda one: (order[one.facts.kind], one.facts.name)))


def _in_order(trace: Trace, rows: NDArray[np.intp]) -> tuple[I64, F64]:
    """Times and values of some samples; of several at one time the last, and no odd ones."""
    counters = trace.counters
    rows = rows[np.argsort(counters.ts[rows], kind="stable")]
    codes = counters.values[rows]
    known = {code: number(trace.strings[code]) for code in distinct_values(codes).tolist()}
    value = np.array([known[code] for code in codes.tolist()], np.float64)
    ts = counters.ts[rows]
    keep = np.isfinite(value)
    ts, value = ts[keep], value[keep]
    last = np.append(ts[1:] > ts[:-1], True)[: len(ts)]
    return ts[last], value[last]


def number(text: str) -> float:
    """The only number of a sample; nan for anything else.

    >>> number('{"": 63.5}'), number('{"a": 1, "b": 2}')
    (63.5, nan)
    """
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return math.nan
    values = list(told.values()) if isinstance(told, dict) else []
    one = values[0] if len(values) == 1 else None
    if not isinstance(one, int | float) or isinstance(one, bool):
        return math.nan
    try:
        return float(one)
    except OverflowError:
        return math.nan


def _series(device: int, kind: str, name: str, ts: I64, value: F64) -> Series | None:
    """The samples as steps; None for fewer than two, of which the period is not known.

    None as well for values that no number of the unit can hold.
    """
    if len(ts) < 2:
        return None
    unit, by = unit_of(name)
    period = int(np.median(np.diff(ts)))  # times rise
    if unit == "B":
        unit, by = "B/s", 1e9 / period
    with np.errstate(over="ignore"):
        value = value * by
    if not np.isfinite(value).all():
        return None
    end = np.minimum(np.append(ts[1:], ts[-1] + period), ts + HOLDS_PERIODS * period)
    decimals = _decimals(value, int((end - ts).sum()))
    whole = _scaled(value, decimals)
    low, high = (real(int(at), decimals) for at in (whole.min(), whole.max()))
    facts = CounterFacts(
        kind=kind,
        name=name,
        unit=unit,
        decimals=decimals,
        samples=len(ts),
        period_ns=period,
        first_ns=int(ts[0]),
        last_ns=int(end[-1]),
        low=low,
        high=high,
        usual=float(np.percentile(value, 95)),
    )
    return Series(device, facts, Steps(ts, end, whole))


def _decimals(value: F64, covered_ns: int) -> int:
    """Number of decimals to keep: those of the values, as far as there is room."""
    most = float(np.abs(value).max())
    if not most:
        return 0
    room = _BITS - covered_ns.bit_length() - math.ceil(math.log2(most)) - 1
    fits = math.floor(room * math.log10(2))
    for decimals in range(min(fits, _MOST_DECIMALS)):
        if (_scaled(value, decimals) / 10.0**decimals == value).all():
            return decimals
    return min(fits, _MOST_DECIMALS)


def _scaled(value: F64, decimals: int) -> I64:
    # Dividing by a power of ten that a double holds exactly rounds once.
    scaled = value * 10.0**decimals if decimals >= 0 else value / 10.0**-decimals
    return np.rint(scaled).astype(np.int64)


def real(value: float, decimals: int) -> float:
    """An integer of 10^−decimals as a number of the unit."""
    return value / 10.0**decimals if decimals >= 0 else value * 10.0**-decimals


def before(steps: Steps, at: I64) -> I64:
    """∫ of the series over (−∞, at[i]), where it is covered; exact."""
    if not len(steps):
        return np.zeros(len(at), np.int64)
    passed = np.concatenate([np.zeros(1, np.int64), _running(steps)])
    index = np.searchsorted(steps.start, at, side="right")
    last = np.maximum(index - 1, 0)
    beyond = np.where(index > 0, np.maximum(steps.end[last] - at, 0), 0) * steps.value[last]
    result: I64 = passed[index] - beyond
    return result


def _running(steps: Steps) -> I64:
    return np.cumsum(steps.value * (steps.end - steps.start))


def integrals(
    steps: Steps, low: I64, high: I64, cell: NDArray[np.integer], cells: int
) -> tuple[Integral, ...]:
    """∫ of the series over the intervals [low, high) of each cell, and what of them is covered.

    Intervals of one cell must not overlap. However a set of intervals is cut into cells, the
    integrals and the covered lengths of the cells sum to those of the set.
    """
    amount, covered = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    high = np.maximum(high, low)
    np.add.at(amount, cell, before(steps, high) - before(steps, low))
    held = steps.covered
    np.add.at(covered, cell, length_before(held, high) - length_before(held, low))
    return tuple(map(Integral, amount.tolist(), covered.tolist()))


class Extremes(NamedTuple):
    """Of the samples that hold at some instant of a cell: how many, the least and the greatest."""

    samples: int
    low: int
    high: int


def extremes(
    steps: Steps, time: Intervals, cell: NDArray[np.integer], cells: int
) -> Iterator[Extremes]:
    """One entry per cell; ``cell`` is of the intervals of a normal set. 0 samples: 0, 0."""
    at, held = overlaps(time, steps.covered)
    of = cell[at].astype(np.int64)
    # One sample may hold in several intervals of a cell and counts there once.
    pair = np.unique(of * max(len(steps), 1) + held)
    of, held = pair // max(len(steps), 1), pair % max(len(steps), 1)
    count = np.bincount(of, minlength=cells)
    first = np.concatenate([[0], np.cumsum(count)])
    for number_of in range(cells):
        some = steps.value[held[first[number_of] : first[number_of + 1]]]
        if len(some):
            yield Extremes(len(some), int(some.min()), int(some.max()))
        else:
            yield Extremes(0, 0, 0)


def counters_of(trace: Trace, device: int) -> tuple[Series, ...]:
    """The counters of a device; traffic of its memory with the peak of its data sheet."""
    found = series_of(trace, device)
    peak = peak_of(trace.devices[device]) if found else None
    if peak is None:
        return found
    most = peak.bandwidth(trace.devices[device])
    return tuple(
        structs.replace(one, facts=structs.replace(one.facts, peak=most))
        if one.facts.kind.startswith("dram") and one.facts.unit == "B/s"
        else one
        for one in found
    )
