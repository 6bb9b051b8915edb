"""Do matrix products and attention use what the device can do? Types, sizes, tensor cores."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import (
    I64,
    Mask,
    cells,
    distinct_values,
    equal,
    is_among,
    matches,
    of_names,
    search,
    take,
    where,
)
from ...base.group_sums import first_largest
from ...base.regex import regex
from ...base.units import duration, plural, share
from ...trace.model import Trace
from ..facts import DeviceFacts, Gauges
from ..findings import Evidence, Reference
from ..overview.utilization import (
    DEFAULT_PEAK_RATIO,
    PEAK_RATIO,
    MatrixUse,
    are_eligible,
    kernel_use,
)
from ..speed_of_light.devices import DevicePeak, peak_of
from ..steps import Selection
from ..user_code import DeviceCode, Found, HostCode, of_code
from ..wording import device_name, device_noun, per_step, scope
from .claims import (
    Seen,
    ceiling,
    events_of,
    on_host,
    on_kernels,
    part_of_step,
    patterns,
    spent_by,
    wasted,
)
from .rule import (
    CAPABILITY,
    COMPILE_DEVICES,
    COMPILE_DOCS,
    COMPUTES,
    DEVICE_ACTIVITY,
    KERNELS_OF_OPS,
    OPS,
    PEAKS,
    SHAPES,
    TIME,
    TORCH_1_11,
    TORCH_2_0,
    TORCH_2_4,
    WHOLE,
    Advice,
    Threshold,
    from_2_0,
    is_older,
    pattern_rule,
    rule,
)

if TYPE_CHECKING:  # the models are imported where products are
    from ..speed_of_light.light import CallTexts

_AMP = "https://docs.pytorch.org/docs/stable/amp.html"
_PRECISION = (
    "https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html"
)
_ATTENTION = (
    "https://docs.pytorch.org/docs/stable/generated/"
    "torch.nn.functional.scaled_dot_product_attention.html"
)
TF32_RATIO = 4  # how much faster products may get, at least, where no data sheet says more
_AUTOTUNE = '`torch.compile(mode="max-autotune")` looks for better kernels'


def _tf32(selection: Selection) -> str:
    """Setting that allows TF32; the newer form exists from torch 1.12 on."""
    if is_older(selection, TORCH_2_0):
        return "torch.backends.cuda.matmul.allow_tf32 = True"
    return 'torch.set_float32_matmul_precision("high")'


TENSOR_CORE_CAPABILITY = 7
LEAST_SQUARE = 64  # scores of attention
_PRODUCTS = regex(r"^aten::(mm|addmm|bmm|baddbmm|_scaled_mm)$")
_SOFTMAX = regex(r"^aten::_softmax$")
_BATCHED = regex(r"^aten::(bmm|baddbmm)$")
_ARGUMENTS = ("input_dims", "input_types", "input_strides", "concrete_inputs")
_TEXTS = ("op", "dims", "types", "strides", "values")  # of a call, in the same order
_ALIGNED_BYTES = 16
_TF32 = regex(r"tf32|bf16x|s1688|s16816|xmma_\w*tf32", re.IGNORECASE)


def json_of(text: str) -> Any:  # noqa: ANN401  # whatever the recorder wrote
    """The value of a JSON text; None for any other text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@on_kernels
def find_products(one: DeviceCode) -> Iterator[Found]:
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
    """Time of products beyond their light (``speed_of_light.light``), by op call."""
    trace = one.trace
    op = distinct_values(trace.device.op[rows].astype(np.int64))
    if not len(op):
        return
    from ..speed_of_light.light import CallTexts, figures_of  # of recordings with shapes

    place, dur = search(op, trace.device.op[rows]), trace.device.dur[rows]
    spent = np.bincount(place, dur, len(op))
    kernel = trace.device.name[rows[first_largest(place, dur, len(op))]]
    texts = (one.text(op, name) for name in _ARGUMENTS)
    kinds, kind_of = _kinds_of_calls(np.stack([trace.host.name[op], *texts, kernel]))
    part = peak.part(trace.devices[one.device])
    light, aligned = np.full(len(kinds), np.nan), np.ones(len(kinds), np.bool_)
    for at, (*codes, name) in enumerate(kinds.tolist()):
        words = [trace.strings[code] if code >= 0 else "" for code in codes]
        call = CallTexts(**dict(zip(_TEXTS, words, strict=True)), kernel=trace.strings[name])
        # Of float32 whose kernel tells no unit, the slower one: it promises less.
        found = figures_of(call, peak, part, otherwise="FP32")
        light[at] = max(found.compute_ns, found.memory_ns)
        aligned[at] = _is_aligned(call)
    best = light[kind_of]
    waste = np.where(np.isfinite(best), np.maximum(0.0, spent - best), 0.0)
    odd = ~aligned[kind_of] & (spent > 2 * best)
    for kind, chosen in (("roofline", waste > 0), ("unaligned", odd)):
        if not chosen.any():
            continue
        mine = rows[is_among(trace.device.op[rows].astype(np.int64), op[chosen])]
        total = float(spent[chosen].sum())
        yield one.found(kind, mine, part=float(waste[chosen].sum()) / total if total else 0.0)


