"""Do several devices work together well?

CO1: does communication take a large part of the step?
CO2: is little of it hidden behind compute?
CO3: does it send many small messages?
CO6: do kernels suffer from communication beside them?
CO7: does one process drive several devices through DataParallel?
CO8: does SyncBatchNorm hold the step?
CO9: does DistributedDataParallel on GPUs communicate without NCCL?
"""

from __future__ import annotations

from ...base.units import duration, listing, share, size
from ..facts import RunTraits
from ..findings import Evidence, Finding, Reference, at_time
from ..steps import Selection
from ..wording import device_names, per_step, scope, step_noun
from .claims import (
    PatternAdvice,
    Seen,
    count_of,
    events_of,
    part_of_step,
    pattern_rule,
    patterns,
    wasted,
)
from .rule import (
    BFLOAT_CAPABILITY,
    CALLS,
    CAPABILITY,
    COLLECTIVES,
    DEVICE_ACTIVITY,
    GRIDS,
    HOST_RANGES,
    NCCL_CAPABILITY,
    OPS,
    TIME,
    TORCH_1_11,
    TORCH_2_4,
    WHOLE,
    Fact,
    Remedy,
    Rule,
    ceiling,
    is_older,
    remedy_of,
    sentences,
    severity_of,
)

_DATA_PARALLEL_DOCS = "https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html"


def _starter(selection: Selection) -> str:
    """What starts a process per device; torchrun is there from torch 1.10 on."""
    old = is_older(selection, TORCH_1_11)
    return "python -m torch.distributed.launch --use_env" if old else "torchrun"


def check_data_parallel(selection: Selection) -> Finding | None:
    """Fires when `DataParallel.forward` ran and more than one device worked."""
    used = [device for device in selection.facts.devices if device.used]
    if not selection.facts.traits.data_parallel or len(used) < 2:
        return None
    return Finding(
        id="CO7",
        title="One process drives all devices: use DistributedDataParallel",
        severity="medium",
        confidence=0.9,
        text=(
            f"`DataParallel` runs on {device_names(used)} from one Python process, which copies "
            "the model to each of them in every step and launches for all. Run one process per "
            "device with `DistributedDataParallel`."
        ),
        snippet=(
            f"{_starter(selection)} --nproc_per_node={len(used)} train.py\n"
            "model = DistributedDataParallel(model, device_ids=[local_rank])"
        ),
        evidence=(Evidence("devices of one process", len(used), "count", 1),),
        gain=None,
        scope=scope(selection, device=False),
        links=(
            Reference(
                "DataParallel.forward in the trace", "timeline", {"find": "DataParallel.forward"}
            ),
            Reference("How to use DistributedDataParallel", url=_DATA_PARALLEL_DOCS),
        ),
        verify="Record one rank again: `DataParallel.forward` is gone, each rank uses one device.",
        events=events_of(selection, patterns(selection, "data_parallel")),
        action="Run one process per device with `DistributedDataParallel`.",
    )


DATA_PARALLEL = Rule(
    "CO7", "DataParallel on several devices", (OPS, DEVICE_ACTIVITY), check_data_parallel
)


_HOOKS = "https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html"
_SHARDED = "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html"
_NO_SYNC = (
    "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html"
)


def leading(traits: RunTraits) -> str:
    """The collective operation that takes most time; "" where there is none."""
    return max(traits.collective_ns, key=lambda kind: traits.collective_ns[kind], default="")


def _leads(*kinds: str) -> Fact:
    said = " or ".join(kind.replace("_", "-") for kind in kinds)
    return Fact(
        f"most of the time of collectives is {said}",
        lambda chosen: leading(chosen.facts.traits) in kinds,
    )


def _nccl(selection: Selection) -> bool:
    backends = selection.facts.traits.communication_backends
    used = [device for device in selection.facts.devices if device.used]
    return "nccl" in backends and bool(used) and all(one.type == "GPU" for one in used)


def _has_bfloat(selection: Selection) -> bool:
    return all(
        device.vendor == "AMD" or (device.capability or (0, 0)) >= BFLOAT_CAPABILITY
        for device in selection.facts.devices
        if device.used
    )


