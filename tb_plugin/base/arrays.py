"""Columns of numbers: rows taken and put without wide copies, sparse cells, keys of two columns.

NumPy widens a whole index to int64 before it uses it. For millions of rows that copy costs more
than the work, so functions over all rows work in chunks that fit the processor's cache, or through
the native library, which copies nothing. The chunks are the reference: they do the work without the
library, for few rows, and for arrays of other types than columns have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from typing import Any, Literal, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .machine import each, pieces
from .native import call

# Columns by the type of their values.
B = NDArray[np.bool_]
I8 = NDArray[np.int8]
I16 = NDArray[np.int16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
F64 = NDArray[np.float64]

S = TypeVar("S", bound=Struct)


class Sparse(Struct, frozen=True, eq=False):
    """A column with values in some rows only: ``row`` ascending without repeats, one value each.

    Columns of the same rows may share ``row``; it is never written to.
    """

    row: NDArray[np.int32]
    value: NDArray[Any]


class SomeRows(Struct, frozen=True, eq=False):
    """Some rows of a table: as a mask over all of them, and by their numbers, which ascend."""

    mask: NDArray[np.bool_]
    number: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.number)


class ColumnTable(Struct, frozen=True, eq=False):
    """Columns of one length. A Struct of this kind begins with such a column."""

    def __len__(self) -> int:
        first: Sized = getattr(self, self.__struct_fields__[0])
        return len(first)


def with_fields(table: S, **fields: Any) -> S:  # noqa: ANN401  as replace
    """The table with some fields replaced. Columns that are still on disk are read.

    ``msgspec.structs.replace`` takes tables whose fields are all there.
    """
    names = (name for name in table.__struct_fields__ if name not in fields)
    return type(table)(**{name: getattr(table, name) for name in names}, **fields)


_MANY = 1 << 12  # rows for which a call is worth it
_MOST_PAIRS = 1 << 16
_FAR = 256  # numbers between two that are looked for
_WIDTHS = (1, 4, 8)
_WHOLE = (np.dtype(np.int32), np.dtype(np.int64))
_ROWS = (*_WHOLE, np.dtype(np.uint8))

Mask = NDArray[np.bool_]


def _are_rows(rows: NDArray[Any]) -> bool:
    return len(rows) >= _MANY and rows.dtype in _ROWS and rows.flags.c_contiguous


def _is_plain(column: NDArray[Any]) -> bool:
    kind, width = column.dtype.kind, column.itemsize
    return kind in "iufb" and width in _WIDTHS and column.flags.c_contiguous


def handed(values: NDArray[Any], dtype: type[np.generic], least: int | None = None) -> bool:
    """True if the library can take the values as they are and the call is worth it."""
    enough = len(values) >= (_MANY if least is None else least)
    return enough and values.dtype == dtype and values.flags.c_contiguous


CHUNK = 1 << 16


def chunks(count: int, size: int = CHUNK) -> Iterator[slice]:
    """Slices that cover ``count`` rows."""
    return (slice(low, low + size) for low in range(0, count, size))


def take(column: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """``column[rows]``; the rows must exist and not be negative."""
    result = np.empty(len(rows), column.dtype)
    if _are_rows(rows) and _is_plain(column):
        to = rows, rows.itemsize, len(rows), result
        if call("kinetoscope_rows_take", column, len(column), column.itemsize, *to) is not None:
            return result
    for part in chunks(len(rows)):
        # Without a mode that cannot fail, numpy would copy the part once more.
        np.take(column, rows[part], out=result[part], mode="clip")
    return result


def put(column: NDArray[Any], rows: NDArray[Any], values: NDArray[Any]) -> None:
    """``column[rows] = values``; of several values for one row the last one stays."""
    are_plain = _are_rows(rows) and _is_plain(column) and _is_plain(values)
    if are_plain and values.dtype == column.dtype and len(values) == len(rows):
        to = rows, rows.itemsize, len(rows), values
        if call("kinetoscope_rows_put", column, len(column), column.itemsize, *to) is not None:
            return
    for part in chunks(len(rows)):
        column[rows[part]] = values[part]


def where(mask: Mask) -> I32:
    """The rows at which a mask holds, ascending."""
    result = np.empty(np.count_nonzero(mask), np.int32)
    to = result, len(result)
    is_native = len(mask) >= _MANY and mask.flags.c_contiguous
    if is_native and call("kinetoscope_rows_find", mask, len(mask), *to) is not None:
        return result
    done = 0
    for part in chunks(len(mask)):
        found = np.flatnonzero(mask[part])
        np.add(found, part.start, out=result[done : done + len(found)], casting="same_kind")
        done += len(found)
    return result


def where_code(codes: I32, is_wanted: Mask) -> I32:
    """The rows whose codes, below ``len(is_wanted)``, are wanted; ascending."""
    if handed(codes, np.int32) and handed(is_wanted, np.bool_, least=0):
        rows = np.empty(len(codes), np.int32)
        asked = codes, len(codes), is_wanted, len(is_wanted), rows
        count = call("kinetoscope_rows_find_codes", *asked)
        if count is not None:
            return np.array(rows[:count])
    return where(take(is_wanted, codes))


def rows_by_code(codes: U8, groups: Sequence[Sequence[int]]) -> list[I32]:
    """The rows with one of the codes of each group; ascending. No code is in two groups."""
    if groups and handed(codes, np.uint8) and (found := _grouped(codes, groups)) is not None:
        return found
    return [where(is_any(codes, group)) for group in groups]


def _grouped(codes: U8, groups: Sequence[Sequence[int]]) -> list[I32] | None:
    """``rows_by_code`` by the library, on several threads; None where it does not."""
    parts, last = pieces(len(codes)), len(groups)
    slot, step = np.full(256, last, np.uint8), np.ones(256, np.int64)
    for number, group in enumerate(groups):
        slot[list(group)] = number
    step[last] = 0
    counts = np.array(each(lambda part: count_codes(codes[part]), parts))
    own = np.array([counts[:, list(group)].sum(axis=1) for group in groups])
    # Of each group, the rows of one part follow those of the part before it. What is in no group
    # is put at a place behind all others, again and again; each part has one.
    ends = np.cumsum(own).reshape(own.shape)
    rows = np.empty(ends[-1, -1] + len(parts), np.int32)

    def put_part(number: int) -> int | None:
        part, begin = parts[number], (ends - own)[:, number]
        next_ = np.zeros(256, np.int64)
        next_[:last], next_[last] = begin, ends[-1, -1] + number
        to = slot, next_, step, rows, len(rows)
        done = call("kinetoscope_rows_group", codes[part], part.stop - part.start, *to)
        if part.start:  # its rows were counted from there
            for low, high in zip(begin.tolist(), ends[:, number].tolist(), strict=True):
                rows[low:high] += np.int32(part.start)
        return done

    if None in each(put_part, range(len(parts))):
        return None
    return np.split(rows, ends[:, -1])[:last]


def flags_by_code(codes: I32, marks: U8, flags: U8, size: int) -> U8:
    """The flags of all marks that occur with each code below ``size``; 256 marks have flags."""
    result = np.zeros(size, np.uint8)

    def flagged(part: slice) -> U8 | None:
        found = np.zeros(size, np.uint8)
        asked = codes[part], marks[part], part.stop - part.start, flags, found, size
        return None if call("kinetoscope_rows_flags", *asked) is None else found

    if handed(codes, np.int32) and handed(marks, np.uint8):
        parts = each(flagged, pieces(len(codes)))
        if not any(part is None for part in parts):
            return np.asarray(np.bitwise_or.reduce(parts))
    for part in chunks(len(codes)):
        np.bitwise_or.at(result, codes[part], flags[marks[part]])
    return result


def count_codes(codes: NDArray[Any]) -> I64:
    """Number of occurrences of each of 256 codes (none negative); shape (256,)."""
    counts = np.zeros(256, np.int64)
    is_native = handed(codes, np.uint8) or handed(codes, np.int8)
    if is_native and call("kinetoscope_rows_count", codes, len(codes), counts) is not None:
        return counts
    for part in chunks(len(codes)):
        counts += np.bincount(codes[part], minlength=256)
    return counts


def tally(codes: I32, marks: U8, index: I32, kinds: int) -> I64:
    """Number of rows of each kind (below ``kinds``): kind = ``index[code] + mark``."""

    def tallied(part: slice) -> I64 | None:
        counts = np.zeros(kinds, np.int64)
        kind = codes[part], marks[part], part.stop - part.start, index, len(index)
        asked = call("kinetoscope_rows_tally", *kind, counts, kinds)
        return None if asked is None else counts

    if handed(codes, np.int32) and handed(marks, np.uint8):
        parts = each(tallied, pieces(len(codes)))
        if not any(part is None for part in parts):
            return np.asarray(np.sum(parts, axis=0))
    counts = np.zeros(kinds, np.int64)
    for part in chunks(len(codes)):
        counts += np.bincount(index[codes[part]] + marks[part], minlength=kinds)
    return counts


def combine(codes: I32, marks: U8, index: I32, table: U8) -> U8:
    """``table[kind]`` of each row, with kinds as ``tally`` counts them."""
    result = np.empty(len(codes), np.uint8)
    is_native = handed(codes, np.int32) and handed(marks, np.uint8)

    def combined(part: slice) -> bool:
        kind = codes[part], marks[part], part.stop - part.start, index, len(index)
        to = table, len(table), result[part]
        return call("kinetoscope_rows_combine", *kind, *to) is not None

    if is_native and all(each(combined, pieces(len(codes)))):
        return result
    for part in chunks(len(codes)):
        result[part] = table[index[codes[part]] + marks[part]]
    return result


def extent(column: I64, rows: I32) -> tuple[int, int]:
    """The least and the most value at some rows; there is at least one."""
    found = np.empty(2, np.int64)
    if handed(rows, np.int32) and handed(column, np.int64, least=0):
        asked = column, len(column), rows, len(rows), found
        if call("kinetoscope_rows_extent", *asked) is not None:
            return int(found[0]), int(found[1])
    parts = [take(column, rows[part]) for part in chunks(len(rows))]
    return min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)


def are_thousands(column: I64, rows: I32) -> bool:
    """True if all values at these rows are multiples of 1000."""
    for piece in chunks(len(rows)):  # the first few tell of most columns
        part = rows[piece]
        if handed(part, np.int32) and handed(column, np.int64, least=0):
            asked = column, len(column), part, len(part)
            answer = call("kinetoscope_rows_are_thousands", *asked)
        else:
            answer = None
        if not ((take(column, part) % 1000 == 0).all() if answer is None else answer):
            return False
    return True


def equal(codes: NDArray[Any], code: int) -> Mask:
    """``codes == code``. For a member of an enum, numpy would first make all codes 64 bits wide."""
    return np.asarray(codes == codes.dtype.type(code))


def is_any(column: NDArray[Any], values: Sequence[int]) -> Mask:
    """True where a column of integers has one of a few values of its type."""
    result = np.zeros(len(column), bool)
    if len(column) >= _MANY and column.dtype.kind in "iu" and _is_plain(column):
        to = np.array(values, column.dtype), len(values), result
        done = call("kinetoscope_rows_equal_any", column, column.itemsize, len(column), *to)
        if done is not None:
            return result
    for part in chunks(len(column)):
        piece, hit = column[part], result[part]
        for value in values:
            hit |= piece == value
    return result


def seen(codes: NDArray[Any], size: int) -> Mask:
    """Which of the codes below ``size`` occur."""
    result = np.zeros(size, bool)
    is_native = codes.dtype == np.int32 and _are_rows(codes)
    if is_native and call("kinetoscope_rows_mark", codes, len(codes), result, size) is not None:
        return result
    for part in chunks(len(codes)):
        result[codes[part]] = True
    return result


def occur_twice(codes: NDArray[Any], size: int) -> Mask:
    """Which of the codes below ``size`` occur twice or more often."""
    if handed(codes, np.int32):
        times = np.zeros(size, np.uint8)
        if call("kinetoscope_rows_count_to_two", codes, len(codes), times, size) is not None:
            return times > 1
    return np.asarray(np.bincount(codes, minlength=size) > 1)


def distinct(codes: NDArray[Any], size: int) -> I32:
    """The codes below ``size`` that occur, ascending; O(n) without a sort."""
    return where(seen(codes, size))


def matches(strings: Sequence[str], codes: I32, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Which codes' names match; shape as ``codes``."""
    return of_names(strings, codes, lambda name: pattern.search(name) is not None, np.bool_)


