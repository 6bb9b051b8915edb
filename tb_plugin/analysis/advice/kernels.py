"""Do kernels take longer than they need to?

DT1: do matrix products in float32 run without TF32?
DT2: do matrix products run without tensor cores on a device that has them?
DT3: have matrix products sizes that tensor cores do not fit?
KE1: are matrix products far from their roofline?
KE2: do kernels fill the device badly?
KE3: is attention computed in single steps?
KE4: do kernels last a few microseconds only?
KE5: does the device's memory bound kernels, as its counters measured?
RE1: are activations recomputed although memory is free?
CLK1: do kernels get slower while the recording goes on?
CLK2: does the clock of the device fall while it works?
"""

from __future__ import annotations

from ...base.units import duration, plural, share
from ..counters.groups import MEMORY_BOUND_PERCENT, SM_ACTIVE_PERCENT
from ..facts import DeviceFacts, Gauges
from ..findings import Evidence, Finding, Reference
from ..overview.utilization import DEFAULT_PEAK_RATIO, PEAK_RATIO
from ..steps import Selection
from ..wording import device_name, device_noun, per_step, scope
from .claims import (
    PatternAdvice,
    Seen,
    events_of,
    part_of_step,
    pattern_rule,
    patterns,
    wasted,
)
from .rule import (
    CAPABILITY,
    CLOCKS,
    COMPILE_DEVICES,
    DEVICE_ACTIVITY,
    GRIDS,
    KERNELS_OF_OPS,
    PEAKS,
    SHAPES,
    STACKS,
    TENSOR_CORE_CAPABILITY,
    TIME,
    TORCH_1_11,
    TORCH_2_0,
    TORCH_2_4,
    TRAFFIC,
    WHOLE,
    Rule,
    ceiling,
    is_older,
    severity_of,
)

_AMP = "https://docs.pytorch.org/docs/stable/amp.html"
_PRECISION = (
    "https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html"
)
_ATTENTION = (
    "https://docs.pytorch.org/docs/stable/generated/"
    "torch.nn.functional.scaled_dot_product_attention.html"
)
_COMPILE = "https://docs.pytorch.org/docs/stable/generated/torch.compile.html"
FREE_RATIO = 0.70  # of the card's memory: above it there is no room to keep activations
TF32_RATIO = 4  # how much faster products may get, at least, where no data sheet says more
_COMPUTES = ("compute_ns",)


def _is_nvidia(selection: Selection) -> bool:
    device = selection.device_facts
    return device is not None and device.vendor == "NVIDIA"


# --- matrix products ------------------------------------------------------------------------------


_AUTOTUNE = '`torch.compile(mode="max-autotune")` looks for better kernels'


def _from_2_0(selection: Selection) -> str:
    """What stands before torch.compile and other things of torch 2.0, where this one is older."""
    return "from torch 2.0 on, " if is_older(selection, TORCH_2_0) else ""


def _tf32(selection: Selection) -> str:
    """What allows TF32; the newer form is there from torch 1.12 on."""
    if is_older(selection, TORCH_2_0):
        return "torch.backends.cuda.matmul.allow_tf32 = True"
    return 'torch.set_float32_matmul_precision("high")'