DDP_GRADIENTS = Fact(
    "DistributedDataParallel reduces gradients",
    lambda chosen: (
        chosen.facts.traits.distributed_data_parallel
        and chosen.facts.traits.gradient_collectives
        and chosen.facts.traits.backward
    ),
)
INFERS = Fact(
    "ops were recorded, and autograd did not run",
    lambda chosen: chosen.facts.counts.get("op", 0) > 0 and not chosen.facts.traits.backward,
)
SHARDED = Fact("FSDP ran", lambda chosen: chosen.facts.traits.fully_sharded)
NOT_SHARDED = Fact("FSDP did not run", lambda chosen: not chosen.facts.traits.fully_sharded)
NCCL = Fact("NCCL communicates between GPUs", _nccl)
WIDE = Fact(
    "gradients travel with more than 16 bits, as the recorder says",
    lambda chosen: chosen.facts.traits.gradient_dtype in ("Float", "Double"),
)
WIDTH_UNKNOWN = Fact(
    "the recorder does not say how wide the gradients are",
    lambda chosen: not chosen.facts.traits.gradient_dtype,
)
BFLOAT = Fact("all devices compute in bfloat16", _has_bfloat)
NO_BFLOAT = Fact("a device does not compute in bfloat16", lambda chosen: not _has_bfloat(chosen))
HAS_BFLOAT_HOOK = Fact(
    "this torch has a hook for bfloat16, from 1.10 on",
    lambda chosen: not is_older(chosen, TORCH_1_11),
)
REDUCES = _leads("all_reduce", "reduce_scatter")
ON_DEVICE = Fact("collectives run on devices", lambda chosen: chosen.partition is not None)

_ACCUMULATE = (
    "Accumulate gradients over several batches: inside `no_sync()` a backward pass reduces none."
)
_ACCUMULATE_CODE = (
    "with ddp_model.no_sync():  # for all batches of a step but the last\n"
    "    loss_fn(ddp_model(x), y).backward()"
)


def _hook(name: str) -> str:
    return (
        "from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n"
        f"ddp_model.register_comm_hook(None, default_hooks.{name})"
    )


_COMPRESS_LINK = (Reference("How to compress gradients", url=_HOOKS),)

REMEDIES = (
    Remedy(
        "Most of it takes tokens to experts and back: it lasts as long as the busiest expert. "
        "Balance the load of the experts, or let a second part of the batch compute meanwhile.",
        (_leads("experts"),),
    ),
    Remedy(
        "Most of it is all-to-all, in which every rank sends a part to every other, as sharded "
        "embeddings and experts do: it lasts as long as the rank with most to send. Balance what "
        "the ranks hold.",
        (_leads("all_to_all"),),
    ),
    Remedy(
        "Most of it is sending and receiving between two ranks, as the stages of a pipeline do: "
        "more and smaller parts of the batch shorten the wait of each stage for its neighbour.",
        (_leads("send_recv"),),
    ),
    Remedy(
        "FSDP gathers the parameters of each wrapped module before it runs: prefetch those of the "
        "next one earlier, or shard within one machine only.",
        (SHARDED,),
        links=(Reference("How FSDP shards and prefetches", url=_SHARDED),),
    ),
    Remedy(
        "Most of it reduces gradients with 32 bits: send them with 16, or accumulate them over "
        "several batches (`no_sync()`).",
        (DDP_GRADIENTS, NOT_SHARDED, REDUCES, NCCL, WIDE, BFLOAT, HAS_BFLOAT_HOOK),
        _hook("bf16_compress_hook"),
        _COMPRESS_LINK,
    ),
    Remedy(
        "Most of it reduces gradients with 32 bits: send them with 16 (this device has no "
        "bfloat16: watch the loss), or accumulate them over several batches (`no_sync()`).",
        (DDP_GRADIENTS, NOT_SHARDED, REDUCES, NCCL, WIDE, NO_BFLOAT),
        _hook("fp16_compress_hook"),
        _COMPRESS_LINK,
    ),
    Remedy(
        "Most of it reduces gradients. If they have 32 bits, send them with 16; or accumulate "
        "them over several batches (`no_sync()`).",
        (DDP_GRADIENTS, NOT_SHARDED, REDUCES, NCCL, WIDTH_UNKNOWN, BFLOAT, HAS_BFLOAT_HOOK),
        _hook("bf16_compress_hook"),
        _COMPRESS_LINK,
    ),
    Remedy(
        f"Most of it reduces gradients. {_ACCUMULATE}",
        (DDP_GRADIENTS, NOT_SHARDED, REDUCES),
        _ACCUMULATE_CODE,
        (Reference("How to accumulate with DistributedDataParallel", url=_NO_SYNC),),
    ),
    Remedy(
        "It is part of the model's own pass, as tensor parallelism has it, and each layer waits "
        "for its own: split layers over fewer devices, or over those with the fastest links.",
        (
            INFERS,
            NOT_SHARDED,
            ON_DEVICE,
            _leads("all_reduce", "reduce_scatter", "all_gather"),
        ),
    ),
)