def _is_aligned(call: CallTexts) -> bool:
    """True if rows of all three matrices begin at multiples of 16 bytes, or that is not known.

    NVIDIA, Matrix Multiplication Background User's Guide: tensor cores are used best then. The
    number of rows, m, does not decide where they begin.
    """
    from ..speed_of_light.arguments import RefusedError  # of recordings with shapes
    from ..speed_of_light.light import arguments_from

    first = int(call.op in ("aten::addmm", "aten::baddbmm"))
    try:
        given = arguments_from(call)
        a, b = given.tensor(first), given.tensor(first + 1)
        return all(size * a.width % _ALIGNED_BYTES == 0 for size in b.sizes[-2:])
    except (RefusedError, ValueError, RecursionError):
        return True


def _kinds_of_calls(keys: NDArray[Any]) -> tuple[I64, I64]:
    """The distinct columns of ``keys`` as rows, and the number of each column's."""
    order = np.lexsort(keys[::-1])
    ordered = keys[:, order]
    new = np.any(np.diff(ordered, axis=1, prepend=-2) != 0, axis=0)
    kind_of = np.empty(len(order), np.int64)
    kind_of[order] = np.cumsum(new) - 1
    return ordered[:, new].T.astype(np.int64), kind_of


@pattern_rule(
    "DT1",
    "Matrix products in float32 without TF32",
    (TIME, WHOLE, DEVICE_ACTIVITY, KERNELS_OF_OPS, SHAPES),
    "float32",
    Threshold("float32_ratio", 0.05, "matrix products in float32 without TF32"),
    answers=COMPUTES,
    theoretical=True,
)
def float32(selection: Selection, seen: Seen) -> Advice | None:
    """Matrix products in float32 without tensor cores take more than {float32_ratio}.

    On an NVIDIA device with TF32.

    Ceiling: their kernel time, at half the ratio of peak rates.
    """
    device, one = selection.device_facts, seen[0]
    if device is None:
        return None
    peak = PEAK_RATIO.get(device.capability or (0, 0), DEFAULT_PEAK_RATIO) / 2
    factor = max(peak, TF32_RATIO)
    return Advice(
        title="Matrix products in float32 do not use TF32",
        said=(
            f"For {part_of_step(selection, one)} {one.name} compute in float32 without tensor "
            f"cores{one.place}."
        ),
        action="Allow TF32, which rounds their inputs to 10 bits: watch the "
        f"{'loss' if selection.facts.traits.backward else 'results'}.",
        snippet=_tf32(selection),
        method=f"these kernels {factor:g} times as fast, the ratio of peak rates",
        scale=1 - 1 / factor,
        confidence=0.8,
        verify="Record again: the names of these kernels say tf32.",
        links=(Reference("What the precision means", url=_PRECISION),),
    )


@pattern_rule(
    "DT3",
    "Matrix products of unfavourable sizes",
    (TIME, WHOLE, DEVICE_ACTIVITY, SHAPES, PEAKS),
    "unaligned",
    Threshold("unaligned_ratio", 0.02, "what matrix products of odd sizes waste"),
    measure=wasted,
    answers=COMPUTES,
    theoretical=True,
)
def unaligned(selection: Selection, seen: Seen) -> Advice:
    """Matrix products of unfavourable sizes waste more than {unaligned_ratio}.

    Their inner sizes are no multiples of 16 bytes, and they reach less than half of their
    roofline.

    Ceiling: what they take beyond the roofline.
    """
    one = seen[0]
    return Advice(
        title="Matrix products have sizes that tensor cores do not fit",
        said=(
            f"{one.name} run for {part_of_step(selection, one)} with inner sizes that are no "
            f"multiples of 8{one.place}, at less than half of what the device could do."
        ),
        action="Pad these sizes (vocabulary, heads, features) to multiples of 8, or of 64.",
        method="what these products take beyond the roofline of the device",
        scale=one.figure("part", 1.0),
        confidence=0.7,
        verify="Record again with `record_shapes=True`: sizes are multiples of 8.",
    )


