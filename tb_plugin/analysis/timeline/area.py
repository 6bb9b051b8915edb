"""What lies in a range of time: sums by name, exact, with the slices at its edges cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .model import I32, I64
from .name_index import sums_by
from .opened import Opened
from .select import Area, inside, self_inside, slices_in

HALF, MOST = 0.5, 0.95


@dataclass(frozen=True, slots=True, eq=False)
class NameSums:
    """One entry per name that occurs, by total, largest first. Durations are those inside."""

    name: I64  # code
    count: I64
    total: I64
    self_ns: I64
    least: I64
    median: I64
    p95: I64
    most: I64
    longest: I32  # slice id
    slices: int
    clipped: int


def sums_in(opened: Opened, area: Area) -> NameSums:
    """Sums of the slices that touch an area, by name.

    Quantiles are by nearest rank: the value that at least that share of the slices do not exceed.
    """
    slices = opened.timeline.slices
    ids = slices_in(opened, area)
    cut = inside(slices, ids, area.start, area.end)
    code = slices.name[ids]
    own = sums_by(
        code,
        self_inside(opened, ids, cut, area.start, area.end),
        len(opened.timeline.names),
    )
    dur = cut.dur
    by_name = _sorted_by_name(code, dur)
    first = by_name.first
    count = np.diff(first)
    most = by_name.dur[first[1:] - 1]
    order = np.lexsort((by_name.name, -_sums(by_name.dur, first)))
    longest = _first_with(ids, code, dur, by_name.name, most)
    return NameSums(
        name=by_name.name[order],
        count=count[order],
        total=_sums(by_name.dur, first)[order],
        self_ns=own[by_name.name][order],
        least=by_name.dur[first[:-1]][order],
        median=_rank(by_name.dur, first, HALF)[order],
        p95=_rank(by_name.dur, first, MOST)[order],
        most=most[order],
        longest=longest[order],
        slices=len(ids),
        clipped=len(cut.clipped),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ByName:
    """Durations sorted by (name, duration): CSR by the names that occur."""

    name: I64
    first: I64
    dur: I64


def _sorted_by_name(code: I32, dur: I64) -> _ByName:
    if not len(code):
        none = np.empty(0, np.int64)
        return _ByName(none, np.zeros(1, np.int64), none)
    low = int(dur.min())  # below 0 only on damaged data
    bits = max(int(dur.max()) - low, 1).bit_length()
    if bits + int(code.max()).bit_length() <= 63:
        # One number, because those are sorted several times as fast as pairs.
        key = code.astype(np.int64)
        key <<= bits
        key += dur
        key -= low
        key.sort()
        name = key >> bits
        key &= (1 << bits) - 1
        key += low
    else:
        order = np.lexsort((dur, code))
        name, key = code[order].astype(np.int64), dur[order]
    edges = np.flatnonzero(name[1:] != name[:-1]) + 1
    first = np.concatenate([[0], edges, [len(name)]])
    return _ByName(name[first[:-1]], first, key)


def _sums(values: I64, first: I64) -> I64:
    result: I64 = np.add.reduceat(values, first[:-1]) if len(first) > 1 else values
    return result


def _rank(values: I64, first: I64, share: float) -> I64:
    count = np.diff(first)
    return values[first[:-1] + np.maximum(np.ceil(share * count).astype(np.int64), 1) - 1]


def _first_with(ids: I32, code: I32, dur: I64, names: I64, most: I64) -> NDArray[np.int32]:
    """For each of the names the first slice whose duration is the most of that name."""
    if not len(ids):
        return np.empty(0, np.int32)
    wanted = np.empty(int(names[-1]) + 1, np.int64)
    wanted[names] = most
    hits = np.flatnonzero(dur == wanted[code])[::-1]
    found = np.empty(len(wanted), np.int32)
    found[code[hits]] = ids[hits]  # of several values for one place the last one stays
    return found[names]
