"""Do kernels take longer than they need to?

DT1: do matrix products in float32 run without TF32?
DT3: have matrix products sizes that tensor cores do not fit?
KE1: are matrix products far from their roofline?
KE2: do kernels fill the device badly?
KE3: is attention computed in single steps?
KE4: do kernels last a few microseconds only?
RE1: are activations recomputed although memory is free?
CLK1: do kernels get slower while the recording goes on?
CO3: does communication send small messages?
CO6: do kernels suffer from communication beside them?
CO8: does SyncBatchNorm hold the step?
"""

from __future__ import annotations

from ...base.units import share, size
from ..overview.findings import Evidence, Finding, Reference
from ..overview.utilization import DEFAULT_PEAK_RATIO, PEAK_RATIO
from ..steps import Selection
from ..wording import of_step, per_step, step_noun
from .claims import PatternAdvice, PatternSum, pattern_finding, patterns, united_ns
from .rule import (
    CALLS,
    COLLECTIVES,
    DEVICE_ACTIVITY,
    GRIDS,
    KERNELS_OF_OPS,
    PEAKS,
    SHAPES,
    STACKS,
    TIME,
    WHOLE,
    Rule,
)

_PRECISION = (
    "https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html"
)
_ATTENTION = (
    "https://docs.pytorch.org/docs/stable/generated/"
    "torch.nn.functional.scaled_dot_product_attention.html"
)
_COMPILE = "https://docs.pytorch.org/docs/stable/generated/torch.compile.html"
_DDP = (
    "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html"
)
FREE_RATIO = 0.70  # of the card's memory: above it there is no room to keep activations
TF32_RATIO = 4  # how much faster products may get, at least, where no data sheet says more


def wasted(selection: Selection, one: PatternSum) -> float:
    """The part of the steps that a pattern could save: its time, as far as its figures say."""
    return selection.ratio(one.ns) * one.pattern.figures.get("part", 1.0)


def _time(selection: Selection, one: PatternSum) -> str:
    agree = sum(part > 0 for part in one.shares)
    return f"{share(selection.ratio(one.ns))} {of_step(selection, agree)}"


def check_float32(selection: Selection) -> Finding | None:
    """Fires when products in float32 without tensor cores take over 5 %, on a device with TF32."""
    seen = patterns(selection, "float32")[:1]
    device, limit = selection.device_facts, selection.limits.float32_ratio
    if not seen or device is None or selection.ratio(seen[0].ns) <= limit:
        return None
    factor = PEAK_RATIO.get(device.capability or (0, 0), DEFAULT_PEAK_RATIO) / 2
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="DT1",
            title="Matrix products in float32 do not use TF32",
            said=(
                f"For {_time(selection, seen[0])} `{seen[0].pattern.name}` and the like compute in "
                f"float32 without tensor cores{seen[0].place}."
            ),
            action="Allow TF32, which rounds their inputs to 10 bits: watch the loss.",
            snippet='torch.set_float32_matmul_precision("high")',
            method=f"these kernels {max(factor, TF32_RATIO):g} times as fast, the ratio of peak "
            "rates",
            scale=1 - 1 / max(factor, TF32_RATIO),
            limit=limit,
            confidence=0.8,
            verify="Record again: the names of these kernels say tf32.",
            links=(Reference("What the precision means", url=_PRECISION),),
        ),
    )


FLOAT32 = Rule(
    "DT1",
    "Matrix products in float32 without TF32",
    (TIME, WHOLE, DEVICE_ACTIVITY, KERNELS_OF_OPS, SHAPES),
    check_float32,
    frozenset({"compute_ns"}),
)


def check_unaligned(selection: Selection) -> Finding | None:
    """Fires when products of unfavourable sizes waste over 2 % beyond their roofline."""
    seen = patterns(selection, "unaligned")[:1]
    limit = selection.limits.unaligned_ratio
    if not seen or wasted(selection, seen[0]) <= limit:
        return None
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="DT3",
            title="Matrix products have sizes that tensor cores do not fit",
            said=(
                f"`{seen[0].pattern.name}` and the like run for {_time(selection, seen[0])} with "
                f"inner sizes that are no multiples of 8{seen[0].place}, at less than half of what "
                "the device could do."
            ),
            action="Pad these sizes (vocabulary, heads, features) to multiples of 8, or of 64.",
            method="what these products take beyond the roofline of the device",
            scale=seen[0].pattern.figures.get("part", 1.0),
            limit=limit,
            confidence=0.7,
            verify="Record again with `record_shapes=True`: sizes are multiples of 8.",
        ),
    )