@pattern_rule(
    "KE1",
    "Matrix products far from their roofline",
    (TIME, WHOLE, DEVICE_ACTIVITY, SHAPES, PEAKS),
    "roofline",
    Threshold("roofline_ratio", 0.05, "what matrix products waste beyond their roofline"),
    measure=wasted,
    answers=COMPUTES,
    theoretical=True,
)
def roofline(selection: Selection, seen: Seen) -> Advice:
    """Matrix products waste more than {roofline_ratio} beyond their roofline.

    That is max(operations ÷ peak rate, bytes ÷ bandwidth) of the data sheet.

    Ceiling: that waste.
    """
    one, part = seen[0], seen[0].figure("part")
    # A server of models is compiled by its own options.
    tunes = device_noun(selection) in COMPILE_DEVICES and not selection.facts.traits.serving
    since = from_2_0(selection)
    return Advice(
        title="Matrix products run far below the roofline",
        said=(
            f"{one.name} run for {part_of_step(selection, one)}. {share(part)} of that time "
            f"is above the roofline minimum{one.place}."
        ),
        action=(
            "Give them more work at once: larger batches, products joined into one"
            f"{f'; {since}{_AUTOTUNE}' if tunes else ''}."
        ),
        method="time beyond max(operations ÷ peak rate, bytes ÷ bandwidth) of the data sheet",
        scale=part,
        confidence=0.6,
        verify="Record again: the same products should take less time.",
        links=(Reference("How torch.compile works", url=COMPILE_DOCS),) if tunes else (),
    )


@rule(
    "DT2",
    "Matrix work without tensor cores",
    (TIME, WHOLE, DEVICE_ACTIVITY, CAPABILITY, KERNELS_OF_OPS),
    theoretical=True,
)
def tensor_cores(selection: Selection) -> Advice | None:
    """Ops ran that could use tensor cores, and by name no kernel used them.

    On an NVIDIA device since Volta. Only NVIDIA's kernels tell by name. Time of kernels whose
    name does not tell must be the smaller part, so that a Triton matrix product is not taken
    for one without tensor cores.

    Ceiling: their kernel time, at the ratio of peak rates.
    """
    able = {
        row: device
        for row, device in enumerate(selection.facts.devices)
        if device.used and has_tensor_cores(device)
    }
    found = {row: selection.gauges(row)[0] for row in able}
    if not found or any(one.tensor_core_ns for one in found.values()):
        return None
    row = selection.device if selection.device in found else next(iter(found))
    own, device = found[row], able[row]
    if not own.eligible_plain_ns or own.tensor_core_unknown_ns >= own.eligible_plain_ns:
        return None
    return _without_tensor_cores(selection, own, device, row)


def has_tensor_cores(device: DeviceFacts) -> bool:
    """True for NVIDIA devices since Volta."""
    capability = device.capability or (0, 0)
    return device.vendor == "NVIDIA" and capability[0] >= TENSOR_CORE_CAPABILITY


def _without_tensor_cores(
    selection: Selection, own: Gauges, device: DeviceFacts, row: int
) -> Advice:
    capability = device.capability or (0, 0)
    factor = PEAK_RATIO.get(capability, DEFAULT_PEAK_RATIO)
    seen = selection.of_device(row)
    compute = seen.partition.compute_ns if seen.partition else 0
    gain = ceiling(
        seen,
        min(own.eligible_plain_ns, compute) * (1 - 1 / factor),
        f"eligible kernels {factor} times as fast, the ratio of peak rates",
        "compute_ns",
    )
    of_kernels = own.eligible_plain_ns / own.op_kernel_ns
    old = is_older(selection, TORCH_1_11)  # bfloat16 and torch.autocast came with 1.10
    dtype = "bfloat16" if capability >= (8, 0) and not old else "float16"
    # torch.amp.GradScaler came with 2.3.
    module = "torch.cuda.amp" if is_older(selection, TORCH_2_4) else "torch.amp"
    scaler = "" if dtype == "bfloat16" else f"  # and {module}.GradScaler() for the gradients"
    context = "torch.cuda.amp.autocast()" if old else f'torch.autocast("cuda", dtype=torch.{dtype})'
    trains = selection.facts.traits.backward
    scaler = scaler if trains else ""
    body = "loss = loss_fn(model(x), y)" if trains else "y = model(x)"
    tf32 = f"\n# or, for float32 products alone: {_tf32(selection)}" if capability >= (8, 0) else ""
    return Advice(
        title="Tensor cores are never used",
        confidence=0.8 if not own.tensor_core_unknown_ns else 0.6,
        said=(
            f"{share(of_kernels)} of kernel time on {device_name(device)} is matrix work that "
            f"could run on tensor cores, {duration(selection.mean(own.eligible_plain_ns))} "
            f"{per_step(selection)}{_ops(selection)}. Its kernels' names say that it does not."
        ),
        snippet=f"model = model.to(torch.{dtype}){tf32}"
        if selection.facts.iterations  # a server loads its model in one type
        else f"with {context}:{scaler}\n    {body}{tf32}",
        evidence=(
            Evidence("kernel time of eligible ops", of_kernels, "ratio"),
            Evidence("tensor-core time", 0.0, "ratio"),
        ),
        gain=gain,
        scope=scope(seen),
        links=(
            *_calls(selection),
            Reference("How to use mixed precision", url=_AMP),
        ),
        verify="Record again: tensor-core time is above zero.",
        events=events_of(seen, patterns(seen, "plain_products")),
        action="Use mixed precision; where the work is compute-bound it gets up to "
        f"{factor} times as fast.",
    )


