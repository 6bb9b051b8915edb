"""Patterns of the kernels of one device.

* ``plain_products``: matrix work that uses no tensor cores; ``collectives``: all of them
* ``float32``: matrix products in float32 that use no tensor cores, on a device with TF32
* ``roofline``, ``unaligned``: matrix products that take longer than arithmetic and memory allow,
  and those of them with sizes that do not fit tensor cores
* ``underfilled``: kernels with less than one block per multiprocessor
* ``attention``: attention in single steps, with a softmax over a square of scores
* ``tiny_kernels``: kernels of a few microseconds
* ``conversion_kernels``: kernels that copy into another type or layout
* ``recompute``: kernels of activations that are computed a second time
* ``drift``: kernels of one kind that get slower while the recording goes on
* ``contention``: kernels that take longer while communication runs
* ``small_messages``, ``sync_batch_norm``: collectives of a few bytes, and those of SyncBatchNorm
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I64, Mask, cells, distinct_values, is_among, matches, of_names
from ...base.intervals import Intervals, subtract, union
from ...trace.model import DeviceClass, HostKind, Trace
from ..operators.flops import flops_of
from ..overview.utilization import MatrixUse, are_eligible, kernel_use, sparse_of
from .device_peaks import DevicePeak, peak_of
from .host_code import Found, HostCode

TINY_KERNEL_NS = 5_000
LONG_KERNEL_NS = 20_000
LEAST_OF_KIND = 12  # launches of one kind, to tell whether they get slower
LEAST_STEPS = 3  # … and steps
LEAST_SQUARE = 64  # scores of attention

_PRODUCTS = re.compile(r"^aten::(mm|addmm|bmm|baddbmm|_scaled_mm)$")
_CONVERTS = re.compile(r"^aten::(to|_to_copy|contiguous|clone|type_as)$")
_SOFTMAX = re.compile(r"^aten::_softmax$")
_BATCHED = re.compile(r"^aten::(bmm|baddbmm)$")
_RECOMPUTES = re.compile(r"torch/utils/checkpoint\.py\(\d+\): (recompute_fn|unpack_hook)$")
_SYNC_NORM = re.compile(r"SyncBatchNorm|sync_batch_norm|batch_norm_gather_stats")
_TF32 = re.compile(r"tf32|bf16x|s1688|s16816|xmma_\w*tf32", re.IGNORECASE)
_ELEMENT_BYTES = {"Byte": 1, "Char": 1, "Half": 2, "BFloat16": 2, "Float": 4, "Int": 4,
                  "Double": 8, "Long": 8}  # fmt: skip


@dataclass(frozen=True)
class DeviceCode:
    """The activity of one device, and the host code that launched it."""

    code: HostCode
    device: int

    @property
    def trace(self) -> Trace:
        return self.code.trace

    @cached_property
    def rows(self) -> I64:
        """Its compute kernels, in order of their stream and time."""
        found: I64 = self._of_class(DeviceClass.COMPUTE)
        return found

    @cached_property
    def collectives(self) -> I64:
        return self._of_class(DeviceClass.COMMUNICATION)

    def _of_class(self, klass: DeviceClass) -> I64:
        rows = self.trace.device.rows_of(self.device)
        found = np.flatnonzero(self.trace.device.klass[rows] == klass)
        result: I64 = np.asarray(found, np.int64) + rows.start
        return result

    def time(self, rows: I64) -> Intervals:
        """When any of the rows ran."""
        ts = self.trace.device.ts[rows]
        return union(ts, ts + self.trace.device.dur[rows])

    def op_names(self, rows: I64, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        """Whether the op that launched each row has such a name."""
        op = self.trace.device.op[rows]
        result = np.zeros(len(rows), np.bool_)
        known = op >= 0
        result[known] = matches(self.trace.strings, self.trace.host.name[op[known]], pattern)
        return result

    def text(self, op: I64, column: str) -> I64:
        """Codes of a text argument of ops; −1 where there is none."""
        return cells(self.trace.host.args.get(column), op, -1)

    def frame(self, rows: I64) -> str:
        """The frame of the user's code whose ops took most of the time of these rows."""
        op = self.trace.device.op[rows].astype(np.int64) - self.code.low
        inside = (op >= 0) & (op < len(self.code.ts))
        if not inside.any():
            return ""
        weight = self.trace.device.dur[rows[inside]]
        best = self.code.by_owner(op[inside], weight, 1)
        return best[0][0] if best else ""

    def op_name(self, rows: I64) -> str:
        """The op that took most of the time of these rows."""
        op = self.trace.device.op[rows]
        known = op >= 0
        if not known.any():
            return ""
        names = self.trace.host.name[op[known]]
        spent = np.bincount(names, self.trace.device.dur[rows[known]])
        return self.trace.strings[int(spent.argmax())]

    def found(self, kind: str, rows: I64, **figures: float) -> Found:
        """A pattern of these rows."""
        name = self.op_name(rows)
        frame = self.frame(rows)
        return Found(kind, name, self.time(rows), rows, frame, figures, on_device=True)


