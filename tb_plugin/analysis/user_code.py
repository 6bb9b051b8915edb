"""The line of the user's code that each event belongs to: what recognizers ask of a trace.

An event belongs to the innermost frame of the user's own code that is open around it: its *owner*.
A call of a library's function belongs to the code that called the library. ``HostCode`` is the main
thread, ``DeviceCode`` one device and what launched its work; ``Found`` is a recognizer's answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from ..base.arrays import (
    I32,
    I64,
    Mask,
    cells,
    distinct,
    equal,
    matches,
    put,
    ranges_of,
    ranked,
    search,
    stable_order,
    take,
    where,
    where_code,
)
from ..base.group_sums import group_sums
from ..base.intervals import Intervals, holds, merge, subtract, union, union_of, union_where
from ..base.regex import any_of, regex
from ..trace.model import DeviceClass, HostKind, Trace
from .call_tree.paths import innermost
from .counters.samples import Series
from .device_work import DeviceWork
from .host_activity import HostRole, Hosts
from .idle.places import is_own_frame, is_part_of_function
from .steps import Windows

Rows = TypeVar("Rows", I32, I64)
MOST_FRAMES = 4
_ASKED: list[re.Pattern[str]] = []


def of_code(pattern: str) -> re.Pattern[str]:
    """A pattern of names that ``HostCode.named`` looks for; all of them are looked for at once."""
    _ASKED.append(regex(pattern))
    return _ASKED[-1]


PRINTS = of_code(
    r"^<built-in function print>$|^torch/_tensor_str\.py\(|/torch/_tensor_str\.py\("
    r"|(^|/)logging/__init__\.py\(\d+\): _log$|(^|/)tqdm/\S+\.py\(\d+\): (update|refresh|display)$"
)


class Found(Struct, frozen=True):
    """Result of a recognizer: a time, and its events."""

    kind: str
    name: str
    time: Intervals
    rows: I64  # of the host table, or of the device table where ``on_device``
    frame: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    on_device: bool = False


class HostCode(Struct, frozen=True, dict=True):
    """The rows of the main thread, [low, high) of the host table; columns count from ``low``."""

    trace: Trace
    hosts: Hosts
    windows: Windows

    @cached_property
    def low(self) -> int:
        return int(self.hosts.first[self.hosts.main]) if self.hosts.main >= 0 else 0

    @cached_property
    def high(self) -> int:
        return int(self.hosts.first[self.hosts.main + 1]) if self.hosts.main >= 0 else 0

    @cached_property
    def ts(self) -> I64:
        return self.trace.host.ts[self.low : self.high]

    @cached_property
    def end(self) -> I64:
        return self.ts + self.trace.host.dur[self.low : self.high]

    @cached_property
    def dur(self) -> I64:
        return self.trace.host.dur[self.low : self.high]

    @cached_property
    def self_ns(self) -> I64:
        return self.trace.host.self_ns[self.low : self.high]

    @cached_property
    def name(self) -> I32:
        return self.trace.host.name[self.low : self.high]

    @cached_property
    def parent(self) -> I32:
        """Rows of this thread, −1 at the outside."""
        above = self.trace.host.parent[self.low : self.high]
        return np.maximum(above - np.int32(self.low), np.int32(-1)) if self.low else above

    @cached_property
    def op(self) -> Mask:
        return self.hosts.op[self.low : self.high]

    @cached_property
    def frame(self) -> Mask:
        """Python frames, those of modules too."""
        return self.hosts.frame[self.low : self.high]

    @cached_property
    def module(self) -> Mask:
        return equal(self.trace.host.kind[self.low : self.high], HostKind.MODULE)

    @cached_property
    def top_ops(self) -> I64:
        """Ops that no op calls."""
        rows = where(self.op)
        above = take(self.parent, rows)
        inner = take(self.op, np.maximum(above, 0))
        inner &= above >= 0
        outer: I64 = rows[~inner].astype(np.int64)
        return outer

    @cached_property
    def top_op(self) -> Mask:
        """The same for each row."""
        result = np.zeros(len(self.ts), np.bool_)
        result[self.top_ops] = True
        return result

    @cached_property
    def owner(self) -> I32:
        """For each row the row of the frame it belongs to, itself included; −1 for none.

        A comprehension belongs to the function that it stands in.
        """
        own = where_code(self.name, self.hosts.ask_names(_is_own_function, np.bool_))
        own = own[take(self.frame, own)]
        at = np.full(len(self.ts), -1, np.int32)
        at[own] = own
        return innermost(at, self.parent)

    @cached_property
    def _asked(self) -> tuple[I64, I32, list[int]]:
        """Rows whose names match any of the patterns that are looked for, those names, and each."""
        rows = where_code(self.name, self.hosts.ask_names(_is_asked(), np.bool_))
        names = take(self.name, rows)
        return rows.astype(np.int64), names, distinct(names, len(self.trace.strings)).tolist()

    @cached_property
    def _known(self) -> dict[re.Pattern[str], tuple[Mask, I64]]:
        return {}

    def _of_pattern(self, pattern: re.Pattern[str]) -> tuple[Mask, I64]:
        """Which codes match a pattern that was made by ``of_code``, and their rows, ascending."""
        if pattern not in self._known:
            rows, names, each = self._asked
            codes = np.zeros(len(self.trace.strings), np.bool_)
            codes[[code for code in each if pattern.search(self.trace.strings[code])]] = True
            found = take(rows, where_code(names, codes)) if codes.any() else rows[:0]
            self._known[pattern] = codes, found
        return self._known[pattern]

    def named(self, pattern: re.Pattern[str]) -> I64:
        """Rows whose name matches a pattern that was made by ``of_code``, ascending."""
        return self._of_pattern(pattern)[1]

    def have_name(self, rows: I64, pattern: re.Pattern[str]) -> Mask:
        """Which of some rows have such a name."""
        result: Mask = self._of_pattern(pattern)[0][self.name[rows]]
        return result

    def role(self, role: HostRole) -> Mask:
        """Rows of one role."""
        return equal(self.hosts.role[self.low : self.high], role)

    def time(self, rows: I32 | I64) -> Intervals:
        """When any of the rows was open."""
        return union_of(rows, self.ts, self.dur)

    def updates(self, rows: I64) -> Intervals:
        """When calls of an optimizer worked, without the closures that they called."""
        return subtract(self.time(rows), self.hosts.closures.time)

    def time_where(self, mask: Mask) -> Intervals:
        """When any of the rows was open at which a mask holds."""
        return union_where(mask, self.ts, self.dur)

    def outermost(self, rows: I32 | I64) -> I64:
        """The rows, which ascend, that lie in no other of them."""
        if not len(rows):
            return rows.astype(np.int64)
        ts, reach = take(self.ts, rows), take(self.end, rows)
        np.maximum.accumulate(reach, out=reach)
        first = np.ones(len(rows), np.bool_)
        np.greater_equal(ts[1:], reach[:-1], out=first[1:])
        return rows[first].astype(np.int64)

    def begin_in(self, rows: I64, time: Intervals) -> Mask:
        """Which of the rows, which ascend, begin in one of the intervals."""
        if len(time) > len(rows):
            return holds(time, self.ts[rows])
        # Rows are in order of time: those of an interval are neighbours.
        low, high = (search(rows, search(self.ts, at)) for at in (time.start, time.end))
        return ranges_of(low, high, len(rows))

    def all_begin_in(self, time: Intervals) -> Mask:
        """Which of all rows begin in one of the intervals."""
        low, high = (search(self.ts, at) for at in (time.start, time.end))
        return ranges_of(low, high, len(self.ts))

    def within(self, rows: I64, time: Intervals) -> I64:
        """The rows, which ascend, that begin in one of the intervals."""
        return rows[self.begin_in(rows, time)]

    def outside(self, rows: I64, time: Intervals) -> I64:
        """The other rows."""
        return rows[~self.begin_in(rows, time)]

    def by_owner(self, rows: Rows, weight: I64, most: int) -> list[tuple[str, Rows]]:
        """The rows by the frame they belong to, the largest weights first."""
        if not len(rows):
            return []
        at = take(self.owner, rows)
        code = np.where(at >= 0, take(self.name, np.maximum(at, 0)), np.int32(-1))
        total = group_sums(code + np.int32(1), weight, len(self.trace.strings) + 1).total
        order = [int(one) for one in np.argsort(-total, kind="stable")[:most] if total[one] > 0]
        return [
            (self.trace.strings[one - 1] if one else "", rows[code == one - 1]) for one in order
        ]

    def host_rows(self, rows: I64) -> I64:
        """Rows of the host table."""
        return np.asarray(rows, np.int64) + self.low

    @cached_property
    def loading(self) -> Intervals:
        """When the main thread was in the DataLoader."""
        return self.time_where(self.hosts.loader[self.low : self.high])

    @cached_property
    def joins(self) -> I64:
        """Rows that wait for another thread or process, ascending.

        None of them holds a whole step: a forked process runs in ``start`` of the one before it.
        """
        rows = self.named(JOINS)
        after = np.minimum(search(self.windows.start, self.ts[rows]), len(self.windows) - 1)
        holds_step = self.windows.start[after] >= self.ts[rows]
        holds_step &= self.windows.end[after] <= self.end[rows]
        return rows[~holds_step]

    @cached_property
    def backward(self) -> Intervals:
        """When the main thread was in ``backward()``, or ran backward ops."""
        return self.time_where(self.role(HostRole.BACKWARD) & (self.frame | self.op))

    @cached_property
    def in_loader(self) -> Mask:
        """Which of all rows begin in the DataLoader."""
        return self.all_begin_in(self.loading)

    def outside_of_loader(self, rows: I64) -> I64:
        """The rows that do not begin in the DataLoader, whose work is the loader's."""
        return rows[~take(self.in_loader, rows)] if len(self.loading) else rows

    @cached_property
    def _linked(self) -> tuple[I64, I64, Intervals]:
        """Forward rows, ascending, their backward rows, and when any of the latter ran."""
        forward = self.trace.host.forward[self.low : self.high]
        linked = np.flatnonzero((forward >= self.low) & (forward < self.high))
        source = forward[linked].astype(np.int64) - self.low
        order = np.argsort(source, kind="stable")
        return source[order], linked[order], self.time(linked)

    @cached_property
    def differentiated(self) -> I64:
        """Ops of the forward pass that autograd made backward ops of, ascending."""
        return self._linked[0]

    def with_backward(self, time: Intervals) -> Intervals:
        """Intervals of forward ops, and those of the backward ops that autograd made of them.

        Where that is most of the backward time, all of it: sums of gradients are linked to none.
        """
        source, linked, of_all = self._linked
        if not len(linked) or not len(time):
            return time
        of_these = self.time(np.sort(linked[self.begin_in(source, time)]))
        if 2 * of_these.total_ns >= of_all.total_ns:
            return merge(time, self.backward)
        return merge(time, of_these)