UNALIGNED = Rule(
    "DT3",
    "Matrix products of unfavourable sizes",
    (TIME, WHOLE, DEVICE_ACTIVITY, SHAPES, PEAKS),
    check_unaligned,
    frozenset({"compute_ns"}),
)


def check_roofline(selection: Selection) -> Finding | None:
    """Fires when products waste over 5 % beyond their roofline."""
    seen = patterns(selection, "roofline")[:1]
    limit = selection.limits.roofline_ratio
    if not seen or wasted(selection, seen[0]) <= limit:
        return None
    part = seen[0].pattern.figures.get("part", 0.0)
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="KE1",
            title="Matrix products are far from what the device could do",
            said=(
                f"`{seen[0].pattern.name}` and the like run for {_time(selection, seen[0])}, "
                f"{share(part)} of it beyond what arithmetic and memory of the device allow by its "
                f"data sheet{seen[0].place}."
            ),
            action=(
                "Give them more work at once: larger batches, products joined into one; "
                '`torch.compile(mode="max-autotune")` looks for better kernels.'
            ),
            method="time beyond max(operations ÷ peak rate, bytes ÷ bandwidth) of the data sheet",
            scale=part,
            limit=limit,
            confidence=0.6,
            verify="Record again: the same products should take less time.",
            links=(Reference("How torch.compile works", url=_COMPILE),),
        ),
    )


ROOFLINE = Rule(
    "KE1",
    "Matrix products far from their roofline",
    (TIME, WHOLE, DEVICE_ACTIVITY, SHAPES, PEAKS),
    check_roofline,
    frozenset({"compute_ns"}),
)


def check_underfilled(selection: Selection) -> Finding | None:
    """Fires when kernels with less than one block per multiprocessor waste over 5 %."""
    seen = patterns(selection, "underfilled")[:1]
    limit = selection.limits.underfilled_ratio
    if not seen or wasted(selection, seen[0]) <= limit:
        return None
    part = seen[0].pattern.figures.get("part", 0.0)
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="KE2",
            title="Kernels leave multiprocessors without work",
            said=(
                f"For {_time(selection, seen[0])} kernels of 20 µs and more run with less than one "
                f"block per multiprocessor, most of it of `{seen[0].pattern.name}`"
                f"{seen[0].place}: {share(part)} of the device has nothing to do."
            ),
            action="Give each launch more work: larger batches, or several small products in one.",
            method="these kernels on as many multiprocessors as there are",
            scale=part,
            limit=limit,
            confidence=0.6,
            verify="Record again: est. SM efficiency should rise.",
        ),
    )


UNDERFILLED = Rule(
    "KE2",
    "Kernels that fill the device badly",
    (TIME, WHOLE, DEVICE_ACTIVITY, GRIDS),
    check_underfilled,
    frozenset({"compute_ns"}),
)


def check_attention(selection: Selection) -> Finding | None:
    """Fires when attention in single steps takes over 2 %."""
    seen = patterns(selection, "attention")[:1]
    limit = selection.limits.attention_ratio
    if not seen or selection.ratio(seen[0].ns) <= limit:
        return None
    side = seen[0].pattern.figures.get("size", 0.0)
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="KE3",
            title="Attention is computed in single steps",
            said=(
                f"Batched products and a softmax over {side:,.0f} by {side:,.0f} scores run for "
                f"{_time(selection, seen[0])}{seen[0].place}: the scores go through memory each "
                "time."
            ),
            action="Use the op that does it in one kernel.",
            snippet="out = torch.nn.functional.scaled_dot_product_attention(q, k, v)",
            method="time of these kernels, of which a fused one keeps the products",
            limit=limit,
            confidence=0.8,
            verify="Record again: one attention op instead of `aten::bmm` and `aten::_softmax`.",
            links=(Reference("How to use it", url=_ATTENTION),),
        ),
    )


ATTENTION = Rule(
    "KE3",
    "Attention in single steps",
    (TIME, WHOLE, DEVICE_ACTIVITY, SHAPES),
    check_attention,
    frozenset({"compute_ns"}),
)