def kernel_patterns(code: HostCode, device: int) -> Iterator[Found]:
    """All patterns of one device."""
    one = DeviceCode(code, device)
    if len(one.rows):
        yield from _products(one)
        yield from _underfilled(one)
        yield from _attention(one)
        yield from _small(one)
        yield from _recomputed(one)
        yield from _drift(one)
    if len(one.collectives):
        yield one.found("collectives", one.collectives)
        yield from _contention(one)
        yield from _messages(one)


def _json(text: str) -> Any:  # noqa: ANN401  # whatever the recorder wrote
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class _Product:
    """Sizes and type of a matrix product."""

    sizes: tuple[int, int, int]  # m, n, k
    batch: int
    dtype: str

    @property
    def bytes(self) -> float:
        m, n, k = self.sizes
        width = 4 if self.dtype == "float" else 2
        return float(self.batch * (m * k + k * n + m * n) * width)

    @property
    def is_aligned(self) -> bool:
        """Whether rows of all three matrices begin at multiples of 16 bytes.

        NVIDIA, Matrix Multiplication Background User's Guide: tensor cores are used best then. The
        number of rows, m, does not decide where they begin.
        """
        step = 4 if self.dtype == "float" else 8
        return all(size % step == 0 for size in self.sizes[1:])


def _product(dims: Any, types: Any, first: int) -> _Product | None:  # noqa: ANN401
    """The product of an op's inputs; None for what is none."""
    try:
        a, b = dims[first], dims[first + 1]
        *batch, m, k = map(int, a)
        n, dtype = int(b[-1]), str(types[first])
    except (TypeError, ValueError, IndexError):
        return None
    if min(m, n, k) <= 0 or len(batch) > 1:
        return None
    return _Product((m, n, k), batch[0] if batch else 1, dtype)


def _products(one: DeviceCode) -> Iterator[Found]:
    """Products in float32 without TF32, and what products waste beyond their roofline."""
    trace, device = one.trace, one.trace.devices[one.device]
    rows = one.rows[trace.device.op[one.rows] >= 0]
    eligible = rows[are_eligible(trace, trace.device.op[rows])]
    plain = kernel_use(trace, eligible) == MatrixUse.NO
    if plain.any():
        yield one.found("plain_products", eligible[plain])
    if device.vendor == "NVIDIA" and (device.capability or (0, 0)) >= (8, 0) and len(eligible):
        types = one.text(trace.device.op[eligible].astype(np.int64), "input_types")
        single = _told(trace, types, _is_float32)
        plain &= ~matches(trace.strings, trace.device.name[eligible], _TF32)
        if (single & plain).any():
            yield one.found("float32", eligible[single & plain])
    peak = peak_of(device)
    if peak is not None:
        yield from _roofline(one, rows[one.op_names(rows, _PRODUCTS)], peak)


def _told(trace: Trace, texts: I64, ask: Callable[[str], bool]) -> Mask:
    """The answer for each of these codes; False where there is no text."""
    said = np.zeros(len(texts), np.bool_)
    known = texts >= 0
    said[known] = of_names(trace.strings, texts[known].astype(np.int32), ask, np.bool_)
    return said


def _is_float32(text: str) -> bool:
    types = _json(text)
    tensors = [one for one in types if one in ("float", "double", "c10::Half", "c10::BFloat16")] \
        if isinstance(types, list) else []  # fmt: skip
    return bool(tensors) and set(tensors) == {"float"}


