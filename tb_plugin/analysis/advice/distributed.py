"""Do several devices work together well? Communication, its size, and how much is hidden."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from ...base.intervals import EMPTY, subtract, union
from ...base.regex import regex
from ...base.units import duration, listing, share, size
from ..facts import RunTraits
from ..findings import Evidence, Reference, at_time
from ..steps import Selection
from ..user_code import DeviceCode, Found, HostCode, of_code
from ..wording import device_names, longest_work, per_step, scope, step_noun
from .claims import (
    Seen,
    ceiling,
    count_of,
    events_of,
    on_collectives,
    on_host,
    part_of_step,
    patterns,
    spent,
)
from .rule import (
    CALLS,
    CAPABILITY,
    COLLECTIVES,
    DEVICE_ACTIVITY,
    HOST_RANGES,
    LOW_RATIO,
    OPS,
    TIME,
    TORCH_1_11,
    WHOLE,
    Advice,
    Fact,
    Remedy,
    Threshold,
    is_older,
    pattern_rule,
    rule,
    sentences,
)

COMMUNICATION_RATIO = Threshold("communication_ratio", 0.10, "communication")
OVERLAP_RATIO = Threshold(
    "overlap_ratio", 0.70, "of communication that compute covers; below it fires"
)
OVERLAP_COMMUNICATION_RATIO = Threshold(
    "overlap_communication_ratio", 0.05, "… where there is so much communication"
)
SMALL_MESSAGE_RATIO = Threshold(
    "small_message_ratio", 0.30, "of the time of collectives, in small messages"
)
SMALL_MESSAGE_COUNT = Threshold("small_message_count", 50.0, "small messages per step")


NCCL_CAPABILITY = (3, 5)
BFLOAT_CAPABILITY = (8, 0)
_DATA_PARALLEL_DOCS = "https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html"


def _starter(selection: Selection) -> str:
    """Command that starts a process per device; torchrun exists from torch 1.10 on."""
    old = is_older(selection, TORCH_1_11)
    return "python -m torch.distributed.launch --use_env" if old else "torchrun"


_DATA_PARALLEL = of_code(r"^DataParallel\.forward$")


@on_host()
def find_data_parallel(code: HostCode) -> Iterator[Found]:
    """Calls of ``DataParallel.forward``."""
    rows = code.named(_DATA_PARALLEL)
    if len(rows):
        yield Found("data_parallel", "DataParallel.forward", EMPTY, code.host_rows(rows))


@rule(
    "CO7",
    "DataParallel on several devices",
    (OPS, DEVICE_ACTIVITY),
)
def data_parallel(selection: Selection) -> Advice | None:
    """`DataParallel.forward` ran, and more than one device worked."""
    used = [device for device in selection.facts.devices if device.used]
    if not selection.facts.traits.data_parallel or len(used) < 2:
        return None
    return Advice(
        title="One process drives all devices: use DistributedDataParallel",
        severity="medium",
        confidence=0.9,
        said=(
            f"`DataParallel` runs on {device_names(used)} from one Python process, which copies "
            "the model to each of them in every forward pass and launches for all."
        ),
        snippet=(
            f"{_starter(selection)} --nproc_per_node={len(used)} train.py\n"
            "model = DistributedDataParallel(model, device_ids=[local_rank])"
        ),
        evidence=(Evidence("devices of one process", len(used), "count", 1),),
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


_BACKEND_DOCS = "https://docs.pytorch.org/docs/stable/distributed.html#which-backend-to-use"


@rule(
    "CO9",
    "The back end of DistributedDataParallel",
    (WHOLE, OPS, DEVICE_ACTIVITY, CAPABILITY),
)
def backend(selection: Selection) -> Advice | None:
    """`DistributedDataParallel` on a GPU communicates without NCCL.

    The GPU has compute capability 3.5 or more, and only other back ends were seen.
    """
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
    return Advice(
        title="Gradients do not travel by NCCL",
        severity="medium",
        confidence=0.8,
        said=(
            f"`DistributedDataParallel` runs on a {able[0].type} and communicates {with_what}. "
            "NCCL is the fastest back end between GPUs (RCCL on AMD, under the same name)."
        ),
        snippet='torch.distributed.init_process_group("nccl")',
        evidence=(Evidence("collectives seen", selection.facts.recording.collectives, "count"),),
        scope=scope(selection, device=False),
        links=(
            Reference("The collectives in the trace", "timeline", {"find": f"{backends[0]}:"}),
            Reference("Which back end to use", url=_BACKEND_DOCS),
        ),
        verify="Record again: collectives are named `nccl:…`.",
        events=events_of(selection, patterns(selection, "host_collectives")),
        action="Choose NCCL when the process group is made.",
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


_NOT_COVERED = (
    "time of collectives under which no kernel computed, although the next one was launched"
)


def _compress(text: str, hook: str, *facts: Fact) -> Remedy:
    """Remedy: send gradients of DistributedDataParallel with fewer bits."""
    return Remedy(
        f"Most of it reduces gradients{text}",
        (DDP_GRADIENTS, NOT_SHARDED, REDUCES, NCCL, *facts),
        "from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n"
        f"ddp_model.register_comm_hook(None, default_hooks.{hook})",
        (Reference("How to compress gradients", url=_HOOKS),),
    )


COMMUNICATION_REMEDIES = (
    Remedy(
        "Most of it takes tokens to experts and back: it lasts as long as the busiest expert. "
        "Balance the load of the experts, or let a second part of the batch compute meanwhile.",
        (_leads("experts"),),
    ),
    Remedy(
        "Most of it is all-to-all, of sharded embeddings or experts. It lasts as long as the rank "
        "that sends most: balance the shards.",
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
    _compress(
        " with 32 bits: send them with 16, or accumulate them over several batches (`no_sync()`).",
        "bf16_compress_hook",
        *(WIDE, BFLOAT, HAS_BFLOAT_HOOK),
    ),
    _compress(
        " with 32 bits: send them with 16 (this device has no bfloat16: watch the loss), or "
        "accumulate them over several batches (`no_sync()`).",
        "fp16_compress_hook",
        *(WIDE, NO_BFLOAT),
    ),
    _compress(
        ". If they have 32 bits, send them with 16; or accumulate them over several batches "
        "(`no_sync()`).",
        "bf16_compress_hook",
        *(WIDTH_UNKNOWN, BFLOAT, HAS_BFLOAT_HOOK),
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


@on_host()
def find_host_collectives(code: HostCode) -> Iterator[Found]:
    """Calls of collectives, and ranges of those under way on any thread."""
    rows = np.flatnonzero(code.hosts.collective).astype(np.int64)
    if len(rows):
        host = code.trace.host
        time = union(host.ts[rows], host.ts[rows] + host.dur[rows])
        name = code.trace.strings[int(host.name[rows[np.argmax(host.dur[rows])]])]
        yield Found("host_collectives", name, time, rows)


@on_collectives
def find_collectives(one: DeviceCode) -> Iterator[Found]:
    """All collectives."""
    yield one.found("collectives", one.collectives)


@rule(
    "CO1",
    "Communication in the way of the step",
    (TIME, WHOLE, HOST_RANGES),
    COMMUNICATION_RATIO,
    answers={"exposed_communication_ns", "communication_ns"},
    remedies=COMMUNICATION_REMEDIES,
)
def communication(selection: Selection) -> Advice | None:
    """Communication takes more than {communication_ratio} of the breakdown.

    Ceiling: exposed communication, without what the host had not launched yet; without a
    device, time of collectives.
    """
    classic = selection.ratio(selection.breakdown.communication_ns)
    if classic <= (limit := COMMUNICATION_RATIO.of(selection.limits)):
        return None
    part, host, noun = selection.partition, selection.host, step_noun(selection.facts)
    exposed = part.exposed_communication_ns if part else host.communication_ns if host else 0
    limited = selection.communication.host_limited_ns if part else 0
    # The classic category is only what no copy covers; a part of a device's collectives is said of
    # all their time, or the part could be larger than the whole.
    running = exposed + part.overlap_ns if part else selection.breakdown.communication_ns
    where, waits = "", share(selection.ratio(exposed))
    if part:
        where = f", and for {duration(selection.mean(exposed))} of that nothing computes"
    elif host and waits != share(classic):
        where = f", and for {waits} the main thread does nothing else"
    held = (
        f"For {duration(selection.mean(limited))} of that the next kernel was not launched yet."
        if limited * 10 >= exposed > 0
        else ""
    )
    return Advice(
        title=f"Communication takes a large part of the {noun}",
        confidence=0.8,
        said=sentences(
            f"Collectives take {spent(selection, running, kernels=True)}{where}.",
            held,
            f"Waiting for slower ranks is part of {'it' if held else 'that'}.",
        ),
        evidence=(
            Evidence("communication anywhere", classic, "ratio", limit),
            Evidence(
                f"exposed communication, {per_step(selection)}", selection.mean(exposed), "ns"
            ),
            *_operations(selection.facts.traits),
        ),
        gain=ceiling(
            selection,
            exposed - limited,
            _NOT_COVERED if part else "time of collectives on the main thread",
            "exposed_communication_ns" if part else "communication_ns",
        ),
        links=_longest(selection),
        events=events_of(
            selection,
            patterns(selection, "collectives") or patterns(selection, "host_collectives"),
        ),
        verify=f"Record again: communication should fall below 10 % of the {noun}.",
    )


def _operations(traits: RunTraits) -> tuple[Evidence, ...]:
    """The collective operations of the whole recording, the longest first."""
    by_kind = sorted(traits.collective_ns.items(), key=lambda one: -one[1])
    return tuple(
        Evidence(f"{kind.replace('_', '-')}, in the whole recording", float(ns), "ns")
        for kind, ns in by_kind[:4]
    )


def _longest(selection: Selection) -> tuple[Reference, ...]:
    """The longest collective of a device; else the collectives of the host, by their range."""
    longest = longest_work(selection, "exposed_communication_ns")
    if longest is not None:
        return (at_time("The longest collective in the trace", longest.ts, longest.dur_ns),)
    backend = next(iter(selection.facts.traits.communication_backends), "")
    return (Reference("The collectives in the trace", "timeline", {"find": f"{backend}:"}),)


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


@rule(
    "CO2",
    "Communication that compute does not hide",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    OVERLAP_RATIO,
    OVERLAP_COMMUNICATION_RATIO,
    answers={"exposed_communication_ns"},
    remedies=HIDING,
)
def overlap(selection: Selection) -> Advice | None:
    """Kernels compute during less than {overlap_ratio} of the time of collectives.

    Collectives take more than {overlap_communication_ratio}, more than {low_ratio} is to be
    won, and CO1 is silent (it says how much is exposed, too).

    Ceiling: exposed communication, without what the host had not launched yet.
    """
    limits, sums, part = selection.limits, selection.communication, selection.partition
    large = selection.ratio(selection.breakdown.communication_ns) > COMMUNICATION_RATIO.of(limits)
    if part is None or large or not sums.total_ns:
        return None
    taken = selection.ratio(sums.total_ns)
    hidden = (sums.total_ns - sums.exposed_ns) / sums.total_ns
    # What the host had not launched yet would be idle without communication, too.
    blocking = sums.exposed_ns - sums.host_limited_ns
    small = selection.ratio(blocking) <= LOW_RATIO.of(limits)
    if (
        taken <= OVERLAP_COMMUNICATION_RATIO.of(limits)
        or hidden >= OVERLAP_RATIO.of(limits)
        or small
    ):
        return None
    gain = ceiling(
        selection,
        blocking,
        _NOT_COVERED,
        "exposed_communication_ns",
    )
    return Advice(
        title="Little of the communication is hidden behind compute",
        confidence=0.7,
        said=sentences(
            f"Collectives take {spent(selection, sums.total_ns, kernels=True)}, "
            f"and kernels compute during {share(hidden)} of that.",
        ),
        evidence=(
            Evidence("communication", taken, "ratio", OVERLAP_COMMUNICATION_RATIO.of(limits)),
            Evidence("of it, hidden behind compute", hidden, "ratio", OVERLAP_RATIO.of(limits)),
        ),
        gain=gain,
        links=_longest(selection),
        verify="Record again: more of the communication lies beside kernels.",
        events=events_of(selection, patterns(selection, "collectives")),
    )


_SYNC_NORM = regex(r"SyncBatchNorm|sync_batch_norm|batch_norm_gather_stats")


@on_collectives
def find_messages(one: DeviceCode) -> Iterator[Found]:
    """Collectives by the size of their message, and those of SyncBatchNorm; exposed time alone."""
    trace = one.trace
    size = one.message_bytes()
    kernels = one.work.compute
    small = one.collectives[(size >= 0) & (size < 262144)]
    if len(small):
        took = trace.device.dur[one.collectives]
        found = one.found("small_messages", small,
                          part=float(trace.device.dur[small].sum() / max(int(took.sum()), 1)),
                          largest=float(size[(size >= 0) & (size < 262144)].max()))  # fmt: skip
        yield replace(found, time=subtract(found.time, kernels))
    norm = one.below(one.collectives, _SYNC_NORM)
    if norm.any():
        found = one.found("sync_batch_norm", one.collectives[norm])
        yield replace(found, time=subtract(found.time, kernels))


@pattern_rule(
    "CO3",
    "Small messages",
    (TIME, WHOLE, DEVICE_ACTIVITY, COLLECTIVES),
    "small_messages",
    LOW_RATIO,
    also=(SMALL_MESSAGE_RATIO, SMALL_MESSAGE_COUNT),
)
def messages(selection: Selection, seen: Seen) -> Advice | None:
    """Small messages take more than {small_message_ratio} of the time of collectives.

    There are more than {small_message_count} per step of 256 KiB or less.

    Ceiling: their time in which no kernel computes.
    """
    limits, count = selection.limits, selection.mean(count_of(seen))
    part = seen[0].figure("part")
    if part <= SMALL_MESSAGE_RATIO.of(limits) or count <= SMALL_MESSAGE_COUNT.of(limits):
        return None
    ddp = DDP_GRADIENTS.holds(selection)
    return Advice(
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
                f"small messages {per_step(selection)}",
                count,
                "count",
                SMALL_MESSAGE_COUNT.of(limits),
            ),
        ),
        verify=f"Record again: fewer collectives per {step_noun(selection.facts)}.",
        links=(Reference("How gradients are put into buckets", url=_NO_SYNC),) if ddp else (),
    )


@pattern_rule(
    "CO8",
    "SyncBatchNorm",
    (TIME, WHOLE, DEVICE_ACTIVITY, CALLS),
    "sync_batch_norm",
    Threshold("sync_batch_norm_ratio", 0.01, "collectives of SyncBatchNorm"),
)
def sync_norm(selection: Selection, seen: Seen) -> Advice:
    """Collectives of `SyncBatchNorm` with nothing computing take more than {sync_batch_norm_ratio}.

    Ceiling: their time.
    """
    return Advice(
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
