"""Patterns of matrix products and attention of one device, against what it could do.

* ``plain_products``: matrix work that uses no tensor cores
* ``float32``: matrix products in float32 that use no tensor cores, on a device with TF32
* ``roofline``, ``unaligned``: matrix products that take longer than arithmetic and memory allow,
  and those of them with sizes that do not fit tensor cores
* ``attention``: attention in single steps, with a softmax over a square of scores

The fastest that a device can compute and move data is data (``speed_of_light/devices``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, structs
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import (
    I32,
    I64,
    Mask,
    cells,
    distinct_values,
    equal,
    is_among,
    matches,
    of_names,
    put,
    ranked,
    search,
    stable_order,
    take,
    where,
)
from ...base.group_sums import group_sums
from ...base.intervals import Intervals, union_of
from ...base.regex import regex
from ...trace.model import DeviceClass, Trace
from ..counters.samples import Series, series_of
from ..device_work import DeviceWork
from ..operators.flops import flops_of
from ..overview.utilization import MatrixUse, are_eligible, kernel_use
from ..speed_of_light.devices import DevicePeak, peak_of
from .host_code import Found, HostCode

LEAST_SQUARE = 64  # scores of attention

_PRODUCTS = regex(r"^aten::(mm|addmm|bmm|baddbmm|_scaled_mm)$")
_SOFTMAX = regex(r"^aten::_softmax$")
_BATCHED = regex(r"^aten::(bmm|baddbmm)$")
_TF32 = regex(r"tf32|bf16x|s1688|s16816|xmma_\w*tf32", re.IGNORECASE)


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
        """Whether the op that launched each row has such a name."""
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


# --- data sheets ----------------------------------------------------------------------------------


def counters_of(trace: Trace, device: int) -> tuple[Series, ...]:
    """The counters of a device; traffic of its memory with the peak of its data sheet."""
    found = series_of(trace, device)
    peak = peak_of(trace.devices[device]) if found else None
    if peak is None:
        return found
    most = peak.bandwidth(trace.devices[device])
    return tuple(
        replace(one, facts=structs.replace(one.facts, peak=most))
        if one.facts.kind.startswith("dram") and one.facts.unit == "B/s"
        else one
        for one in found
    )


def json_of(text: str) -> Any:  # noqa: ANN401  # whatever the recorder wrote
    """The value of a text; None for what is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# --- products -------------------------------------------------------------------------------------


class _Product(Struct, frozen=True):
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
    except (TypeError, ValueError, LookupError, OverflowError):
        return None
    if min(m, n, k) <= 0 or len(batch) > 1:
        return None
    return _Product((m, n, k), batch[0] if batch else 1, dtype)


def products(one: DeviceCode) -> Iterator[Found]:
    """Products in float32 without TF32, and what products waste beyond their roofline."""
    trace, device = one.trace, one.trace.devices[one.device]
    rows = one.rows[take(trace.device.op, one.rows) >= 0]
    eligible = rows[are_eligible(trace, take(trace.device.op, rows))]
    plain = equal(kernel_use(trace, eligible), MatrixUse.NO)
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
    types = json_of(text)
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
    spent = np.bincount(search(op, trace.device.op[rows]), trace.device.dur[rows], len(op))
    tf32 = (peak.tf32(device) or 0.0) if _uses_tf32(one, rows) else 0.0
    kinds, kind_of = _kinds_of_calls(np.stack([trace.host.name[op], dims, types]))
    rate, least, aligned = (np.full(len(kinds), np.nan) for _ in range(3))
    for at, (call, d, t) in enumerate(kinds.tolist()):
        if d < 0 or t < 0:
            continue
        first = int(trace.strings[call] in ("aten::addmm", "aten::baddbmm"))
        product = _product(json_of(trace.strings[d]), json_of(trace.strings[t]), first)
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


def attention(one: DeviceCode) -> Iterator[Found]:
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
    dims = json_of(text)
    size = dims[0][-2:] if isinstance(dims, list) and dims and isinstance(dims[0], list) else []
    is_square = len(size) == 2 and size[0] == size[1] and isinstance(size[0], int)
    return size[0] if is_square else 0


def _has_square(text: str, sizes: set[int]) -> bool:
    """Whether an input is a matrix with one of these sizes on both sides, or the product is."""
    dims = json_of(text)
    shapes = [one for one in dims if isinstance(one, list) and len(one) >= 2] \
        if isinstance(dims, list) else []  # fmt: skip
    if any(one[-1] == one[-2] and one[-1] in sizes for one in shapes):
        return True
    return len(shapes) >= 2 and shapes[-2][-2] == shapes[-1][-1] and shapes[-1][-1] in sizes