def _roofline(one: DeviceCode, rows: I64, peak: DevicePeak) -> Iterator[Found]:
    """What products take beyond max(operations ÷ peak rate, bytes ÷ bandwidth), by op call."""
    trace, device = one.trace, one.trace.devices[one.device]
    op = distinct_values(trace.device.op[rows].astype(np.int64))
    if not len(op):
        return
    dims, types = one.text(op, "input_dims"), one.text(op, "input_types")
    flops, _ = flops_of(trace, op.astype(np.int32), dims.astype(np.int32))
    spent = np.bincount(np.searchsorted(op, trace.device.op[rows]), trace.device.dur[rows], len(op))
    tf32 = (peak.tf32(device) or 0.0) if _uses_tf32(one, rows) else 0.0
    kinds, kind_of = _kinds_of_calls(np.stack([trace.host.name[op], dims, types]))
    rate, least, aligned = (np.full(len(kinds), np.nan) for _ in range(3))
    for at, (call, d, t) in enumerate(kinds.tolist()):
        if d < 0 or t < 0:
            continue
        first = int(trace.strings[call] in ("aten::addmm", "aten::baddbmm"))
        product = _product(_json(trace.strings[d]), _json(trace.strings[t]), first)
        most = peak.flops(product.dtype, device) if product else None
        if product is None or most is None:
            continue
        # A product in float32 may run in TF32: of two ceilings the one that promises less.
        rate[at] = max(most, tf32) if product.dtype == "float" else most
        least[at] = product.bytes / peak.bandwidth(device)
        aligned[at] = product.is_aligned
    best = np.maximum(flops / rate[kind_of], least[kind_of]) * 1e9
    waste = np.where(np.isfinite(best), np.maximum(0.0, spent - best), 0.0)
    odd = (aligned[kind_of] == 0) & (spent > 2 * best)
    for kind, chosen in (("roofline", waste > 0), ("unaligned", odd)):
        if not chosen.any():
            continue
        mine = rows[is_among(trace.device.op[rows].astype(np.int64), op[chosen])]
        total = float(spent[chosen].sum())
        yield one.found(kind, mine, part=float(waste[chosen].sum()) / total if total else 0.0)


def _kinds_of_calls(keys: NDArray[Any]) -> tuple[I64, I64]:
    """The distinct columns of ``keys`` as rows, and the number of each column's."""
    order = np.lexsort(keys[::-1])
    ordered = keys[:, order]
    new = np.any(np.diff(ordered, axis=1, prepend=-2) != 0, axis=0)
    kind_of = np.empty(len(order), np.int64)
    kind_of[order] = np.cumsum(new) - 1
    return ordered[:, new].T.astype(np.int64), kind_of


def _uses_tf32(one: DeviceCode, rows: I64) -> bool:
    return bool(matches(one.trace.strings, one.trace.device.name[rows], _TF32).any())


def _underfilled(one: DeviceCode) -> Iterator[Found]:
    """Kernels of 20 µs or more with less than one block per multiprocessor."""
    have, blocks = sparse_of(one.trace, "blocks_per_sm", one.rows)
    dur = one.trace.device.dur[one.rows]
    chosen = have & (blocks > 0) & (blocks < 1) & (dur > LONG_KERNEL_NS)
    if chosen.any():
        empty = float(((1 - blocks[chosen]) * dur[chosen]).sum() / dur[chosen].sum())
        yield one.found("underfilled", one.rows[chosen], part=empty)


def _attention(one: DeviceCode) -> Iterator[Found]:
    """A softmax over square scores, and the batched products that make and use them."""
    trace = one.trace
    softmax = one.rows[one.op_names(one.rows, _SOFTMAX)]
    if not len(softmax):
        return
    shapes = one.text(trace.device.op[softmax].astype(np.int64), "input_dims")
    keep = _told(trace, shapes, lambda text: _square_size(text) >= LEAST_SQUARE)
    square = {_square_size(trace.strings[code]) for code in distinct_values(shapes[keep]).tolist()}
    if not keep.any():
        return
    batched = one.rows[one.op_names(one.rows, _BATCHED)]
    products = one.text(trace.device.op[batched].astype(np.int64), "input_dims")
    near = _told(trace, products, lambda text: _has_square(text, square))
    rows = np.sort(np.concatenate([softmax[keep], batched[near] if len(batched) else batched]))
    yield one.found("attention", rows, size=float(max(square)))