def check_tiny(selection: Selection) -> Finding | None:
    """Fires when over 30 % of the kernels last below 5 µs and take over 5 %."""
    seen = patterns(selection, "tiny_kernels")[:1]
    limits = selection.limits
    if not seen or selection.ratio(seen[0].ns) <= limits.tiny_kernel_ratio:
        return None
    part = seen[0].pattern.figures.get("part", 0.0)
    if part <= limits.tiny_count_ratio:
        return None
    # Of code that is compiled, or replayed as a graph, the rest is what could not be joined.
    traits = selection.facts.traits
    compiled = traits.compiled or traits.graph_launches > 0
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="KE4",
            title="Many kernels last a few microseconds",
            said=(
                f"{share(part)} of the kernels last less than 5 µs and run for "
                f"{_time(selection, seen[0])}, most of it for `{seen[0].pattern.name}`"
                f"{seen[0].place}: what they read and write costs more than what they compute."
            ),
            action="Ops on lists (`torch._foreach_add_`) work on many tensors at once."
            if compiled
            else "`torch.compile` joins neighbours into one; `foreach` ops do so for lists.",
            snippet="" if compiled else "model = torch.compile(model)",
            method="time of these kernels",
            limit=limits.tiny_kernel_ratio,
            confidence=0.6,
            evidence=(Evidence("kernels below 5 µs", part, "ratio", limits.tiny_count_ratio),),
            verify="Record again: fewer and longer kernels.",
            links=(Reference("How torch.compile works", url=_COMPILE),),
        ),
    )


TINY_KERNELS = Rule(
    "KE4",
    "Kernels of a few microseconds",
    (TIME, WHOLE, DEVICE_ACTIVITY, KERNELS_OF_OPS),
    check_tiny,
    frozenset({"compute_ns"}),
)


def check_recompute(selection: Selection) -> Finding | None:
    """Fires when over 20 % of kernel time recomputes activations, and 30 % of memory is free."""
    seen = patterns(selection, "recompute")[:1]
    device = selection.device_facts
    if not seen or device is None or not device.memory_bytes:
        return None
    part, peak = seen[0].pattern.figures.get("part", 0.0), device.peak_allocated_bytes
    if peak is None or part <= selection.limits.recompute_ratio:
        return None
    filled = peak / device.memory_bytes
    if filled > FREE_RATIO:
        return None
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="RE1",
            title="Activations are recomputed although memory is free",
            said=(
                f"{share(part)} of kernel time computes activations a second time, "
                f"{_time(selection, seen[0])}, and tensors take {share(filled)} of the memory."
            ),
            action="Checkpoint fewer blocks: those whose activations are small for their time.",
            method="time of these kernels, as far as memory allows",
            limit=selection.limits.low_ratio,
            confidence=0.7,
            evidence=(
                Evidence("recomputed kernel time", part, "ratio", selection.limits.recompute_ratio),
            ),
            verify="Record again: less recomputed time, and the peak below the card's memory.",
        ),
    )


RECOMPUTE = Rule(
    "RE1",
    "Recomputed activations with memory to spare",
    (TIME, WHOLE, DEVICE_ACTIVITY, STACKS),
    check_recompute,
    frozenset({"compute_ns"}),
)


def check_drift(selection: Selection) -> Finding | None:
    """Fires when kernels of one kind are over 3 % slower at the end than at the beginning."""
    seen = patterns(selection, "drift")[:1]
    limit = selection.limits.drift_ratio
    ratio = seen[0].pattern.figures.get("ratio", 0.0) if seen else 0.0
    if not seen or ratio <= limit:
        return None
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="CLK1",
            title="Kernels get slower while the recording goes on",
            said=(
                f"Kernels of one name and size take {share(ratio)} more of all kernel time than "
                "they would at the pace of the first third: the clock may have fallen."
            ),
            action="Look at clock, power and temperature of the device; lock its clock to compare.",
            snippet="nvidia-smi --query-gpu=clocks.sm,power.draw,temperature.gpu --format=csv -l 1"
            if _is_nvidia(selection)
            else "",
            method="these kernels as fast as in the first third",
            scale=seen[0].pattern.figures.get("part", 1.0),
            limit=limit,
            confidence=0.5,
            verify="Record again: kernels of one kind last the same throughout.",
        ),
    )