@pattern_rule(
    "DT1",
    "Matrix products in float32 without TF32",
    (TIME, WHOLE, DEVICE_ACTIVITY, KERNELS_OF_OPS, SHAPES),
    "float32",
    "float32_ratio",
    answers=_COMPUTES,
)
def float32(selection: Selection, seen: Seen) -> PatternAdvice | None:
    """Products in float32 without tensor cores take over 5 %, on a device with TF32."""
    device, one = selection.device_facts, seen[0]
    if device is None:
        return None
    peak = PEAK_RATIO.get(device.capability or (0, 0), DEFAULT_PEAK_RATIO) / 2
    factor = max(peak, TF32_RATIO)
    return PatternAdvice(
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
    "unaligned_ratio",
    measure=wasted,
    answers=_COMPUTES,
)
def unaligned(selection: Selection, seen: Seen) -> PatternAdvice:
    """Products of unfavourable sizes waste over 2 % beyond their roofline."""
    one = seen[0]
    return PatternAdvice(
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
    "roofline_ratio",
    measure=wasted,
    answers=_COMPUTES,
)
def roofline(selection: Selection, seen: Seen) -> PatternAdvice:
    """Products waste over 5 % beyond their roofline."""
    one, part = seen[0], seen[0].figure("part")
    # A server of models is compiled by its own options.
    tunes = device_noun(selection) in COMPILE_DEVICES and not selection.facts.traits.serving
    since = _from_2_0(selection)
    return PatternAdvice(
        title="Matrix products are far from what the device could do",
        said=(
            f"{one.name} run for {part_of_step(selection, one)}, {share(part)} of it beyond what "
            f"arithmetic and memory of the device allow by its data sheet{one.place}."
        ),
        action=(
            "Give them more work at once: larger batches, products joined into one"
            f"{f'; {since}{_AUTOTUNE}' if tunes else ''}."
        ),
        method="time beyond max(operations ÷ peak rate, bytes ÷ bandwidth) of the data sheet",
        scale=part,
        confidence=0.6,
        verify="Record again: the same products should take less time.",
        links=(Reference("How torch.compile works", url=_COMPILE),) if tunes else (),
    )