def check_communication(selection: Selection) -> Finding | None:
    """Fires when communication not covered by kernels or copies takes over 10 % of the steps."""
    classic = selection.ratio(selection.breakdown.communication_ns)
    if classic <= selection.limits.communication_ratio:
        return None
    part, host = selection.partition, selection.host
    exposed = part.exposed_communication_ns if part else host.communication_ns if host else 0
    limited = selection.communication.host_limited_ns if part else 0
    gain = ceiling(
        selection,
        exposed - limited,
        "time of collectives under which no kernel computed, although the next one was launched"
        if part
        else "time of collectives on the main thread",
        "exposed_communication_ns" if part else "communication_ns",
    )
    # The classic category is only what no copy covers; a part of a device's collectives is said of
    # all their time, or the part could be larger than the whole.
    running = exposed + part.overlap_ns if part else selection.breakdown.communication_ns
    where = (
        f", and for {duration(selection.mean(exposed))} of that nothing computes" if part else ""
    )
    held = (
        f"For {duration(selection.mean(limited))} of that the next kernel was not launched yet."
        if limited * 10 >= exposed > 0
        else ""
    )
    remedy = remedy_of(REMEDIES, selection)
    return Finding(
        id="CO1",
        title=f"Communication takes a large part of the {step_noun(selection.facts)}",
        severity=severity_of(selection, gain, "low"),
        confidence=0.8,
        text=sentences(
            f"Collectives take {duration(selection.mean(running))} {per_step(selection)}, "
            f"{share(selection.ratio(running))} of the {step_noun(selection.facts)}{where}.",
            held,
            f"Waiting for slower ranks is part of {'it' if held else 'that'}.",
            remedy.text,
        ),
        snippet=remedy.snippet,
        evidence=(
            Evidence("communication", classic, "ratio", selection.limits.communication_ratio),
            Evidence(
                f"exposed communication, {per_step(selection)}", selection.mean(exposed), "ns"
            ),
            *_operations(selection.facts.traits),
        ),
        gain=gain,
        scope=scope(selection),
        links=(*_longest(selection), *remedy.links),
        events=events_of(
            selection,
            patterns(selection, "collectives") or patterns(selection, "host_collectives"),
        ),
        action=remedy.text,
        verify=f"Record again: communication should fall below 10 % of the "
        f"{step_noun(selection.facts)}.",
    )


def _operations(traits: RunTraits) -> tuple[Evidence, ...]:
    """The collective operations of the whole recording, the longest first."""
    spent = sorted(traits.collective_ns.items(), key=lambda one: -one[1])
    return tuple(
        Evidence(f"{kind.replace('_', '-')}, in the whole recording", float(ns), "ns")
        for kind, ns in spent[:4]
    )


def _longest(selection: Selection) -> tuple[Reference, ...]:
    """The longest collective of a device; else the collectives of the host, by their range."""
    parts = [
        one
        for step in selection.steps
        if (device := selection.device_step(step))
        for one in device.longest
        if one.part == "exposed_communication_ns"
    ]
    if parts:
        longest = max(parts, key=lambda one: one.dur_ns)
        return (at_time("The longest collective in the trace", longest.ts, longest.dur_ns),)
    backend = next(iter(selection.facts.traits.communication_backends), "")
    return (Reference("The collectives in the trace", "timeline", {"find": f"{backend}:"}),)


COMMUNICATION = Rule(
    "CO1",
    "Communication in the way of the step",
    (TIME, WHOLE, HOST_RANGES),
    check_communication,
    frozenset({"exposed_communication_ns", "communication_ns"}),
    REMEDIES,
)