def of_names(
    strings: Sequence[str], codes: I32, ask: Callable[[str], int], dtype: type[np.generic]
) -> NDArray[Any]:
    """``ask(name)`` for each code's name, called once for each distinct name.

    Names are asked about in the order of their codes. Shape as ``codes``.
    """
    answer = np.zeros(len(strings), dtype)
    for code in distinct(codes, len(strings)).tolist():
        answer[code] = ask(strings[code])
    return take(answer, codes)


def distinct_values(values: NDArray[Any]) -> NDArray[Any]:
    """The values that occur, ascending; ``np.unique`` would import numpy.ma for that."""
    ordered = np.sort(values, kind="stable")  # mostly rows of a few threads, each in order
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def is_among(values: NDArray[Any], wanted: NDArray[Any]) -> Mask:
    """True where ``values`` has one of many; as ``np.isin``, without ``np.unique``."""
    if not len(wanted):
        return np.zeros(len(values), bool)
    ordered = np.sort(wanted, kind="stable")
    at = np.minimum(search(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[at] == values)


def last_end(ts: I64, dur: I64) -> int:
    """The latest ``ts + dur``, 0 where there is no row."""
    return max((int((ts[part] + dur[part]).max()) for part in chunks(len(ts))), default=0)


def cells(column: Sparse | None, rows: NDArray[Any], missing: int) -> I64:
    """Values of a sparse column at these rows (any order); for few rows, it searches."""
    result = np.full(len(rows), missing, np.int64)
    if column is None or not len(column.row) or not len(rows):
        return result
    if len(rows) == len(column.row) and np.array_equal(rows, column.row):
        result[:] = column.value
        return result
    at = places_of(column.row, rows)
    found = where(at >= 0)
    put(result, found, take(column.value, take(at, found)).astype(np.int64, copy=False))
    return result


def has_cell(column: Sparse | None, rows: NDArray[Any]) -> Mask:
    """True for each of these rows that has a value."""
    if column is None or not len(column.row):
        return np.zeros(len(rows), bool)
    return places_of(column.row, rows) >= 0


def search(
    ordered: NDArray[Any], values: NDArray[Any], side: Literal["left", "right"] = "left"
) -> I64:
    """``np.searchsorted`` of integers.

    Quick where each value is near the one before it, and of two types without a copy of either.
    """
    # Values that are far from each other are found sooner by halves.
    are_few = len(ordered) > _FAR * len(values) and ordered.dtype == values.dtype
    some = len(ordered) + len(values) >= _MANY and not are_few
    if some and all(one.dtype in _WHOLE and one.flags.c_contiguous for one in (ordered, values)):
        found = np.empty(len(values), np.int64)
        asked = ordered, ordered.itemsize, len(ordered), values, values.itemsize, len(values)
        if call("kinetoscope_rows_search", *asked, int(side == "right"), found) is not None:
            return found
    return np.searchsorted(ordered, values, side=side)


def places_of(ordered: I32, rows: NDArray[Any]) -> I32:
    """Where each of the rows is in an ascending column, −1 where it is not.

    Linear where the rows ascend.
    """
    if _are_rows(rows) and ordered.dtype == np.int32 and ordered.flags.c_contiguous:
        at = np.empty(len(rows), np.int32)
        to = len(ordered), rows, rows.itemsize, len(rows), at
        if call("kinetoscope_rows_places", ordered, *to) is not None:
            return at
    if not len(ordered):
        return np.full(len(rows), -1, np.int32)
    near = np.minimum(search(ordered, rows), len(ordered) - 1).astype(np.int32)
    near[ordered[near] != rows] = -1
    return near


def dense(column: Sparse | None, size: int, missing: int) -> I64:
    """A sparse column of a table with ``size`` rows as a dense one."""
    result = np.full(size, missing, np.int64)
    if column is not None:
        put(result, column.row, column.value)
    return result


def filled(column: Sparse, size: int) -> NDArray[Any]:
    """A sparse column of a table with ``size`` rows as a dense one of its type, 0 without a value.

    >>> filled(Sparse(np.array([1], np.int32), np.array([7], np.int8)), 3)
    array([0, 7, 0], dtype=int8)
    """
    result = np.zeros(size, column.value.dtype)
    put(result, column.row, column.value)
    return result


def dense_codes(codes: I32, size: int) -> tuple[I32, I32]:
    """Distinct codes ascending, and for each entry its index among them."""
    used = distinct(codes, size)
    index = np.zeros(size, np.int32)
    index[used] = np.arange(len(used), dtype=np.int32)
    return used, take(index, codes)


_FEW_VALUES = 1 << 22  # of which a table is made


def ranked(values: NDArray[np.integer[Any]]) -> tuple[NDArray[np.integer[Any]], I32]:
    """The distinct values, ascending, and for each entry its place among them."""
    if len(values) and int(values.min()) >= 0 and (size := int(values.max()) + 1) <= _FEW_VALUES:
        return dense_codes(values.astype(np.int32, copy=False), size)
    found = distinct_values(values)
    return found, search(found, values).astype(np.int32)


def pairs_of(pid: I32, tid: I32, size: int) -> tuple[I32, I32, I32]:
    """Distinct (pid, tid) by pid and tid code, and for each entry its index among them."""
    # Neighbours are mostly of one thread: what follows is asked once per run of equal pairs.
    new = np.ones(len(pid), bool)
    np.not_equal(pid[1:], pid[:-1], out=new[1:])
    new[1:] |= tid[1:] != tid[:-1]
    head = np.flatnonzero(new)
    del new
    pids, p = dense_codes(pid[head], size)
    tids, t = dense_codes(tid[head], size)
    width = max(len(tids), 1)
    cell = p.astype(np.int64) * width + t
    if len(pids) * width <= 1 << 24:
        used, index = dense_codes(cell.astype(np.int32), len(pids) * width)
    else:
        wide, inverse = np.unique(cell, return_inverse=True)
        used, index = wide, inverse.astype(np.int32)
    length = np.diff(head, append=len(pid))
    return pids[used // width], tids[used % width], np.repeat(index, length)


def pairs_at(rows: I32, pid: I32, tid: I32, size: int) -> tuple[I32, I32, I32]:
    """``pairs_of`` of two columns at some rows."""
    if handed(rows, np.int32) and all(handed(one, np.int32) for one in (pid, tid)):
        index, found = np.empty(len(rows), np.int32), np.empty(_MOST_PAIRS, np.int64)
        asked = rows, len(rows), pid, tid, len(pid)
        count = call("kinetoscope_rows_pairs", *asked, index, found, len(found))
        if count is not None and count >= 0:
            order = np.argsort(found[:count])
            pair, place = found[order], np.empty(count, np.int32)
            place[order] = np.arange(count, dtype=np.int32)
            if (place[1:] < place[:-1]).any():
                index = take(place, index)
            return (pair >> 32).astype(np.int32), (pair & 0xFFFFFFFF).astype(np.int32), index
    return pairs_of(take(pid, rows), take(tid, rows), size)


def look_up(pid: I32, tid: I32, size: int, known: Mapping[tuple[int, int], int]) -> I32:
    """``known`` of each (pid, tid), −1 where it has none; looked up once per pair."""
    pids, tids, index = pairs_of(pid, tid, size)
    pairs = zip(pids.tolist(), tids.tolist(), strict=True)
    return np.array([known.get(key, -1) for key in pairs], np.int32)[index]


def lookup(values: Mapping[Any, int], size: int, default: int = 0) -> I8:
    """A table of ``size`` entries: ``values`` at its keys, such as kinds, else ``default``."""
    table = np.full(size, default, np.int8)
    table[list(values)] = list(values.values())
    return table


def equal_rows(*keys: NDArray[Any]) -> list[NDArray[np.intp]]:
    """The rows that are equal in all keys, together; ascending within each group.

    >>> [rows.tolist() for rows in equal_rows(np.array([7, 5, 7]), np.array([1, 1, 1]))]
    [[1], [0, 2]]
    """
    order = np.lexsort(keys)
    if not len(order):
        return []
    is_new = np.zeros(len(order) - 1, np.bool_)
    for key in keys:
        is_new |= np.diff(key[order]) != 0
    return np.split(order, np.flatnonzero(is_new) + 1)


def stable_order(key: I64) -> I64:
    """``np.argsort(key, kind="stable")`` of numbers from 0 on.

    Numbers of 16 bits are put in their places without being compared. Of larger ones, number and
    place are packed into one where both fit: those are sorted faster, and runs that are in order
    are merged.
    """
    bits, most = len(key).bit_length(), int(key.max(initial=0))
    if most <= np.iinfo(np.uint16).max:
        return np.argsort(key.astype(np.uint16), kind="stable")
    if most.bit_length() + bits > 62:
        return np.argsort(key, kind="stable")
    packed = key << bits
    for part in chunks(len(key)):
        packed[part] += np.arange(part.start, part.start + len(packed[part]))
    packed.sort(kind="stable")
    packed &= (1 << bits) - 1
    return packed


_BLOCK = 64  # values of which only the largest is looked at first


def least_of_largest(values: I64, count: int) -> int:
    """The least of the ``count`` largest values; there are at least so many."""
    blocks = len(values) // _BLOCK
    if blocks > count:
        # So many blocks have a value that is at least as large.
        most = values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
        values = values[values >= np.partition(most, blocks - count)[blocks - count]]
    return int(np.partition(values, len(values) - count)[len(values) - count])


def ranges_of(low: I64, high: I64, count: int) -> Mask:
    """True for the numbers of some ranges [low, high) below ``count``, which ascend and are apart.

    >>> ranges_of(np.array([1, 3]), np.array([2, 5]), 6).tolist()
    [False, True, False, True, True, False]
    """
    turns = np.zeros(2 * len(low) + 2, np.int64)
    turns[1:-1:2], turns[2:-1:2], turns[-1] = low, np.maximum(low, high), count
    values = np.zeros(len(turns) - 1, np.bool_)
    values[1::2] = True
    return np.repeat(values, np.diff(turns))


def median(values: NDArray[Any] | Sequence[float]) -> float:
    """The middle of the values, or the mean of the two in the middle; as ``numpy.median``.

    That one imports ``numpy.ma`` at its first call, which takes longer than the first screen.
    """
    ordered = np.sort(np.asarray(values))
    half = len(ordered) // 2
    return (float(ordered[half]) + float(ordered[~half])) / 2


def rows_between(low: I64, high: I64) -> I64:
    """All numbers of [low[i], high[i]), one range after the other.

    >>> rows_between(np.array([3, 8]), np.array([5, 10])).tolist()
    [3, 4, 8, 9]
    """
    count = high - low
    offset = np.repeat(low - (np.cumsum(count) - count), count)
    result: I64 = np.arange(int(count.sum())) + offset
    return result