def check_tensor_cores(selection: Selection) -> Finding | None:
    """Fires when no kernel's name shows tensor cores although ops ran that could use them.

    Only NVIDIA's kernels tell by name. Time of kernels whose name does not tell must be the smaller
    part, so that a Triton matrix product is not taken for one without tensor cores.
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
) -> Finding:
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
    return Finding(
        id="DT2",
        title="Tensor cores are never used",
        severity=severity_of(selection, gain, "low"),
        confidence=0.8 if not own.tensor_core_unknown_ns else 0.6,
        text=(
            f"{share(of_kernels)} of kernel time on {device_name(device)} is matrix work that "
            f"could run on tensor cores, {duration(selection.mean(own.eligible_plain_ns))} "
            f"{per_step(selection)}{_ops(selection)}. Its kernels' names say that it does not. "
            "Use mixed precision; "
            f"where the work is compute-bound it gets up to {factor} times as fast."
        ),
        snippet=f"with {context}:{scaler}\n    {body}{tf32}",
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
        action="Use mixed precision.",
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


TENSOR_CORES = Rule(
    "DT2",
    "Matrix work without tensor cores",
    (TIME, WHOLE, DEVICE_ACTIVITY, CAPABILITY, KERNELS_OF_OPS),
    check_tensor_cores,
)


# --- launches and parts of the device -------------------------------------------------------------


@pattern_rule(
    "KE2",
    "Kernels that fill the device badly",
    (TIME, WHOLE, DEVICE_ACTIVITY, GRIDS),
    "underfilled",
    "underfilled_ratio",
    measure=wasted,
    answers=_COMPUTES,
)
def underfilled(selection: Selection, seen: Seen) -> PatternAdvice:
    """Kernels with less than one block per multiprocessor waste over 5 %."""
    one, part = seen[0], seen[0].figure("part")
    return PatternAdvice(
        title="Kernels leave multiprocessors without work",
        said=(
            f"For {part_of_step(selection, one)} kernels of 20 µs and more run with less than one "
            f"block per multiprocessor, most of it of `{one.pattern.name}`{one.place}: "
            f"{share(part)} of the device has nothing to do."
        ),
        action="Give each launch more work: larger batches, or several small products in one.",
        method="these kernels on as many multiprocessors as there are",
        scale=part,
        confidence=0.6,
        verify="Record again: est. SM efficiency should rise.",
    )


@pattern_rule(
    "KE3",
    "Attention in single steps",
    (TIME, WHOLE, DEVICE_ACTIVITY, SHAPES),
    "attention",
    "attention_ratio",
    answers=_COMPUTES,
)
def attention(selection: Selection, seen: Seen) -> PatternAdvice:
    """Attention in single steps takes over 2 %."""
    one, side = seen[0], seen[0].figure("size")
    return PatternAdvice(
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


@pattern_rule(
    "KE4",
    "Kernels of a few microseconds",
    (TIME, WHOLE, DEVICE_ACTIVITY, KERNELS_OF_OPS),
    "tiny_kernels",
    "tiny_kernel_ratio",
    answers=_COMPUTES,
)
def tiny_kernels(selection: Selection, seen: Seen) -> PatternAdvice | None:
    """Over 30 % of the kernels last below 5 µs and take over 5 %."""
    one, part = seen[0], seen[0].figure("part")
    if part <= selection.limits.tiny_count_ratio:
        return None
    # Of code that is compiled, or replayed as a graph, the rest is what could not be joined.
    traits = selection.facts.traits
    compiles = not (traits.compiled or traits.graph_launches or traits.serving)
    compiles = compiles and device_noun(selection) in COMPILE_DEVICES
    since = _from_2_0(selection).capitalize()
    return PatternAdvice(
        title="Many kernels last a few microseconds",
        said=(
            f"{share(part)} of the kernels last less than 5 µs and run for "
            f"{part_of_step(selection, one)}, most of it for `{one.pattern.name}`{one.place}: "
            "what they read and write costs more than what they compute."
        ),
        action=f"{since}`torch.compile` joins neighbours into one; `foreach` ops do so for lists."
        if compiles
        else "Ops on lists (`torch._foreach_add_`) work on many tensors at once.",
        snippet="model = torch.compile(model)" if compiles and not since else "",
        method="time of these kernels",
        confidence=0.6,
        evidence=(
            Evidence("kernels below 5 µs", part, "ratio", selection.limits.tiny_count_ratio),
        ),
        verify="Record again: fewer and longer kernels.",
        links=(Reference("How torch.compile works", url=_COMPILE),) if compiles else (),
    )


@pattern_rule(
    "KE5",
    "Kernels that memory bounds, as measured",
    (TIME, WHOLE, DEVICE_ACTIVITY, TRAFFIC),
    "memory_bound",
    "memory_bound_ratio",
    answers=_COMPUTES,
)
def memory_bound(selection: Selection, seen: Seen) -> PatternAdvice:
    """Over 10 % are kernels with DRAM at 60 % of its peak while the multiprocessors are active."""
    one = seen[0]
    dram, active = one.figure("dram") / 100, one.figure("active") / 100
    return PatternAdvice(
        title="The memory of the device bounds kernels",
        said=(
            f"Kernels run for {part_of_step(selection, one)}, most of it {one.pattern.name}, with "
            f"the memory at {share(dram)} of its peak and {share(active)} of the multiprocessors "
            "active, by samples of both: they wait for memory, and faster arithmetic gains nothing."
        ),
        action=(
            "Move fewer bytes: join neighbours (`torch.compile`), keep activations in 16 bits, "
            "leave out copies."
        ),
        method="the same bytes at the peak of the memory",
        scale=one.figure("part"),
        confidence=0.8,
        evidence=(
            Evidence("memory traffic, of its peak", dram, "ratio", MEMORY_BOUND_PERCENT / 100),
            Evidence("active multiprocessors", active, "ratio", SM_ACTIVE_PERCENT / 100),
        ),
        verify="Record again with the same counters: these kernels take less time.",
    )


@pattern_rule(
    "RE1",
    "Recomputed activations with memory to spare",
    (TIME, WHOLE, DEVICE_ACTIVITY, STACKS),
    "recompute",
    "low_ratio",
    answers=_COMPUTES,
)
def recompute(selection: Selection, seen: Seen) -> PatternAdvice | None:
    """Over 20 % of kernel time recomputes activations, and 30 % of memory is free."""
    device, part = selection.device_facts, seen[0].figure("part")
    if device is None or not device.memory_bytes or device.peak_allocated_bytes is None:
        return None
    filled = device.peak_allocated_bytes / device.memory_bytes
    if part <= selection.limits.recompute_ratio or filled > FREE_RATIO:
        return None
    return PatternAdvice(
        title="Activations are recomputed although memory is free",
        said=(
            f"{share(part)} of kernel time computes activations a second time, "
            f"{part_of_step(selection, seen[0])}, and tensors take {share(filled)} of the memory."
        ),
        action="Checkpoint fewer blocks: those whose activations are small for their time.",
        method="time of these kernels, as far as memory allows",
        confidence=0.7,
        evidence=(
            Evidence("recomputed kernel time", part, "ratio", selection.limits.recompute_ratio),
        ),
        verify="Record again: less recomputed time, and the peak below the card's memory.",
    )


# --- clocks ---------------------------------------------------------------------------------------

_WATCH = "nvidia-smi --query-gpu=clocks.sm,power.draw,temperature.gpu --format=csv -l 1"


@pattern_rule(
    "CLK1",
    "Kernels that get slower",
    (TIME, WHOLE, DEVICE_ACTIVITY, GRIDS),
    "drift",
    "drift_ratio",
    measure=lambda _, seen: seen[0].figure("ratio"),
    answers=_COMPUTES,
)
def drift(selection: Selection, seen: Seen) -> PatternAdvice:
    """Kernels of one kind are over 3 % slower at the end than at the beginning."""
    return PatternAdvice(
        title="Kernels get slower while the recording goes on",
        said=(
            f"Kernels of one name and size take {share(seen[0].figure('ratio'))} more of all "
            "kernel time than they would at the pace of the first third: the clock may have fallen."
        ),
        action="Look at clock, power and temperature of the device; lock its clock to compare.",
        snippet=_WATCH if _is_nvidia(selection) else "",
        method="these kernels as fast as in the first third",
        scale=seen[0].figure("part", 1.0),
        confidence=0.5,
        verify="Record again: kernels of one kind last the same throughout.",
    )


_REASONS = {
    1.0: "Power is at its highest meanwhile: the device keeps to its power limit.",
    2.0: "The device is at its hottest meanwhile: it protects itself from heat.",
}
_NO_REASON = (
    "Power and temperature, which could say why, were not recorded.",
    "Power does not say why, and temperature was not recorded.",
    "Temperature does not say why, and power was not recorded.",
    "Neither power nor temperature says why.",
)
_COOLER = {
    1.0: "Raise the power limit if the machine allows it, and compare steps at equal clocks only.",
    2.0: "Look after the cooling of the machine, and compare steps at equal clocks only.",
}


@pattern_rule(
    "CLK2",
    "A clock that falls under load",
    (TIME, WHOLE, DEVICE_ACTIVITY, CLOCKS),
    "slow_clock",
    answers=_COMPUTES,
)
def slow_clock(selection: Selection, seen: Seen) -> PatternAdvice | None:
    """The clock is below 95 % of its 95th percentile for over 5 % of the time with kernels.

    Its figures are of the time with kernels in the whole recording, the share is of the chosen
    steps.
    """
    one, limits = seen[0], selection.limits
    low, usual = one.figure("low_mhz"), one.figure("usual_mhz")
    busy = selection.partition.compute_ns if selection.partition else 0
    slow = one.ns / busy if busy else 0.0
    if slow <= limits.slow_clock_ratio:
        return None
    return PatternAdvice(
        title="The clock of the device falls while it works",
        said=(
            f"For {share(slow)} of the time with kernels the clock is low. In the recording it is "
            f"at {low:,.0f} MHz in the mean while kernels run then, and at {usual:,.0f} MHz at its "
            "best. " + _REASONS.get(one.figure("reason"), _NO_REASON[int(one.figure("witnesses"))])
        ),
        action=_COOLER.get(
            one.figure("reason"), "Look after what lowers it: a limit that was set, or a neighbour."
        ),
        snippet=_WATCH if _is_nvidia(selection) else "",
        method="kernels that compute most (products, convolutions, attention) at the higher clock",
        scale=one.figure("part"),
        confidence=0.8,
        evidence=(
            Evidence("time with kernels at a low clock", slow, "ratio", limits.slow_clock_ratio),
        ),
        verify="Record again with the same counters: the clock stays at its highest.",
    )


RULES = (
    TENSOR_CORES,
    float32,
    unaligned,
    roofline,
    underfilled,
    attention,
    tiny_kernels,
    memory_bound,
    recompute,
    drift,
    slow_clock,
)