HIDING = (
    Remedy(
        "Smaller buckets let the first gradients travel while the backward pass goes on.",
        (DDP_GRADIENTS, NOT_SHARDED, REDUCES),
        "ddp_model = DistributedDataParallel(model, bucket_cap_mb=10)  # 25 unless set",
        (Reference("How gradients are put into buckets", url=_NO_SYNC),),
    ),
    Remedy(
        "Gather the parameters of the next modules earlier.",
        (SHARDED,),
        links=(Reference("How FSDP shards and prefetches", url=_SHARDED),),
    ),
    Remedy(
        "Where each layer needs the result of its collective at once, as tensor parallelism has "
        "it, a second part of the batch can compute meanwhile.",
        (INFERS, NOT_SHARDED, ON_DEVICE),
    ),
    Remedy(
        "Start collectives with `async_op=True` as soon as their input is there, and wait for them "
        "where the result is used.",
        (),
    ),
)


def check_overlap(selection: Selection) -> Finding | None:
    """Fires when compute hides less than 70 % of communication that takes over 5 % of the steps.

    Where communication takes so much that CO1 speaks of it, CO1 says how much is exposed, too.
    """
    limits, sums, part = selection.limits, selection.communication, selection.partition
    large = selection.ratio(selection.breakdown.communication_ns) > limits.communication_ratio
    if part is None or large or not sums.total_ns:
        return None
    taken = selection.ratio(sums.total_ns)
    hidden = (sums.total_ns - sums.exposed_ns) / sums.total_ns
    # What the host had not launched yet would be idle without communication, too.
    blocking = sums.exposed_ns - sums.host_limited_ns
    small = selection.ratio(blocking) <= limits.low_ratio
    if taken <= limits.overlap_communication_ratio or hidden >= limits.overlap_ratio or small:
        return None
    gain = ceiling(
        selection,
        blocking,
        "time of collectives under which no kernel computed, although the next one was launched",
        "exposed_communication_ns",
    )
    remedy = remedy_of(HIDING, selection)
    noun = step_noun(selection.facts)
    return Finding(
        id="CO2",
        title="Little of the communication is hidden behind compute",
        severity=severity_of(selection, gain, "low"),
        confidence=0.7,
        text=sentences(
            f"Collectives take {duration(selection.mean(sums.total_ns))} {per_step(selection)}, "
            f"{share(taken)} of the {noun}, and kernels compute during {share(hidden)} of that.",
            remedy.text,
        ),
        snippet=remedy.snippet,
        evidence=(
            Evidence("communication", taken, "ratio", limits.overlap_communication_ratio),
            Evidence("of it, hidden behind compute", hidden, "ratio", limits.overlap_ratio),
        ),
        gain=gain,
        scope=scope(selection),
        links=(*_longest(selection), *remedy.links),
        verify="Record again: more of the communication lies beside kernels.",
        events=events_of(selection, patterns(selection, "collectives")),
        action=remedy.text,
    )


OVERLAP = Rule(
    "CO2",
    "Communication that compute does not hide",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    check_overlap,
    frozenset({"exposed_communication_ns"}),
    HIDING,
)


@pattern_rule(
    "CO3",
    "Small messages",
    (TIME, WHOLE, DEVICE_ACTIVITY, COLLECTIVES),
    "small_messages",
    "low_ratio",
)
def messages(selection: Selection, seen: Seen) -> PatternAdvice | None:
    """Over 30 % of the time of collectives is in small messages, over 50 per step."""
    limits, count = selection.limits, selection.mean(count_of(seen))
    part = seen[0].figure("part")
    if part <= limits.small_message_ratio or count <= limits.small_message_count:
        return None
    ddp = DDP_GRADIENTS.holds(selection)
    return PatternAdvice(
        title="Communication sends many small messages",
        said=(
            f"{count:,.0f} collectives {per_step(selection)} send "
            f"{size(seen[0].figure('largest'))} or less, {share(part)} of the time of all: each "
            "pays for its start."
        ),
        action="Join them: larger buckets of gradients."
        if ddp
        else "Join tensors into one before they are sent.",
        snippet="DistributedDataParallel(model, bucket_cap_mb=100)" if ddp else "",
        method="their time in which no kernel computes",
        confidence=0.7,
        evidence=(
            Evidence(
                f"small messages {per_step(selection)}", count, "count", limits.small_message_count
            ),
        ),
        verify=f"Record again: fewer collectives per {step_noun(selection.facts)}.",
        links=(Reference("How gradients are put into buckets", url=_NO_SYNC),) if ddp else (),
    )