def _is_nvidia(selection: Selection) -> bool:
    device = selection.device_facts
    return device is not None and device.vendor == "NVIDIA"


DRIFT = Rule("CLK1", "Kernels that get slower", (TIME, WHOLE, DEVICE_ACTIVITY, GRIDS), check_drift)


def check_messages(selection: Selection) -> Finding | None:
    """Fires when over 30 % of the time of collectives is in small messages, over 50 per step."""
    seen = patterns(selection, "small_messages")[:1]
    limits = selection.limits
    if not seen:
        return None
    part = seen[0].pattern.figures.get("part", 0.0)
    count = selection.mean(seen[0].count)
    if part <= limits.small_message_ratio or count <= limits.small_message_count:
        return None
    largest = seen[0].pattern.figures.get("largest", 0.0)
    ddp = selection.facts.traits.distributed_data_parallel
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="CO3",
            title="Communication sends many small messages",
            said=(
                f"{count:,.0f} collectives {per_step(selection)} send {size(largest)} or less, "
                f"{share(part)} of the time of all: each pays for its start."
            ),
            action="Join them: larger buckets of gradients."
            if ddp
            else "Join tensors into one before they are sent.",
            snippet="DistributedDataParallel(model, bucket_cap_mb=100)" if ddp else "",
            method="their time in which no kernel computes",
            limit=limits.low_ratio,
            confidence=0.7,
            evidence=(
                Evidence("small messages per step", count, "count", limits.small_message_count),
            ),
            verify=f"Record again: fewer collectives per {step_noun(selection.facts)}.",
            links=(Reference("How gradients are put into buckets", url=_DDP),) if ddp else (),
        ),
    )


MESSAGES = Rule(
    "CO3", "Small messages", (TIME, WHOLE, DEVICE_ACTIVITY, COLLECTIVES), check_messages
)


def check_contention(selection: Selection) -> Finding | None:
    """Fires when kernels under communication lose over 3 % of the steps against those alone."""
    seen = patterns(selection, "contention")[:1]
    limit = selection.limits.contention_ratio
    if not seen or wasted(selection, seen[0]) <= limit:
        return None
    part = seen[0].pattern.figures.get("part", 0.0)
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="CO6",
            title="Kernels take longer while communication runs",
            said=(
                f"Kernels that run beside a collective, {_time(selection, seen[0])}, spend "
                f"{share(part)} of that time beyond what the same kernels take alone."
            ),
            action="Let collectives use fewer multiprocessors, and compare the whole step.",
            snippet="NCCL_MAX_CTAS=8" if _is_nvidia(selection) else "",
            method="what these kernels take beyond the median of those without communication",
            scale=part,
            limit=limit,
            confidence=0.5,
            verify="Record again: these kernels last as long as alone.",
        ),
    )


CONTENTION = Rule(
    "CO6", "Kernels beside communication", (TIME, WHOLE, DEVICE_ACTIVITY, GRIDS), check_contention
)


def check_sync_norm(selection: Selection) -> Finding | None:
    """Fires when collectives of SyncBatchNorm take over 1 % with nothing computing."""
    seen = patterns(selection, "sync_batch_norm")[:1]
    limit = selection.limits.sync_batch_norm_ratio
    if not seen or selection.ratio(united_ns(selection, [seen[0].row])) <= limit:
        return None
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="CO8",
            title="`SyncBatchNorm` waits for all ranks in every layer",
            said=(
                f"Collectives of `SyncBatchNorm` run for {_time(selection, seen[0])} with nothing "
                "computing."
            ),
            action="Where a batch per device is large enough, normalize on each device alone.",
            snippet="nn.BatchNorm2d(…)  # and no nn.SyncBatchNorm.convert_sync_batchnorm(model)",
            method="time of these collectives under which no kernel computes",
            limit=limit,
            confidence=0.8,
            verify="Record again: no collective in the forward pass.",
        ),
    )


SYNC_NORM = Rule("CO8", "SyncBatchNorm", (TIME, WHOLE, DEVICE_ACTIVITY, CALLS), check_sync_norm)

RULES = (
    FLOAT32,
    UNALIGNED,
    ROOFLINE,
    UNDERFILLED,
    ATTENTION,
    TINY_KERNELS,
    RECOMPUTE,
    DRIFT,
    MESSAGES,
    CONTENTION,
    SYNC_NORM,
)