def _square_size(text: str) -> int:
    """The size of the first input's last two dimensions, if they are equal; else 0."""
    dims = _json(text)
    size = dims[0][-2:] if isinstance(dims, list) and dims and isinstance(dims[0], list) else []
    is_square = len(size) == 2 and size[0] == size[1] and isinstance(size[0], int)
    return size[0] if is_square else 0


def _has_square(text: str, sizes: set[int]) -> bool:
    """Whether an input is a matrix with one of these sizes on both sides, or the product is."""
    dims = _json(text)
    shapes = [one for one in dims if isinstance(one, list) and len(one) >= 2] \
        if isinstance(dims, list) else []  # fmt: skip
    if any(one[-1] == one[-2] and one[-1] in sizes for one in shapes):
        return True
    return len(shapes) >= 2 and shapes[-2][-2] == shapes[-1][-1] and shapes[-1][-1] in sizes


def _small(one: DeviceCode) -> Iterator[Found]:
    """Tiny kernels; kernels that only copy into another type or layout."""
    trace, dur = one.trace, one.trace.device.dur[one.rows]
    tiny = one.rows[dur < TINY_KERNEL_NS]
    if len(tiny):
        yield one.found("tiny_kernels", tiny, part=len(tiny) / len(one.rows))
    op = trace.device.op[one.rows].astype(np.int64)
    above = np.full(len(op), -1, np.int64)
    above[op >= 0] = trace.host.parent[op[op >= 0]]
    copies = one.op_names(one.rows, re.compile(r"^aten::copy_$")) & (above >= 0)
    copies[copies] = matches(trace.strings, trace.host.name[above[copies]], _CONVERTS)
    if copies.any():
        yield one.found("conversion_kernels", one.rows[copies])


def _recomputed(one: DeviceCode) -> Iterator[Found]:
    """Kernels launched while activations are computed a second time."""
    trace, host = one.trace, one.trace.host
    frames = np.flatnonzero(host.kind == HostKind.PYTHON)
    again = frames[matches(trace.strings, host.name[frames], _RECOMPUTES)]
    launch = trace.device.launch[one.rows].astype(np.int64)
    known = launch >= 0
    if not len(again) or not known.any():
        return
    inside = np.zeros(len(one.rows), np.bool_)
    for thread in distinct_values(host.thread[again]).tolist():
        mine = again[host.thread[again] == thread]
        time = union(host.ts[mine], host.ts[mine] + host.dur[mine])
        ts = host.ts[launch[known]]
        at = np.searchsorted(time.start, ts, side="right") - 1
        within = (at >= 0) & (ts < time.end[np.maximum(at, 0)])
        inside[np.flatnonzero(known)[within & (host.thread[launch[known]] == thread)]] = True
    if inside.any():
        spent = trace.device.dur[one.rows]
        yield one.found("recompute", one.rows[inside],
                        part=float(spent[inside].sum() / max(int(spent.sum()), 1)))  # fmt: skip


def _kinds(one: DeviceCode) -> Iterator[I64]:
    """The kernels of each name and launch geometry that came often, in order of time."""
    trace = one.trace
    if not len(one.rows):
        return
    grid, block = (cells(trace.device.args.get(name), one.rows, -1) for name in ("grid", "block"))
    order = np.lexsort((trace.device.ts[one.rows], block, grid, trace.device.name[one.rows]))
    keys = np.stack([trace.device.name[one.rows].astype(np.int64), grid, block])[:, order]
    new = np.flatnonzero(np.any(np.diff(keys, axis=1, prepend=-2) != 0, axis=0))
    for low, high in zip(new.tolist(), [*new[1:].tolist(), len(order)], strict=True):
        if high - low >= LEAST_OF_KIND:
            yield one.rows[order[low:high]]


def _drift(one: DeviceCode) -> Iterator[Found]:
    """Kinds of kernels whose last third is slower than the first, by the median.

    Needs grids, and three steps: within one, kernels of a kind may have other work each time.
    """
    if "grid" not in one.trace.device.args or len(one.code.windows) < LEAST_STEPS:
        return
    slower: list[I64] = []
    excess = total = 0.0
    for rows in _kinds(one):
        dur = one.trace.device.dur[rows]
        third = len(rows) // 3
        first, last = float(np.median(dur[:third])), float(np.median(dur[-third:]))
        total += float(dur.sum())
        if first > 0 and last > first:
            slower.append(rows)
            excess += float(dur.sum()) * (1 - first / last)
        elif first > 0:
            excess -= float(dur.sum()) * (1 - last / first)
    if slower and excess > 0:
        rows = np.sort(np.concatenate(slower))
        mine = float(one.trace.device.dur[rows].sum())
        yield one.found("drift", rows, part=excess / max(mine, 1.0), ratio=excess / max(total, 1.0))