def _fewer_blocks(selection: Selection) -> str:
    """The setting of NCCL since 2.17, else the one that it and RCCL always had."""
    device = selection.device_facts
    new = device is not None and device.vendor == "NVIDIA" and not is_older(selection, TORCH_2_4)
    return "NCCL_MAX_CTAS=8" if new else "NCCL_MAX_NCHANNELS=8"


@pattern_rule(
    "CO6",
    "Kernels beside communication",
    (TIME, WHOLE, DEVICE_ACTIVITY, GRIDS),
    "contention",
    "contention_ratio",
    measure=wasted,
)
def contention(selection: Selection, seen: Seen) -> PatternAdvice:
    """Kernels under communication lose over 3 % of the steps against those alone."""
    one, part = seen[0], seen[0].figure("part")
    return PatternAdvice(
        title="Kernels take longer while communication runs",
        said=(
            f"Kernels that run beside a collective, {part_of_step(selection, one)}, spend "
            f"{share(part)} of that time beyond what the same kernels take alone."
        ),
        action="Let collectives use fewer multiprocessors, and compare the whole step.",
        snippet=_fewer_blocks(selection) if NCCL.holds(selection) else "",
        method="what these kernels take beyond the median of those without communication",
        scale=part,
        confidence=0.5,
        verify="Record again: these kernels last as long as alone.",
    )


@pattern_rule(
    "CO8",
    "SyncBatchNorm",
    (TIME, WHOLE, DEVICE_ACTIVITY, CALLS),
    "sync_batch_norm",
    "sync_batch_norm_ratio",
)
def sync_norm(selection: Selection, seen: Seen) -> PatternAdvice:
    """Collectives of SyncBatchNorm take over 1 % with nothing computing."""
    return PatternAdvice(
        title="`SyncBatchNorm` waits for all ranks in every layer",
        said=(
            f"Collectives of `SyncBatchNorm` run for {part_of_step(selection, seen[0])} with "
            "nothing computing."
        ),
        action="Where a batch per device is large enough, normalize on each device alone.",
        snippet="nn.BatchNorm2d(…)  # and no nn.SyncBatchNorm.convert_sync_batchnorm(model)",
        method="time of these collectives under which no kernel computes",
        confidence=0.8,
        verify="Record again: no collective in the forward pass.",
    )


_BACKEND_DOCS = "https://docs.pytorch.org/docs/stable/distributed.html#which-backend-to-use"


def check_backend(selection: Selection) -> Finding | None:
    """Fires when DDP ran on a device that NCCL supports, and only other back ends were seen."""
    traits = selection.facts.traits
    able = [
        device
        for device in selection.facts.devices
        if device.used
        and device.type == "GPU"
        and (device.vendor == "AMD" or (device.capability or (0, 0)) >= NCCL_CAPABILITY)
    ]
    backends = traits.communication_backends
    # Where nothing was seen to communicate, nothing can be said of how.
    if not traits.distributed_data_parallel or not backends or "nccl" in backends or not able:
        return None
    with_what = f"with {listing([f'`{name}`' for name in backends])}"
    return Finding(
        id="CO9",
        title="Gradients do not travel by NCCL",
        severity="medium",
        confidence=0.8,
        text=(
            f"`DistributedDataParallel` runs on a {able[0].type} and communicates {with_what}. "
            "NCCL is the fastest back end between GPUs (RCCL on AMD, under the same name): "
            "choose it when the process group is made."
        ),
        snippet='torch.distributed.init_process_group("nccl")',
        evidence=(Evidence("collectives seen", selection.facts.recording.collectives, "count"),),
        gain=None,
        scope=scope(selection, device=False),
        links=(
            Reference("The collectives in the trace", "timeline", {"find": f"{backends[0]}:"}),
            Reference("Which back end to use", url=_BACKEND_DOCS),
        ),
        verify="Record again: collectives are named `nccl:…`.",
        events=events_of(selection, patterns(selection, "host_collectives")),
        action="Choose NCCL when the process group is made.",
    )


BACKEND = Rule(
    "CO9",
    "The back end of DistributedDataParallel",
    (WHOLE, OPS, DEVICE_ACTIVITY, CAPABILITY),
    check_backend,
)

RULES = (DATA_PARALLEL, BACKEND, COMMUNICATION, OVERLAP, messages, contention, sync_norm)
