"""Sums and ranks of durations by group: by name, by call path."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .arrays import F64, I32, I64, Mask, seen
from .native import call

HALF, MOST = 0.5, 0.95
_BITS = 26
_LOW = (1 << _BITS) - 1
_MANY = 1 << 12  # rows for which a call is worth it


class GroupSums(Struct, frozen=True, eq=False):
    """One entry per group."""

    total: I64
    count: I64


def group_sums(code: NDArray[np.integer], value: I64, groups: int) -> GroupSums:
    """Exact sums by code, which is below ``groups``, and how many values each group has."""
    code, value = np.ascontiguousarray(code, np.int32), np.ascontiguousarray(value, np.int64)
    total, count = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    done = call("kinetoscope_group_sums", code, value, len(code), groups, total, count)
    if done is None:
        return GroupSums(sums_by(code, value, groups), np.bincount(code, minlength=groups))
    return GroupSums(total, count)


def summed(value: I64, code: NDArray[np.integer], groups: int) -> I64:
    """Exact sums by code; rows with a code below 0 are in no group."""
    known = code >= 0
    return group_sums(code[known], value[known], groups).total


def sums_by(code: NDArray[np.integer], value: I64, count: int) -> I64:
    """Exact sums of non-negative integers by code, of up to 2^27 rows.

    Doubles hold 53 bits, so values are added in parts of 26 bits and of the rest.
    """
    low = np.bincount(code, (value & _LOW).astype(np.float64), count)
    high = np.bincount(code, (value >> _BITS).astype(np.float64), count)
    result: I64 = low.astype(np.int64) + (high.astype(np.int64) << _BITS)
    return result


def group_medians(code: I32, value: I64, groups: int) -> F64:
    """The middle value of each group, or the mean of the two in the middle; NaN for none."""
    found = np.full(groups, np.nan)
    lower, upper, some = middles(code, value, groups)
    found[some] = (lower[some].astype(np.float64) + upper[some].astype(np.float64)) / 2
    return found


def middles(code: I32, value: I64, groups: int) -> tuple[I64, I64, Mask]:
    """The value in the middle of each group, where there are two both, and which have a value."""
    code, value = np.ascontiguousarray(code, np.int32), np.ascontiguousarray(value, np.int64)
    lower, upper = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    asked = code, value, len(code), groups, np.empty(len(value), np.int64), lower, upper
    if call("kinetoscope_group_middles", *asked) is None:
        return middles_in_python(code, value, groups)
    return lower, upper, seen(code, groups)


def middles_in_python(code: I32, value: I64, groups: int) -> tuple[I64, I64, Mask]:
    """The reference of ``middles``."""
    size = np.bincount(code, minlength=groups)
    ordered, first = sorted_by_code(code, value), np.cumsum(size) - size
    lower, upper = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    some = size > 0
    lower[some] = ordered[(first + (size - 1) // 2)[some]]
    upper[some] = ordered[(first + size // 2)[some]]
    return lower, upper, some


def first_largest(code: NDArray[np.integer], value: I64, groups: int) -> I64:
    """The place of the first of the largest values of each group; −1 where it has none."""
    found = np.full(groups, -1, np.int64)
    if len(code) >= _MANY:
        codes, values = np.ascontiguousarray(code, np.int32), np.ascontiguousarray(value, np.int64)
        to = groups, np.empty(groups, np.int64), found
        if call("kinetoscope_group_first_largest", codes, values, len(codes), *to) is not None:
            return found
    return first_largest_in_python(code, value, groups)


def first_largest_in_python(code: NDArray[np.integer], value: I64, groups: int) -> I64:
    """The reference of ``first_largest``."""
    most = np.full(groups, np.iinfo(np.int64).min)
    np.maximum.at(most, code, value)
    hits = np.flatnonzero(value == most[code])[::-1]
    found = np.full(groups, -1, np.int64)
    found[code[hits]] = hits  # of several values for one place the last one stays
    return found


class GroupRanks(Struct, frozen=True, eq=False):
    """One entry per group; of groups without values 0.

    Quantiles are by nearest rank: the least value that at least such a share does not exceed.
    """

    least: I64
    median: I64
    p95: I64
    most: I64
    longest: I64  # place of the first of the largest values


def group_ranks(code: I32, value: I64, count: I64) -> GroupRanks:
    """Ranks by code; ``count`` says how many values each group has."""
    code, value = np.ascontiguousarray(code, np.int32), np.ascontiguousarray(value, np.int64)
    rows, groups = len(code), len(count)
    room = np.empty(rows, np.int64)
    found = GroupRanks(*(np.zeros(groups, np.int64) for _ in range(5)))
    columns = (found.least, found.median, found.p95, found.most, found.longest)
    done = call("kinetoscope_group_ranks", code, value, rows, groups, count, room, *columns)
    return group_ranks_in_python(code, value, count) if done is None else found


def group_ranks_in_python(code: I32, value: I64, count: I64) -> GroupRanks:
    """The reference of ``group_ranks``."""
    found = GroupRanks(*(np.zeros(len(count), np.int64) for _ in range(5)))
    if not len(code):
        return found
    names = np.flatnonzero(count)
    first = np.cumsum(count[names]) - count[names]
    ordered = sorted_by_code(code, value)
    found.least[names] = ordered[first]
    found.median[names] = ordered[first + _rank(count[names], HALF)]
    found.p95[names] = ordered[first + _rank(count[names], MOST)]
    found.most[names] = ordered[first + count[names] - 1]
    hits = np.flatnonzero(value == found.most[code])[::-1]
    found.longest[code[hits]] = hits  # of several values for one place the last one stays
    return found


def _rank(count: I64, share: float) -> I64:
    # A share as a whole number of hundredths: of 100 values 95 are exactly enough.
    hundredths = round(share * 100)
    result: I64 = np.maximum(-(-count * hundredths // 100), 1) - 1
    return result


def sorted_by_code(code: I32, value: I64) -> I64:
    """The values by (code, value)."""
    if not len(value):
        return value
    low = int(value.min())  # below 0 only on damaged data
    bits = max(int(value.max()) - low, 1).bit_length()
    if bits + int(code.max()).bit_length() > 63:
        return value[np.lexsort((value, code))]
    # One number, because those are sorted several times as fast as pairs.
    key = code.astype(np.int64)
    key <<= bits
    key += value
    key -= low
    key.sort()
    key &= (1 << bits) - 1
    key += low
    return key