def _calls(selection: Selection) -> tuple[Reference, ...]:
    """A link to the calls of the op that takes most of the time, in the Trace view."""
    names = selection.facts.traits.eligible_ops
    if not names:
        return ()
    find = {"find": names[0], "match": "exact"}
    return (Reference(f"Calls of {names[0]} in the trace", "timeline", find),)


def _ops(selection: Selection) -> str:
    names = selection.facts.traits.eligible_ops
    if not names:
        return ""
    more = f" and {plural(len(names) - 1, 'more op')}" if len(names) > 1 else ""
    return f", most of it `{names[0]}`{more}"


@on_kernels
def find_attention(one: DeviceCode) -> Iterator[Found]:
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
    """True if an input or the product is a matrix with one of these sizes on both sides."""
    dims = json_of(text)
    shapes = [one for one in dims if isinstance(one, list) and len(one) >= 2] \
        if isinstance(dims, list) else []  # fmt: skip
    if any(one[-1] == one[-2] and one[-1] in sizes for one in shapes):
        return True
    return len(shapes) >= 2 and shapes[-2][-2] == shapes[-1][-1] and shapes[-1][-1] in sizes


@pattern_rule(
    "KE3",
    "Attention in single steps",
    (TIME, WHOLE, DEVICE_ACTIVITY, SHAPES),
    "attention",
    Threshold("attention_ratio", 0.02, "attention in single steps"),
    answers=COMPUTES,
    theoretical=True,
)
def attention(selection: Selection, seen: Seen) -> Advice:
    """Attention in single steps takes more than {attention_ratio}.

    That is a softmax over a square of 64 scores or more, and the batched products beside it.

    Ceiling: their time.
    """
    one, side = seen[0], seen[0].figure("size")
    return Advice(
        title="Attention is computed in single steps",
        said=(
            f"Batched products and a softmax over {side:,.0f} by {side:,.0f} scores run for "
            f"{part_of_step(selection, one)}{one.place}: the scores go through memory each time."
        ),
        action=(
            "Use the op that does it in one kernel, from torch 2.0 on."
            if is_older(selection, TORCH_2_0)
            else "Use the op that does it in one kernel."
        ),
        snippet="out = torch.nn.functional.scaled_dot_product_attention(q, k, v)",
        method="time of these kernels, of which a fused one keeps the products",
        confidence=0.8,
        verify="Record again: one attention op instead of `aten::bmm` and `aten::_softmax`.",
        links=(Reference("How to use it", url=_ATTENTION),),
    )


_MULTIPLIES = of_code(r"^aten::((add)?mm|(badd)?bmm|(add)?mv|linear|(mkldnn_)?convolution)$")


@on_host()
def find_doubles(code: HostCode) -> Iterator[Found]:
    """Ops on tensors in float64 on the host, where products are among them."""
    types = code.trace.host.args.get("input_types")
    rows = where(code.op).astype(np.int64)
    texts = cells(types, code.host_rows(rows), -1)
    rows = rows[_told(code.trace, texts, lambda text: '"double"' in text)]
    products = rows[code.have_name(rows, _MULTIPLIES)]
    if not len(products):
        return
    name = code.trace.strings[int(code.name[products[np.argmax(code.dur[products])]])]
    frame = code.by_owner(products, code.dur[products], 1)[0][0]
    yield Found("doubles", name, code.time(rows), code.host_rows(products), frame)


@pattern_rule(
    "DT5",
    "Ops in float64",
    (TIME, WHOLE, OPS, SHAPES),
    "doubles",
    Threshold("double_ratio", 0.10, "ops in float64 on the host"),
    answers=("forward_ns", "backward_ns"),
)
def doubles(selection: Selection, seen: Seen) -> Advice | None:
    """Without a device, ops in float64 take more than {double_ratio}, products among them.

    Ceiling: half of their time.
    """
    if selection.device is not None:
        return None
    return Advice(
        title=f"Products run in float64{seen[0].place}",
        said=f"{seen[0].name} and other ops in float64 take {spent_by(selection, seen)}.",
        action="Use float32, unless results need more digits. Arrays of NumPy are float64.",
        snippet="model.float(); x = x.float()",
        method="half of the time of these ops: float32 has half the bytes",
        scale=0.5,
        headline="Ops in float64 cost {part} more than in float32.",
        confidence=0.85,
        verify="Record again with `record_shapes=True`: no input of type double.",
    )