def _is_own_function(name: str) -> bool:
    return is_own_frame(name) and not is_part_of_function(name)


@cache
def _is_asked() -> Callable[[str], bool]:
    """True if a name matches any of the patterns that are looked for."""
    return any_of(one.pattern for one in _ASKED)


def distinct_owners(code: HostCode, rows: Rows) -> I64:
    """The frames that the rows, which are all in one, belong to, each once."""
    return distinct(take(code.owner, rows), len(code.ts)).astype(np.int64)


COPIES = of_code(r"^aten::copy_$")
CONVERTS = of_code(r"^aten::(to|_to_copy|contiguous|clone|type_as)$")
OPTIMIZES = of_code(r"^Optimizer\.step#(\w+)\.step$")
PAUSE_NS = 100_000  # less than this passes between two ops of one loop
LEAST_LOOP = 16  # reads, or calls of a module, in one call of a frame
JOINS = of_code(
    r"(^|/)(threading|queue|concurrent/futures/_base|multiprocessing/\w+)\.py\(\d+\): "
    r"(start|join|wait(_for)?|_wait_for_tstate_lock|result|exception|as_completed|get|put)$"
)
_TAKES_APART = regex(r"torch/_tensor\.py\(\d+\): __iter__$|^aten::(unbind|split|chunk)$")


