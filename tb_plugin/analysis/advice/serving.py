"""Where does a served model lose time: between iterations, in launches, in padding, to prefill?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from ...base.arrays import median
from ...base.regex import regex
from ...base.units import duration, plural, share
from ..findings import Evidence, Gain, at_time
from ..serving.model import IterationFacts
from ..serving.phases import PhaseFigures, chosen_iterations, phases
from ..steps import Selection
from ..wording import CAUSE_NAMES, the_device, whereabouts
from .claims import ceiling, shares_of
from .rule import DEVICE_ACTIVITY, TIME, WHOLE, Advice, Need, Threshold, rule, sentences
from .waits import FEWEST, WAITING_COPY_REMEDIES, each_iteration, longest_held

GAP_RATIO = Threshold(
    "iteration_gap_ratio", 0.05, "the median gap between iterations, of the median period"
)
EAGER_RATIO = Threshold(
    "eager_decode_idle_ratio", 0.10, "idle time within decode iterations, of their device time"
)
PADDING_RATIO = Threshold("padding_ratio", 0.15, "padded requests, of the batches that ran")
STALL_FACTOR = Threshold(
    "prefill_stall_factor", 3.0, "the longest period with prefill, by the median decode period"
)
SMALL_BATCH = Threshold("small_decode_batch", 8.0, "requests below which a decode batch is small")
WEIGHTS_RATIO = Threshold(
    "decode_weights_ratio", 0.80, "weights, of the bytes that decode must read"
)
KEYS_RATE = Threshold(
    "attention_rate_ratio", 0.30, "keys and values by the time of attention, of the bandwidth"
)
KEYS_TIME = Threshold("attention_time_ratio", 0.10, "the kernel of attention, of decode")
COPY_RATIO = Threshold(
    "iteration_copy_ratio", 0.05, "idle time under one blocking copy, of the iterations"
)
MANY_LAUNCHES = 100  # of an iteration
# What a server without requests waits in: no gap of its host.
_WAITS_FOR_REQUESTS = regex(r"\b(?:e?poll|select|recv\w*|queue\S*|get_nowait|sleep)\b")

_OVERLAP: Mapping[str, str] = {
    "vLLM": "Turn on `--async-scheduling`, so that the host prepares the next batch meanwhile.",
    "SGLang": "Leave out `--disable-overlap-schedule`: the overlap scheduler prepares the next"
    " batch meanwhile.",
    "TensorRT-LLM": "Leave `disable_overlap_scheduler` at False: the next batch is prepared"
    " meanwhile.",
}
_GRAPHS: Mapping[str, str] = {
    "vLLM": "Leave out `--enforce-eager`",
    "SGLang": "Leave out `--disable-cuda-graph`",
    "ATOM": "Leave out `--enforce-eager`",
    "TensorRT-LLM": "Set `cuda_graph_config`",
}
_SIZES: Mapping[str, str] = {
    "vLLM": "`cudagraph_capture_sizes`",
    "SGLang": "`--cuda-graph-bs`",
    "ATOM": "`--cudagraph-capture-sizes`",
    "TensorRT-LLM": "`batch_sizes` of `cuda_graph_config`",
}
_CHUNKS: Mapping[str, str] = {
    "vLLM": "`--max-num-batched-tokens`",
    "SGLang": "`--chunked-prefill-size`",
    "TensorRT-LLM": "`max_num_tokens`",
}


def _whole(selection: Selection) -> list[IterationFacts]:
    return [one for one in chosen_iterations(selection) if one.is_whole]


def _served(need: Need) -> Need:
    """The same need of a recording of an engine; of another one there is nothing to ask."""
    return structs.replace(need, met=lambda chosen: not chosen.facts.iterations or need.met(chosen))


SEVERAL = Need(
    f"{FEWEST} whole iterations of the inference engine: record more of them",
    lambda chosen: len(_whole(chosen)) >= FEWEST,
)
BYTES = Need(
    "bytes that decode must read: record shapes of inputs, of replayed graphs the capture as well,"
    " and let the engine write the lengths of requests",
    lambda chosen: (
        _of(chosen, "decode") is None
        or ((use := chosen.use.get("decode")) is not None and use.weights_ratio is not None)
    ),
)
KEYS = Need(
    BYTES.text,
    lambda chosen: (
        _of(chosen, "decode") is None
        or ((use := chosen.use.get("decode")) is not None and use.reads is not None)
    ),
)
_NEEDS = (TIME, *(_served(need) for need in (WHOLE, DEVICE_ACTIVITY, SEVERAL)))


def _engine(selection: Selection) -> str:
    return next((one.engine for one in selection.facts.iterations if one.engine), "")


def _of(selection: Selection, phase: str) -> PhaseFigures | None:
    return next((one for one in phases(selection) if one.phase == phase and one.count), None)


def gap_cause(selection: Selection) -> str:
    """The cause of the gaps between iterations, if they have a finding (SV1); else ""."""
    found = between_iterations(selection)
    return found.gain.claims[0] if found is not None and found.gain is not None else ""


@rule(
    "SV1",
    "The device waits for the host between iterations",
    _NEEDS,
    GAP_RATIO,
    answers={"idle_host_ns", "idle_sync_ns", "idle_unattributed_ns"},
)
def between_iterations(selection: Selection) -> Advice | None:
    """The median gap before an iteration is more than {iteration_gap_ratio} of the median period.

    Of 5 iterations or more. A host that waits for requests holds nothing up; a copy that comes in
    each iteration is SV7.

    Ceiling: that gap, in each iteration.
    """
    some = _whole(selection)
    gaps = [one.gap for one in some if one.gap]
    periods = [one.period_ns for one in some if one.period_ns]
    if len(gaps) < FEWEST - 1 or not periods:
        return None
    gap, period = median([one.idle_ns for one in gaps]), median(periods)
    limit = GAP_RATIO.of(selection.limits)
    if gap <= limit * period:
        return None
    usual = [one for one in gaps if one.idle_ns <= 3 * gap]
    held: dict[str, int] = {}
    causes: dict[str, int] = {}
    for one in usual:
        causes[one.cause] = causes.get(one.cause, 0) + one.idle_ns
        if one.holder:
            held[one.holder] = held.get(one.holder, 0) + one.holder_ns
    cause = max(causes, key=causes.__getitem__)
    holder = max(held, key=held.__getitem__, default="")
    if cause not in CAUSE_NAMES or _WAITS_FOR_REQUESTS.search(holder):
        return None
    copy = each_iteration(selection)
    if copy is not None and copy.name == holder and copies_each_time(selection) is not None:
        return None  # SV7 is about it
    where = f" Meanwhile the host is in `{holder}`, " if holder else ""
    where += f"{duration(held[holder] / len(usual))} each." if holder else ""
    device = the_device(selection)
    longest = max(usual, key=lambda one: one.idle_ns)
    after = next(one for one in some if one.gap is longest)
    return Advice(
        title="The device waits for the host between iterations",
        said=(
            f"{device} idles {duration(gap)} before an iteration, {share(gap / period)} of a period"
            f" of {duration(period)} (medians of {plural(len(some), 'iteration')}).{where}"
        ),
        action=_OVERLAP.get(
            _engine(selection), "Prepare the next batch while the device runs this one."
        ),
        headline=f"{device} waits for the host between iterations for {{part}}.",
        confidence=0.8,
        verify="Record again: the gap before an iteration is shorter.",
        gain=_gain(selection, sum(min(one.idle_ns, gap) for one in gaps), cause),
        shares=[one.gap.idle_ns / one.period_ns for one in some if one.gap and one.period_ns],
        limit=limit,
        evidence=(
            Evidence("median gap", gap, "ns"),
            Evidence("median period", period, "ns"),
            Evidence("gap, of the period", gap / period, "ratio", limit),
        ),
        links=(at_time("The longest of these gaps", after.start_ns - longest.ns, longest.ns),),
    )


def _gain(selection: Selection, ns: float, cause: str) -> Gain | None:
    if selection.facts.step_source != "iteration":
        return None  # gaps may lie outside of steps
    return ceiling(selection, ns, "the median gap before each iteration", cause)


@rule("SV2", "Decode that launches each kernel", _NEEDS, EAGER_RATIO)
def eager_decode(selection: Selection) -> Advice | None:
    """Decode iterations without a replayed graph idle for {eager_decode_idle_ratio} inside.

    Each makes more than 100 launches.

    Ceiling: that idle time.
    """
    decode = _of(selection, "decode")
    some = decode.iterations if decode is not None else ()
    eager = [one for one in some if not one.replays and one.launches > MANY_LAUNCHES]
    span, idle = sum(one.span_ns for one in eager), sum(one.inside_idle_ns for one in eager)
    limit = EAGER_RATIO.of(selection.limits)
    if not span or idle <= limit * span:
        return None
    sizes = sorted({one.batch for one in eager if one.batch is not None})
    replayed = [one.batch for one in some if one.replays and one.batch is not None]
    engine = _engine(selection)
    option = _SIZES.get(engine, "the captured sizes")
    if replayed and sizes and sizes[0] > max(replayed):
        action = f"Capture graphs for batches up to {sizes[-1]:,}: {option}."
        why = f"The largest batch that replays a graph has {plural(max(replayed), 'request')}."
    elif replayed:
        return None  # which batches have a graph is not told
    else:
        batch = f" for {_range(sizes)} requests" if sizes else ""
        switch = _GRAPHS.get(engine)
        action = (
            f"{switch}: graphs replay the launches{batch}." if switch else f"Capture graphs{batch}."
        )
        why = "No iteration replays a graph."
    launches = median([one.launches for one in eager])
    return Advice(
        title="Decode launches each kernel by itself",
        said=sentences(
            f"{plural(len(eager), 'decode iteration')} idle for {share(idle / span)} of their"
            f" device time, with {launches:,.0f} launches each.",
            why,
        ),
        action=action,
        confidence=0.8,
        verify="Record again: decode iterations replay a graph, and are shorter.",
        gain=ceiling(selection, idle, "idle time within these iterations", "idle_dispatch_ns"),
        shares=[one.inside_idle_ns / one.span_ns for one in eager if one.span_ns],
        limit=limit,
        evidence=(
            Evidence("idle within decode", idle / span, "ratio", limit),
            Evidence("launches of an iteration", float(launches), "count", MANY_LAUNCHES),
        ),
    )


def _range(sizes: Sequence[int]) -> str:
    return f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"


@rule("SV3", "Padded batches", _NEEDS, PADDING_RATIO)
def padding(selection: Selection) -> Advice | None:
    """Of the batches of a phase, more than {padding_ratio} is padding."""
    limit = PADDING_RATIO.of(selection.limits)
    known = [one for one in phases(selection) if (one.padding_ratio or 0.0) > limit]
    if not known:
        return None
    worst = max(known, key=lambda one: one.padding_ratio or 0.0)
    ratio = worst.padding_ratio or 0.0
    sizes = sorted({one.batch for one in worst.iterations if one.batch and one.padded})
    padded = sorted({one.padded for one in worst.iterations if one.padded})
    option = _SIZES.get(_engine(selection), "the captured sizes")
    return Advice(
        title="Batches are padded to captured sizes",
        said=(
            f"In {worst.name.lower()}, {share(ratio)} of the requests that ran are padding: batches"
            f" of {_range(sizes)} run as {_range(padded)}."
        ),
        action=f"Capture more sizes between {sizes[0]:,} and {padded[-1]:,}: {option}.",
        confidence=0.7,
        verify="Record again: less padding in the table of phases.",
        evidence=(Evidence("padding", ratio, "ratio", limit),),
    )


@rule("SV4", "Small decode batches", (*_NEEDS, BYTES), SMALL_BATCH, WEIGHTS_RATIO)
def small_batches(selection: Selection) -> Advice | None:
    """Most decode batches are smaller than {small_decode_batch} requests.

    And weights are more than {decode_weights_ratio} of the bytes that decode must read: further
    requests would share them.
    """
    decode, use = _of(selection, "decode"), selection.use.get("decode")
    if decode is None or use is None or use.mbu_ratio is None or use.weights_ratio is None:
        return None
    least = WEIGHTS_RATIO.of(selection.limits)
    limit = SMALL_BATCH.of(selection.limits)
    sizes = sorted(one.batch for one in decode.iterations if one.batch is not None)
    small = sum(size < limit for size in sizes)
    if use.weights_ratio <= least or 2 * small <= decode.count:
        return None
    return Advice(
        title="Decode reads all weights for few requests",
        said=(
            f"{small:,} of {plural(decode.count, 'decode iteration')} have fewer than {limit:g}"
            f" requests. Weights are {share(use.weights_ratio)} of the bytes that decode reads, at"
            f" {share(use.mbu_ratio)} of the bandwidth."
        ),
        action="Send more requests at once: they share the weights, so tokens/s grow with them.",
        confidence=0.7,
        verify="Record again: more generated tokens/s in the table of phases.",
        evidence=(
            Evidence("weights, of the bytes of decode", use.weights_ratio, "ratio", least),
            Evidence("median decode batch", float(median(sizes)), "count", limit),
        ),
    )


@rule("SV6", "Attention far from its bytes", (*_NEEDS, KEYS), KEYS_RATE, KEYS_TIME)
def slow_attention(selection: Selection) -> Advice | None:
    """Attention of decode reads keys and values below {attention_rate_ratio} of the bandwidth.

    Its kernel takes more than {attention_time_ratio} of the device time of decode.
    """
    decode, use = _of(selection, "decode"), selection.use.get("decode")
    if decode is None or use is None or use.reads is None or not decode.span_ns:
        return None
    reads, part = use.reads, use.reads.ns / decode.span_ns
    limit, least = KEYS_RATE.of(selection.limits), KEYS_TIME.of(selection.limits)
    if reads.rate_ratio >= limit or part <= least:
        return None
    return Advice(
        title="Attention of decode reads far below the bandwidth",
        said=(
            f"`{reads.kernel}` takes {share(part)} of decode, and reads keys and values at"
            f" {share(reads.rate_ratio)} of the bandwidth."
        ),
        action="Try another attention backend of the engine, or one that splits long requests.",
        confidence=0.6,
        verify="Record again: attention is a smaller part of decode.",
        evidence=(
            Evidence("bandwidth of keys and values", reads.rate_ratio, "ratio", limit),
            Evidence("attention, of decode", part, "ratio", least),
        ),
    )


@rule(
    "SV7",
    "A blocking copy in each iteration",
    _NEEDS,
    COPY_RATIO,
    answers={"idle_blocking_ns", "idle_sync_ns"},
    remedies=WAITING_COPY_REMEDIES,
)
def copies_each_time(selection: Selection) -> Advice | None:
    """A device idles for more than {iteration_copy_ratio} under a copy that blocks the host.

    The copy comes in each iteration, at the same place. A first call is none, and neither is a copy
    in the head of the recording.

    Ceiling: that idle time.
    """
    held = each_iteration(selection)
    limit = COPY_RATIO.of(selection.limits)
    if held is None or selection.ratio(held.idle_ns) <= limit:
        return None
    place = whereabouts(held.place, held.name)
    device = the_device(selection)
    return Advice(
        title="A copy blocks the host in each iteration",
        said=(
            f"`{held.name}` blocks the host in each iteration{f', {place}' if place else ''}."
            f" {device} idles meanwhile, {share(selection.ratio(held.idle_ns))} of the time."
        ),
        headline=f"{device} idles while `{held.name}` blocks the host, for {{part}}.",
        confidence=0.85,
        verify="Record again: the call is shorter, or the next batch is launched before it.",
        gain=ceiling(selection, held.idle_ns, "idle time under this copy", "idle_blocking_ns"),
        shares=shares_of(selection, "idle_blocking_ns"),
        limit=limit,
        evidence=(
            Evidence("idle under it", selection.ratio(held.idle_ns), "ratio", limit),
            Evidence("calls", float(held.count), "count"),
        ),
        links=longest_held((held,)),
        frame=held.place.frame if held.place else "",
    )


@rule("SV5", "Prefill that stalls decode", _NEEDS, STALL_FACTOR)
def stalls(selection: Selection) -> Advice | None:
    """An iteration with prefill between decodes takes {prefill_stall_factor} median decode periods.

    Tokens of all running requests come so much later.
    """
    some = _whole(selection)
    decodes = [one.period_ns for one in some if one.phase == "decode" and one.period_ns]
    if len(decodes) < FEWEST:
        return None
    usual, factor = median(decodes), STALL_FACTOR.of(selection.limits)
    first = next(at for at, one in enumerate(some) if one.phase == "decode")
    last = max(at for at, one in enumerate(some) if one.phase == "decode")
    between = [
        one
        for one in some[first:last]
        if one.phase in ("prefill", "mixed") and (one.period_ns or 0) > factor * usual
    ]
    if not between:
        return None
    longest = max(between, key=lambda one: one.period_ns or 0)
    period = longest.period_ns or 0
    option = _CHUNKS.get(_engine(selection), "the size of a chunk")
    tokens = longest.context.tokens
    what = f" ({tokens:,} prompt tokens)" if tokens else ""
    return Advice(
        title="Prefill stalls decode",
        said=(
            f"The longest iteration with prefill{what} takes {duration(period)}, a decode iteration"
            f" {duration(usual)} (median): running requests get their next token so much later."
        ),
        action=f"Split prompts into smaller chunks: lower {option}.",
        confidence=0.7,
        verify="Record again: the longest period between two decodes is shorter.",
        evidence=(
            Evidence("longest period with prefill", float(period), "ns", factor * usual),
            Evidence("median decode period", float(usual), "ns"),
        ),
        links=(at_time("The longest of them", longest.start_ns, longest.span_ns),),
    )