def _contention(one: DeviceCode) -> Iterator[Found]:
    """Kinds of kernels that take longer where half of them or more lies under a collective."""
    busy = one.time(one.collectives)
    device = one.trace.device
    covered_rows: list[I64] = []
    tax = 0.0
    for rows in _kinds(one) if "grid" in device.args else ():
        ts, end = device.ts[rows], device.ts[rows] + device.dur[rows]
        under = _covered(busy, ts, end) * 2 >= device.dur[rows]
        if not 3 <= int(under.sum()) <= len(rows) - 3:
            continue
        alone = float(np.median(device.dur[rows[~under]]))
        more = float((device.dur[rows[under]] - alone).sum())
        if more > 0:
            tax += more
            covered_rows.append(rows[under])
    if covered_rows:
        rows = np.sort(np.concatenate(covered_rows))
        spent = float(device.dur[rows].sum())
        yield one.found("contention", rows, part=tax / max(spent, 1.0))


def _covered(busy: Intervals, ts: I64, end: I64) -> I64:
    passed = np.concatenate([np.zeros(1, np.int64), np.cumsum(busy.end - busy.start)])

    def before(at: I64) -> I64:
        index = np.searchsorted(busy.start, at, side="right")
        last = np.maximum(index - 1, 0)
        beyond = np.where(index > 0, np.maximum(busy.end[last] - at, 0), 0)
        return np.asarray(passed[index] - beyond)

    return before(end) - before(ts)


def _messages(one: DeviceCode) -> Iterator[Found]:
    """Collectives by the size of their message, and those of SyncBatchNorm; exposed time alone."""
    trace = one.trace
    launch = trace.device.launch[one.collectives].astype(np.int64)
    size = _message_bytes(one, launch)
    kernels = one.time(one.rows)
    small = one.collectives[(size >= 0) & (size < 262144)]
    if len(small):
        spent = trace.device.dur[one.collectives]
        found = one.found("small_messages", small,
                          part=float(trace.device.dur[small].sum() / max(int(spent.sum()), 1)),
                          largest=float(size[(size >= 0) & (size < 262144)].max()))  # fmt: skip
        yield _exposed(found, kernels)
    norm = _below(one, _SYNC_NORM)
    if norm.any():
        yield _exposed(one.found("sync_batch_norm", one.collectives[norm]), kernels)


def _exposed(found: Found, kernels: Intervals) -> Found:
    """The same pattern, with the time in which no kernel computes."""
    return replace(found, time=subtract(found.time, kernels))


def _message_bytes(one: DeviceCode, launch: I64) -> I64:
    """The larger of what a collective sends and receives, in bytes; −1 unknown."""
    trace = one.trace
    result = np.full(len(launch), -1, np.int64)
    elements = trace.device.args.get("in_elements")
    if elements is None:
        return result
    rows = one.collectives
    sent = cells(elements, rows, -1)
    received = cells(trace.device.args.get("out_elements"), rows, -1)
    dtype = cells(trace.device.args.get("collective_dtype"), rows, -1)
    width = np.array(
        [_ELEMENT_BYTES.get(trace.strings[d], 0) if d >= 0 else 0 for d in dtype.tolist()], np.int64
    )
    known = (width > 0) & (np.maximum(sent, received) >= 0)
    result[known] = (np.maximum(sent, received) * width)[known]
    return result


def _below(one: DeviceCode, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Collectives whose launch lies below an event of such a name, within twelve levels."""
    trace, host = one.trace, one.trace.host
    at = trace.device.launch[one.collectives].astype(np.int64)
    result = np.zeros(len(at), np.bool_)
    for _ in range(12):
        known = (at >= 0) & ~result
        if not known.any():
            break
        result[known] = matches(trace.strings, host.name[at[known]], pattern)
        at = np.where(at >= 0, host.parent[np.maximum(at, 0)], -1)
    return result
