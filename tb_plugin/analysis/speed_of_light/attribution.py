"""Which op did each compute kernel run for, and how much work is that?

The model belongs to the op. The kernel goes to the op around its launch; if that has no model, to
the innermost op around it that has one. A child with a model so takes its kernels from its parent,
and nothing counts twice. Without device activity ops of the host are the calls.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import (
    F64,
    I8,
    I32,
    I64,
    B,
    cells,
    matches,
    of_names,
    ranked,
    where,
)
from ...base.group_sums import first_largest, group_sums
from ...base.regex import regex
from ...trace.model import DeviceClass, HostKind, Link, Trace
from ..call_tree.paths import innermost
from ..device_work import DeviceWork, used_devices
from ..modules.model import Phase
from ..modules.sources import find_modules
from ..operators.calls import spread
from ..overview.utilization import cut
from ..steps import step_windows
from .arguments import DTYPES
from .devices import measured_peak, peak_of
from .light import (
    CallTexts,
    KindFigures,
    StringCodes,
    dtype_of_lists,
    figures_of,
    has_model,
    kind_table,
)
from .model import (
    NONE,
    KindTable,
    PieceTable,
    Reason,
    SpeedCallTable,
    SpeedColumns,
    SpeedPlaces,
    SpeedWorkTable,
)
from .models import FLOPS_OPS
from .products import OLD_CONVOLUTION_BACKWARD

_BACKWARD = regex(r"^autograd::engine::evaluate_function")
_LISTS = ("TensorList", "GenericList")
# Ops that also prepare the output or an argument of another op.
_PREPARES = frozenset(
    {"aten::copy_", "aten::_to_copy", "aten::clone", "aten::fill_", "aten::zero_"}
)
# Nodes of autograd, collectives and marks of the profiler compute nothing themselves.
_COMPUTES = regex(r"^(?!autograd::|torch::|_?c10d|symm_mem|torch_ccl|profiler::)\w+::")


def speed_of_light(trace: Trace) -> SpeedColumns:
    """All calls of a trace with their work; without their modules."""
    return _Attribution(trace).columns()


def places_of(trace: Trace) -> SpeedPlaces:
    """Module and phase of each call of a trace."""
    found, host = find_modules(trace), _Attribution(trace).hosts()
    tree = found.tree
    codes = np.where(tree.qualified >= 0, tree.qualified, tree.name)
    return SpeedPlaces(
        module=np.append(found.module_of, np.int32(NONE))[host].astype(np.int32),
        phase=np.append(phases_of(trace), np.int8(Phase.FORWARD))[host],
        parent=tree.parent,
        names=tuple(found.strings[code] for code in codes.tolist()),
    )


def phases_of(trace: Trace) -> I8:
    """Phase of each host row.

    Autograd records no sequence number for its own ops, but for those it runs again.
    """
    host, index = trace.host, np.arange(len(trace.host), dtype=np.int32)
    is_node = matches(trace.strings, host.name, _BACKWARD)
    inside = innermost(np.where(is_node, index, np.int32(NONE)), host.parent) >= 0
    own = cells(host.args.get("sequence"), index, NONE)
    forward = cells(host.args.get("forward_thread"), index, 0)
    again = np.where((own >= 0) & (forward == 0) & inside & ~is_node, index, np.int32(NONE))
    repeated = innermost(again, host.parent) >= 0
    phase = np.where(inside, Phase.BACKWARD, Phase.FORWARD)
    return np.where(inside & repeated, Phase.RECOMPUTE, phase).astype(np.int8)


class _Attribution:
    """Goes from kernels to calls to kinds."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.host, self.device = trace, trace.host, trace.device
        self.codes = StringCodes(trace.strings)
        count = len(trace.host)
        is_op = np.asarray(trace.host.kind == HostKind.OP)
        named = of_names(trace.strings, trace.host.name, has_model, np.bool_)
        index = np.arange(count, dtype=np.int32)
        self.modelled: B = is_op & named
        self.nearest = innermost(np.where(self.modelled, index, np.int32(NONE)), trace.host.parent)
        self._first_dtypes: dict[int, str] = {}
        self.peaks = [peak_of(one) for one in trace.devices]
        self.host_peak = measured_peak(trace.recording.handler)

    @cached_property
    def work(self) -> I32:
        """The compute kernels."""
        return where(self.device.klass == DeviceClass.COMPUTE)

    def hosts(self) -> I32:
        """The host row of each call, −1."""
        return self._calls(self.work)[0] if len(self.work) else self._host_calls()

    def columns(self) -> SpeedColumns:
        work = self.work
        on_host = not len(work)
        if on_host:
            target = self._host_calls()
            host, device = target, np.full(len(target), NONE, np.int32)
            call, reason = np.empty(0, np.int32), np.zeros(len(target), np.int8)
            names = np.zeros(len(target), np.int64)
            kernel = np.full(len(target), NONE, np.int32)
            measured: I64 = self.host.dur[host]
            kernels = np.zeros(len(target), np.int32)
            step, ts = self.host.step[host], self.host.ts[host]
        else:
            host, reason, call, first = self._calls(work)
            device, step = self.device.device[work][first], self.device.step[work][first]
            ts = self.device.ts[work][first]
            dur, name = self.device.dur[work], self.device.name[work]
            sums = group_sums(call, dur, len(host))
            measured, kernels = sums.total, sums.count.astype(np.int32)
            longest = first_largest(call.astype(np.int64), dur, len(host))
            kernel = name[longest].astype(np.int32)
            names = self._names_of(call, name, len(host))
        kind, kinds = self._kinds(host, reason, names, kernel, device)
        return SpeedColumns(
            strings=self.codes.all(),
            kinds=kinds,
            calls=SpeedCallTable(
                kind=kind,
                ts=ts,
                step=step.astype(np.int32),
                device=device.astype(np.int32),
                place=np.arange(len(host), dtype=np.int32),
                measured_ns=measured,
                kernels=kernels,
            ),
            work=SpeedWorkTable(
                row=work.astype(np.int32),
                call=call,
                name=self.device.name[work],
                dur_ns=self.device.dur[work],
            ),
            pieces=self._pieces(work),
            peaks=tuple(self.peaks),
            part_ratios=tuple(
                peak.part(device) if peak else 1.0
                for peak, device in zip(self.peaks, self.trace.devices, strict=True)
            ),
            on_host=on_host,
            host_peak=self.host_peak if on_host else None,
        )

    # --- calls ------------------------------------------------------------------------------------

    def _host_calls(self) -> I32:
        """Ops of which none lies in another one: with a model the innermost, and leaves without.

        A product is one call with all that it holds. So is any other op with the copies and the
        fills that prepare it: ``sum`` fills its output with zeros and reads its input itself.

            sum ████████         ✓         _to_copy ████████         holds the same work
              fill_ ██           part        copy_   ██████   ✓
        """
        host, strings = self.host, self.trace.strings

        def named(names: Container[str]) -> B:
            return of_names(strings, host.name, names.__contains__, np.bool_)

        product = self.modelled & named(FLOPS_OPS)
        prepares = self.modelled & named(_PREPARES)
        products = self._innermost(where(product))
        other = self.modelled & ~product & ~self._inside(products)
        other &= ~(prepares & self._inside(where(other & ~prepares)))
        others = self._innermost(where(other))
        found = np.union1d(products, others[~self._holds(others, products)])
        is_op = np.asarray(host.kind == HostKind.OP)
        leaf = is_op & ~self.modelled & matches(strings, host.name, _COMPUTES)
        leaf &= ~self._inside(found)
        leaves = where(leaf)
        leaves = leaves[~self._holds(leaves, where(is_op))]
        return np.union1d(found, leaves).astype(np.int32)

    def _above(self, rows: NDArray[np.integer]) -> I32:
        """By host row the innermost of some rows that it lies in; −1."""
        own = np.full(len(self.host), NONE, np.int32)
        own[rows] = rows
        return np.append(innermost(own, self.host.parent), np.int32(NONE))[self.host.parent]

    def _inside(self, rows: NDArray[np.integer]) -> B:
        return self._above(rows) >= 0

    def _holds(self, rows: NDArray[np.integer], inner: NDArray[np.integer]) -> B:
        """Of some rows, those that hold one of ``inner`` with none of the rows between."""
        holds = np.zeros(len(self.host) + 1, np.bool_)
        holds[self._above(rows)[inner]] = True
        found: B = holds[rows]
        return found

    def _innermost(self, rows: I32) -> I32:
        return rows[~self._holds(rows, rows)]

    def _calls(self, work: I32) -> tuple[I32, I8, I32, I64]:
        """By call its host row (−1) and reason; by kernel its call; the first kernel of each call.

        A kernel without an op of its own is a call of its own.
        """
        op, link = self.device.op[work], self.device.link[work]
        found = np.append(self.nearest, np.int32(NONE))[op]
        found = np.where(found >= 0, found, op)
        replayed = link == Link.GRAPH
        found = np.where(replayed, np.int32(NONE), found)
        lone = found < 0
        # Calls of one op on several devices are calls of each.
        devices = max(len(self.trace.devices), 1)
        key = found.astype(np.int64) * devices + self.device.device[work]
        key[lone] = len(self.host) * devices + np.flatnonzero(lone)
        values, call = ranked(key)
        first = np.empty(len(values), np.int64)
        first[call[::-1]] = np.arange(len(call) - 1, -1, -1)
        reason = np.zeros(len(work), np.int8)
        reason[lone] = Reason.NO_OP
        reason[replayed] = Reason.GRAPH
        return found[first].astype(np.int32), reason[first], call, first

    def _names_of(self, call: I32, name: I32, count: int) -> I64:
        """A number for the names of the kernels of each call, in any order."""
        mixed = np.arange(1, len(self.trace.strings) + 2, dtype=np.uint64)
        for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):  # as splitmix64 does
            mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(factor)
        random = (mixed >> np.uint64(33)).astype(np.int64)
        return group_sums(call, random[name], count).total

    @cached_property
    def texts(self) -> tuple[I32, I32, I32, I32]:
        """By host row: the codes of sizes, types, strides and plain arguments."""
        host, around = self.host, np.zeros(len(self.host) + 1, np.bool_)
        around[:-1] = of_names(
            self.trace.strings, host.name, OLD_CONVOLUTION_BACKWARD.__eq__, np.bool_
        )
        dims, types, strides, values = (
            spread(host.args.get(name), len(host))
            for name in ("input_dims", "input_types", "input_strides", "concrete_inputs")
        )
        inner = where(self.modelled & around[host.parent]) if around.any() else ()
        for column in (dims, types, strides) if len(inner) else ():
            column[inner] = column[host.parent[inner]]
        return dims, types, strides, values

    # --- kinds ------------------------------------------------------------------------------------

    def _kinds(
        self, host: I32, reason: I8, names: I64, kernel: I32, device: I32
    ) -> tuple[I32, KindTable]:
        def of(column: I32) -> I32:
            return np.append(column, np.int32(NONE))[host]

        lists = np.full(len(host), NONE, np.int32)
        for at, dtype in self._list_dtypes(host, kernel):
            lists[at] = self.codes.code(dtype)
        op = of(self.host.name)
        keys = [op, *map(of, self.texts), lists]
        kind = np.zeros(len(host), np.int64)
        # A kernel of no op is told by its name alone.
        parts: list[NDArray[np.integer]] = [*keys, reason, device, names]
        parts.append(np.where(op < 0, kernel, np.int32(NONE)))
        for key in parts:
            rank = ranked(np.asarray(key, np.int64))[1]
            kind = ranked(kind * (int(rank.max(initial=0)) + 1) + rank)[1].astype(np.int64)
        count = int(kind.max(initial=-1)) + 1
        first = np.empty(count, np.int64)
        first[kind[::-1]] = np.arange(len(kind) - 1, -1, -1)
        every: list[NDArray[np.integer]] = [*keys, reason, device, kernel]
        columns = [column[first].tolist() for column in every]
        rows = [self._figures(row) for row in zip(*columns, strict=True)]
        table = kind_table(
            op[first], kernel[first], keys[1][first], keys[2][first], rows, self.codes
        )
        return kind.astype(np.int32), table

    def _figures(self, key: Sequence[int]) -> KindFigures:
        """The figures of a kind."""
        op, *codes, reason, device, kernel = key
        if reason or op < 0:
            return KindFigures(reason=reason or Reason.NO_OP)
        texts = map(self.codes.text, (op, *codes, kernel))
        if device < 0:
            return figures_of(CallTexts(*texts), self.host_peak)
        peak = self.peaks[device]
        part = peak.part(self.trace.devices[device]) if peak else 1.0
        return figures_of(CallTexts(*texts), peak, part)

    def _list_dtypes(self, host: I32, kernel: I32) -> Iterator[tuple[int, str]]:
        """The type of lists of tensors of each call: by its kernel's name, else by its children."""
        strings = self.trace.strings
        known = np.flatnonzero(host >= 0)
        types = self.texts[1][host[known]]
        listed = known[
            (types >= 0)
            & of_names(strings, np.maximum(types, 0), lambda text: any(
                one in text for one in _LISTS), np.bool_)
        ]  # fmt: skip
        of_kernel: dict[int, str] = {}
        for at in listed.tolist():
            code = int(kernel[at])
            if code >= 0 and code not in of_kernel:
                of_kernel[code] = dtype_of_lists(strings[code])
            dtype = of_kernel.get(code, "") or self._of_children(int(host[at]))
            if dtype:
                yield at, dtype

    def _of_children(self, row: int) -> str:
        """The type of the first tensor of the first op inside a call."""
        host = self.host
        end, thread = host.ts[row] + host.dur[row], host.thread[row]
        for inner in range(row + 1, min(row + 8, len(host))):
            if host.thread[inner] != thread or host.ts[inner] >= end:
                return ""
            if dtype := self._first_dtype(int(self.texts[1][inner])):
                return dtype
        return ""

    def _first_dtype(self, code: int) -> str:
        """The type of the first argument in a text of types; "" where it is no tensor."""
        found = self._first_dtypes.get(code)
        if found is None:
            types = json.loads(self.trace.strings[code]) if code >= 0 else None
            first = types[0] if isinstance(types, list) and types else ""
            found = DTYPES.get(first, "") if isinstance(first, str) else ""
            self._first_dtypes[code] = found
        return found

    # --- time -------------------------------------------------------------------------------------

    def _pieces(self, work: I32) -> PieceTable:
        """The time that each compute kernel owns, cut at the windows of steps."""
        windows = step_windows(self.trace)
        place = np.full(len(self.device) + 1, NONE, np.int32)
        place[work] = np.arange(len(work), dtype=np.int32)
        parts: list[tuple[I64, I64, I64]] = []
        for one in used_devices(self.trace):
            rows = one.rows(DeviceClass.COMPUTE)
            start, end, owner = owned(one, rows)
            found = cut(start, end, windows.edges)
            inside = found.cell % 2 == 0
            parts.append((owner[found.event][inside], found.cell[inside] // 2, found.ns[inside]))
        row, step, ns = (
            np.concatenate([np.empty(0, np.int64), *column])
            for column in (zip(*parts, strict=True) if parts else ((), (), ()))
        )
        return PieceTable(work=place[row], step=step.astype(np.int32), ns=ns)


def owned(one: DeviceWork, rows: I64) -> tuple[I64, I64, I64]:
    """Start, end and row of the time that each of some kernels owns, in order of time.

    A  ████████            owns 8
    B     ███████          owns 2: what is left after A
    C       ██             owns nothing
    """
    device = one.trace.device
    order = rows[np.lexsort((rows, device.ts[rows]))]
    ts, end = device.ts[order], device.ts[order] + device.dur[order]
    reached = np.maximum.accumulate(end) if len(end) else end
    start = ts.copy()
    start[1:] = np.maximum(ts[1:], reached[:-1])
    keep = end > start
    return start[keep], end[keep], order[keep]


def light_of(kinds: KindTable) -> F64:
    """Light of one call of each kind, ns; NaN where it has none."""
    light = np.maximum(kinds.compute_ns, kinds.memory_ns)
    light[kinds.reason != Reason.KNOWN] = np.nan
    return light
