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
from ..wording import CAUSE_NAMES, the_device
from .claims import ceiling
from .rule import DEVICE_ACTIVITY, TIME, WHOLE, Advice, Need, Threshold, rule, sentences

FEWEST = 5  # iterations from which a typical one is told
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

    Of 5 iterations or more. A host that waits for requests holds nothing up.

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