def loops(code: HostCode, rows: I64) -> Intervals:
    """When the rows were open; where one call of a frame has many, from its first to its last.

    Taking a tensor apart for the loop counts, too. Calls that are most of their frame take all of
    it: its own time is that of the loop. Without frames, rows with no other op and only short
    pauses between them are a loop.
    """
    if not code.frame.any():
        return _in_rows(code, rows)
    owner = code.owner[rows].astype(np.int64)
    start, end = code.ts[rows], code.end[rows]
    order = stable_order(owner + 1)
    first = np.flatnonzero(np.diff(owner[order], prepend=-2))
    for own in np.split(order, first[1:]):
        frame = int(owner[own[0]]) if len(own) >= LEAST_LOOP else -1
        if frame < 0:
            continue
        low, high = int(start[own].min()), int(end[own].max())
        low = min(low, _taken_apart(code, frame, low))
        if 2 * (high - low) >= code.dur[frame]:
            low, high = int(code.ts[frame]), int(code.end[frame])
        start[own], end[own] = low, high
    return union(start, end)


def _in_rows(code: HostCode, rows: I64) -> Intervals:
    """Rows that follow each other, from the first to the last of many."""
    start, end = code.ts[rows], code.end[rows]
    place = search(code.top_ops, rows)
    joined = np.diff(place, prepend=-2) == 1
    joined[1:] &= start[1:] - end[:-1] < PAUSE_NS
    first = np.flatnonzero(~joined)
    last = np.append(first[1:], len(rows)) - 1
    many = np.flatnonzero(last - first + 1 >= LEAST_LOOP)
    begin = start[first[many]]
    before = code.top_ops[np.maximum(place[first[many]] - 1, 0)]
    apart = matches(code.trace.strings, code.name[before], _TAKES_APART)
    # Python makes an object of each piece, which takes no longer than the op.
    pause = begin - code.end[before]
    apart &= (pause >= 0) & (pause < np.maximum(code.dur[before], PAUSE_NS))
    begin = np.where(apart, code.ts[before], begin)
    return merge(union(start, end), union(begin, end[last[many]]))


