"""What should be done about a run of several ranks? Findings of the set of recordings.

CO3: many small messages take a large part of the time of collectives.
CO4: a group's links are much slower than those of others.
CO5: a rank, or all ranks of a node, make the others wait by their own work.
EP1: experts get unequal parts.
PP1: the stages of a pipeline stand idle for longer than they must.

Each has its preconditions: where they do not hold the rule is *unchecked*, with what it needs.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs

from ...base.units import duration, listing, plural, share, size, times
from ..advice.distributed import SMALL_MESSAGE_COUNT, SMALL_MESSAGE_RATIO
from ..advice.rule import thresholds
from ..findings import Evidence, Finding, Gain, RanksSaid, Reference, Severity, Unchecked
from ..wording import fraction
from .bandwidth import IMBALANCED, SLOW_LINK, SMALL_BYTES
from .comparison import Comparison
from .lateness.own_time import LEAST_GAIN
from .pipeline import BUBBLE_FACTOR

HIGH, MEDIUM, LOW = 0.15, 0.05, 0.01

_ACTIONS = {
    "slower_kernels": "Compare clocks, power and temperature of its device with the others'{}.",
    "more_work": "Give it an equal share: compare its batch, its sequence lengths and its part of "
    "the model.",
    "host": "Look at what its host does there: other programs, garbage collection, logging, work "
    "that only this rank does.",
    "copies": "Look at what only this rank copies, and whether its memory is pinned.",
    "input": "Look at its DataLoader: the storage it reads from, its workers, its shard of the "
    "data.",
    "blocking_calls": "Remove what makes its host wait for the device: `.item()`, `.cpu()`, "
    "printing, allocations in the loop.",
    "launches": "Look at the host it runs on: pinning to cores, other programs, its driver.",
}


# By the vendor of the devices; of others no command is known.
_CLOCKS = {
    "NVIDIA": " (`nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE`)",
    "AMD": " (`rocm-smi --showclocks --showpower --showtemp`)",
}
_TOPOLOGY = {"NVIDIA": "`nvidia-smi topo -m`, ", "AMD": "`rocm-smi --showtopo`, "}
_NCCL_LOG = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH,NET"


class RunFindings(Struct, frozen=True):
    """The findings of a run, and the rules that could not be checked."""

    found: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]


def findings(run: Comparison) -> RunFindings:
    """All findings of a run, the largest gain first."""
    length = mean_step_ns(run)
    results = (
        _straggler(run, length),
        _small_messages(run, length),
        *_slow_links(run, length),
        *_imbalance(run, length),
        *_bubbles(run, length),
    )
    found = [one for one in results if isinstance(one, Finding)]
    found.sort(key=lambda one: -(one.gain.ns_per_step if one.gain else 0))
    return RunFindings(tuple(found), tuple(one for one in results if isinstance(one, Unchecked)))


def among_ranks(run: Comparison, row: int, waiting: int = 0) -> RanksSaid:
    """Findings of all ranks on lateness, for the recording at a row; ``waiting`` are unread."""
    if waiting:
        there = plural(waiting, "rank")
        text = f"Whether a rank is late is unknown: the recordings of {there} were not compared."
        return RanksSaid(text)
    length, said = mean_step_ns(run), run.verdict
    found = _straggler(run, length)
    if not isinstance(found, Finding) or length <= 0:
        return RanksSaid(f"{said.sentence.partition('. ')[0].rstrip('.')}.")
    steps = run.digests[row].steps
    chosen = steps.excluded == 0
    mine = steps.length_ns[chosen]
    waited = float(run.waiting.waiting_ns[row][chosen].mean()) if len(mine) else 0.0
    gain, is_late = found.gain, row in said.members
    if is_late or gain is None or not len(mine):
        gain = None  # the others would gain it
    else:
        ns = min(gain.ns_per_step, waited)
        on_device = any(one.used for one in run.digests[row].devices)
        claims = ("exposed_communication_ns" if on_device else "communication_ns",)
        gain = Gain(ns, ns / float(mine.mean()), gain.method, claims)
    cost = said.ceiling_ns / length
    # Of this recording's own mean step, as every other share beside it.
    own = said.ceiling_ns / float(mine.mean()) if len(mine) else cost
    headline = f"{found.title} for {fraction(own)} of the mean step."
    typical = said.kind != "some_steps" and 2 * said.since <= len(run.step_numbers)
    late = structs.replace(
        found,
        severity=_severity(found.gain if is_late else gain),
        gain=gain,
        headline=headline,
        agreeing=int(chosen.sum()),
    )
    return RanksSaid(headline, late, typical and cost >= HIGH, waited)


def mean_step_ns(run: Comparison) -> float:
    """The mean length of the steps that are not left out, over all ranks; 0 without any."""
    spans = [
        (one.steps.end_ns - one.steps.start_ns)[one.steps.excluded == 0] for one in run.digests
    ]
    known = np.concatenate(spans) if spans else np.zeros(0)
    return float(known.mean()) if len(known) else 0.0


def _severity(gain: Gain | None) -> Severity:
    if gain is None or gain.ratio < LOW:
        return "info"
    return "high" if gain.ratio >= HIGH else "medium" if gain.ratio >= MEDIUM else "low"


def _gain(ns: float, length: float, method: str) -> Gain | None:
    if ns <= 0 or length <= 0:
        return None
    return Gain(ns, ns / length, method, ("exposed_communication_ns",))


def _scope(run: Comparison) -> str:
    there = f"{len(run.digests)} ranks"
    if run.missing:
        there = f"{len(run.digests)} of {run.world_size} ranks"
    noun = "iteration" if run.digests[0].step_source == "iteration" else "step"
    return f"{there}, {plural(len(run.step_numbers), noun)}"


def _view(text: str, **params: str) -> Reference:
    return Reference(text, "distributed", dict(params))


_UNCHECKED = {
    one.id: one
    for one in (
        Unchecked(
            "CO4", "Links slower than others",
            "the same operation and size in two groups or more, all within a node or all across "
            "nodes, with sizes",
        ),
        Unchecked(
            "EP1", "Unequal parts of an all-to-all",
            "all_to_all with the sizes of its parts, on all ranks of a group",
        ),
        Unchecked("PP1", "Bubble of the pipeline", "matched sends between its stages"),
    )
}  # fmt: skip
"""Needs of each rule on groups, shown where a run lacks them."""


class _Said(Struct, frozen=True):
    """The words of a finding about a group."""

    title: str
    text: str  # without the action
    action: str
    verify: str
    link: str
    snippet: str = ""


def _of_group(
    run: Comparison,
    rule: str,
    group: int,
    said: _Said,
    gain: Gain | None,
    evidence: Evidence,
    confidence: float,
) -> Finding:
    return Finding(
        id=rule,
        title=said.title,
        severity=_severity(gain),
        confidence=confidence,
        text=f"{said.text} {said.action}",
        snippet=said.snippet,
        evidence=(evidence,),
        gain=gain,
        scope=_scope(run),
        links=(_view(said.link, group=str(group)),),
        verify=said.verify,
        action=said.action,
    )


# --- CO5 ------------------------------------------------------------------------------------------


def _straggler(run: Comparison, length: float) -> Finding | Unchecked | None:
    said = run.verdict
    if said.kind == "unknown":
        needed = f"more steps, or ranks that share collectives. {said.sentence.rstrip('.')}"
        return Unchecked("CO5", "A rank that makes the others wait", needed)
    if not said.members:
        return None
    members = list(said.members)
    ranks = [run.rank(m) for m in members]
    who = f"Rank {ranks[0]}" if len(ranks) == 1 else f"Ranks {listing(list(map(str, ranks)))}"
    who = f"Node {run.nodes[said.node].name}" if said.node >= 0 else who
    make = "makes" if said.node >= 0 or len(ranks) == 1 else "make"
    cause = said.cause
    gain = (
        _gain(said.gain_ns, length, "the steps replayed without what it does beyond others")
        if said.gain_ns > 0  # of two ranks none is beyond the median
        else _gain(said.ceiling_ns, length, "time in which others were held for it alone")
    )
    others = np.setdiff1d(np.arange(len(run.digests)), members)
    own = run.replay.own
    evidence = [
        Evidence("collectives at which it was last", float(run.waiting.times_last[members].sum()),
                 "count", run.waiting.instances / 2),
        Evidence("waiting it caused",
                 float(run.waiting.blame_ns[np.ix_(np.array(members), others)].sum()), "ns"),
    ]  # fmt: skip
    if own is not None:
        mean = np.nansum(own.own_ns, axis=1) / np.maximum((~np.isnan(own.own_ns)).sum(axis=1), 1)
        evidence += [
            Evidence("own time per step", float(np.median(mean[members])), "ns",
                     float(np.median(mean[others]) * (1 + LEAST_GAIN))),
        ]  # fmt: skip
    action = _ACTIONS.get(cause.name, "") if cause is not None else ""
    action = action.format(_CLOCKS.get(_vendor(run), ""))
    if said.node >= 0:
        action = f"All of its ranks are late, so look at the machine first. {action}".strip()
    return Finding(
        id="CO5",
        title=f"{who} {make} the others wait",
        severity=_severity(gain),
        confidence=0.9 if said.gain_ns > 0 and said.kind != "some_steps" else 0.6,
        text=f"{said.sentence} {action}".strip(),
        snippet="",
        evidence=tuple(evidence),
        gain=gain,
        scope=_scope(run),
        links=(_view(f"Show {who[0].lower()}{who[1:]}", rank=str(ranks[0])),),
        verify="Record again: own times are alike.",
        action=action,
        frame=cause.line if cause is not None else "",
    )


def _vendor(run: Comparison) -> str:
    """The vendor of the devices that the ranks used; "" where unknown, or not one."""
    vendors = {device.vendor for one in run.digests for device in one.devices if device.used}
    return vendors.pop() if len(vendors) == 1 else ""


# --- CO4 ------------------------------------------------------------------------------------------


def _slow_links(run: Comparison, length: float) -> list[Finding | Unchecked]:
    if not run.bandwidth.links_compared:
        return [_UNCHECKED["CO4"]]
    found: list[Finding | Unchecked] = []
    for link in run.bandwidth.slow_links:
        shown = ", ".join(map(str, link.ranks[:8])) + (" …" if len(link.ranks) > 8 else "")
        # RCCL goes by the name of NCCL, and has its settings.
        by_nccl = "nccl" in (run.groups[link.group].backend or run.digests[0].backend)
        topology = _TOPOLOGY.get(_vendor(run), "") if by_nccl else ""
        others = "others of that size" + (" across nodes" if link.across else "")
        said = _Said(
            title=f"Slow links between ranks {shown}",
            text=(
                f"{link.count} {link.kind.replace('_', '-')} of {size(link.bytes)} moved "
                f"{link.bus_gbps:.3g} GB/s on the bus in the median, {others} "
                f"{link.usual_gbps:.3g} GB/s."
            ),
            action=f"Check the link between them: {topology}NIC errors and speed"
            f"{', and with `NCCL_DEBUG=INFO` over which path they talk' if by_nccl else ''}.",
            verify="Record again: its bandwidth is that of the other groups.",
            link="Bandwidth of the groups",
            snippet=_NCCL_LOG if by_nccl else "",
        )
        gain = _gain(link.extra_ns, length, "its transfers at the bandwidth of the others")
        beside = Evidence(
            "bus bandwidth beside that of other groups",
            link.bus_gbps / link.usual_gbps,
            "ratio",
            SLOW_LINK,
        )
        found.append(_of_group(run, "CO4", link.group, said, gain, beside, 0.7))
    return found


# --- CO3 ------------------------------------------------------------------------------------------


def _small_messages(run: Comparison, length: float) -> Finding | None:
    """As the rule of one recording, with its thresholds; here over all ranks."""
    small, limits = run.bandwidth.small, thresholds()
    most, often = SMALL_MESSAGE_RATIO.of(limits), SMALL_MESSAGE_COUNT.of(limits)
    if small.share <= most or small.count <= often:
        return None
    gain = _gain(small.exposed_ns, length, "their time in which nothing computes")
    action = (
        "Join tensors before they are sent; where DistributedDataParallel reduces gradients, "
        "larger buckets do so."
    )
    return Finding(
        id="CO3",
        title="Communication sends many small messages",
        severity=_severity(gain),
        confidence=0.7,
        text=f"{small.count:,} collectives of a rank and step are below {size(SMALL_BYTES)}, "
        f"{share(small.share)} of the time of all: each pays for its start. {action}",
        snippet="DistributedDataParallel(model, bucket_cap_mb=100)  # where it reduces gradients",
        evidence=(
            Evidence("small messages of a rank, per step", float(small.count), "count",
                     often),
            Evidence("of the time of collectives", small.share, "ratio",
                     most),
        ),
        gain=gain,
        scope=_scope(run),
        links=(_view("Bandwidth by size"),),
        verify="Record again: fewer collectives per step.",
        action=action,
    )  # fmt: skip


# --- EP1 ------------------------------------------------------------------------------------------


def _imbalance(run: Comparison, length: float) -> list[Finding | Unchecked]:
    if "all_to_all" not in run.matches.kind:
        return []
    if not run.bandwidth.imbalance:
        return [_UNCHECKED["EP1"]]
    found: list[Finding | Unchecked] = []
    for one in run.bandwidth.imbalance:
        if one.most_to_mean <= IMBALANCED:
            continue
        hot = f", most often rank {one.hot_rank}" if one.hot_rank >= 0 else ""
        said = _Said(
            title="Ranks get unequal parts of an all-to-all",
            text=(
                f"In the median of {one.instances} exchanges the busiest rank receives "
                f"{times(one.most_to_mean)} the mean{hot}, and all others wait for it."
            ),
            action="Where parts are tokens for experts, balance the router (auxiliary loss, bias, "
            "capacity factor), or spread busy experts over several ranks; where they are rows of "
            "sharded tables, spread the tables.",
            verify="Record again: the largest part is below 1.3 times the mean.",
            link="Parts of the exchange",
        )
        gain = _gain(one.expert_ns * (1 - 1 / one.most_to_mean), length,
                     "(most − mean) / most of the time of these exchanges")  # fmt: skip
        received = Evidence("most to mean received", one.most_to_mean, "ratio", IMBALANCED)
        found.append(_of_group(run, "EP1", one.group, said, gain, received, 0.8))
    return found


# --- PP1 ------------------------------------------------------------------------------------------


def _bubbles(run: Comparison, length: float) -> list[Finding | Unchecked]:
    """Of pipelines that wait too long, the worst; the others are counted."""
    pipelines = [one for one in run.pipelines if run.roles[one.group].role == "pipeline"]
    known = [one for one in pipelines if one.micro_batches]
    unknown = [_UNCHECKED["PP1"]] if len(known) < len(pipelines) else []
    means = {id(one): float(np.mean(one.bubble_share)) for one in known}
    long = [one for one in known if means[id(one)] > BUBBLE_FACTOR * one.theory]
    if not long:
        return [*unknown]
    one = max(long, key=lambda one: means[id(one)] - one.theory)
    mean = means[id(one)]
    others = (
        f" ({len(long)} of {len(pipelines)} pipelines; this is the worst)" if len(long) > 1 else ""
    )
    said = _Said(
        title="Stages of the pipeline stand idle",
        text=(
            f"The {len(one.stages)} stages stand idle for {share(mean)} of a step "
            f"({duration(mean * length)}), at its ends or waiting for one another; "
            f"{one.micro_batches} parts of the batch allow {share(one.theory)}{others}."
        ),
        action="More and smaller parts of the batch, or stages of equal length, shrink it.",
        verify="Record again: the bubble should be near the least that so many parts allow.",
        link="Stages of the pipeline",
    )
    gain = _gain((mean - one.theory) * length, length, "the bubble beyond (p − 1) / (m + p − 1)")
    bubble = Evidence("bubble", mean, "ratio", BUBBLE_FACTOR * one.theory)
    return [_of_group(run, "PP1", one.group, said, gain, bubble, 0.6), *unknown]