def _taken_apart(code: HostCode, frame: int, before: int) -> int:
    """When a frame took a tensor apart for a loop that begins then; else the same instant."""
    low, high = frame + 1, int(np.searchsorted(code.ts, before, side="left"))
    rows = np.flatnonzero((code.parent[low:high] == frame) & (code.end[low:high] <= before))
    if not len(rows):
        return before
    last = low + int(rows[-1])
    name = code.trace.strings[int(code.name[last])]
    return int(code.ts[last]) if _TAKES_APART.search(name) else before


_ELEMENT_BYTES = {"Byte": 1, "Char": 1, "Half": 2, "BFloat16": 2, "Float": 4, "Int": 4,
                  "Double": 8, "Long": 8}  # fmt: skip


class DeviceCode(Struct, frozen=True, dict=True):
    """The activity of one device, and the host code that launched it."""

    code: HostCode
    work: DeviceWork
    counters: tuple[Series, ...]

    @property
    def trace(self) -> Trace:
        return self.code.trace

    @property
    def device(self) -> int:
        return self.work.device

    @cached_property
    def rows(self) -> I64:
        """Its compute kernels, in order of their stream and time."""
        return self.work.rows(DeviceClass.COMPUTE)

    @cached_property
    def collectives(self) -> I64:
        return self.work.rows(DeviceClass.COMMUNICATION)

    @cached_property
    def kinds(self) -> KernelKinds:
        """Its kernels by kind."""
        is_kernel = equal(self.work.klass, DeviceClass.COMPUTE)
        place = np.cumsum(is_kernel, dtype=np.int32) - np.int32(1)
        by_time = take(place, self.work.by_time[take(is_kernel, self.work.by_time)])
        return kernel_kinds(self.trace, self.rows, by_time)

    def time(self, rows: I64) -> Intervals:
        """When any of the rows ran."""
        return union_of(rows, self.trace.device.ts, self.trace.device.dur)

    def op_names(self, rows: I64, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        """True if the op that launched each row has such a name."""
        op = take(self.trace.device.op, rows)
        result = np.zeros(len(rows), np.bool_)
        known = where(op >= 0)
        names = take(self.trace.host.name, take(op, known))
        put(result, known, matches(self.trace.strings, names, pattern))
        return result

    def text(self, op: I64, column: str) -> I64:
        """Codes of a text argument of ops; −1 where there is none."""
        return cells(self.trace.host.args.get(column), op, -1)

    def frame(self, rows: I64) -> str:
        """The frame of the user's code whose ops took most of the time of these rows."""
        op = take(self.trace.device.op, rows) - np.int32(self.code.low)
        inside = where((op >= 0) & (op < len(self.code.ts)))
        if not len(inside):
            return ""
        weight = take(self.trace.device.dur, take(rows, inside))
        best = self.code.by_owner(take(op, inside), weight, 1)
        return best[0][0] if best else ""

    def message_bytes(self) -> I64:
        """The larger of what each collective sends and receives; −1 unknown."""
        rows, args = self.collectives, self.trace.device.args
        sent, received, dtype = (
            cells(args.get(column), rows, -1)
            for column in ("in_elements", "out_elements", "collective_dtype")
        )
        names = [self.trace.strings[code] if code >= 0 else "" for code in dtype.tolist()]
        width = np.array([_ELEMENT_BYTES.get(name, 0) for name in names], np.int64)
        most = np.maximum(sent, received).astype(np.int64)
        has_elements = args.get("in_elements") is not None
        return np.where(has_elements & (width > 0) & (most >= 0), most * width, np.int64(-1))

    def below(self, rows: I64, pattern: re.Pattern[str]) -> Mask:
        """True if the launch of each row lies below an event of such a name, in twelve levels."""
        host = self.trace.host
        at = self.trace.device.launch[rows].astype(np.int64)
        result = np.zeros(len(at), np.bool_)
        for _ in range(12):
            known = (at >= 0) & ~result
            if not known.any():
                break
            result[known] = matches(self.trace.strings, host.name[at[known]], pattern)
            at = np.where(at >= 0, host.parent[np.maximum(at, 0)], -1)
        return result

    def op_name(self, rows: I64) -> str:
        """The op that took most of the time of these rows."""
        op = take(self.trace.device.op, rows)
        known = where(op >= 0)
        if not len(known):
            return ""
        names = take(self.trace.host.name, take(op, known))
        weight = take(self.trace.device.dur, take(rows, known))
        spent = group_sums(names, weight, len(self.trace.strings)).total
        return self.trace.strings[int(spent.argmax())]

    def found(self, kind: str, rows: I64, **figures: float) -> Found:
        """A pattern of these rows."""
        name = self.op_name(rows)
        frame = self.frame(rows)
        return Found(kind, name, self.time(rows), rows, frame, figures, on_device=True)


LEAST_OF_KIND = 12  # launches of one kind, to tell what it usually takes


class KernelKinds(NamedTuple):
    """The kernels of each name and launch geometry that came often: by kind, then in order of time.

    Kinds are in order of name, grid and block.
    """

    place: I64  # among all kernels
    kind: I32
    first: I64  # of each kind the first entry
    size: I64


def kernel_kinds(trace: Trace, rows: I64, by_time: I32) -> KernelKinds:
    """The kinds of some kernels (device rows); ``by_time`` are their places in order of time."""
    number: NDArray[np.integer] = take(trace.device.name, rows)
    for column in ("grid", "block"):
        values, code = ranked(cells(trace.device.args.get(column), rows, -1) + 1)
        number, count = ranked(number)[1], max(len(values), 1)
        if (int(number.max(initial=0)) + 1) * count >= 1 << 31:
            number = number.astype(np.int64)
        number = number * number.dtype.type(count) + code
    kind = ranked(number)[1]
    size = np.bincount(kind)
    often = size >= LEAST_OF_KIND
    by_time = by_time[take(often, take(kind, by_time))]
    number_of = np.cumsum(often, dtype=np.int32) - np.int32(1)
    place = take(by_time, stable_order(take(kind, by_time).astype(np.int64)))
    sizes: I64 = size[often].astype(np.int64)
    kinds: I32 = take(number_of, take(kind, place))
    return KernelKinds(place.astype(np.int64), kinds, np.cumsum(sizes) - sizes, sizes)
