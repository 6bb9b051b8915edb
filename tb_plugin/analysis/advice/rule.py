"""Rules of advice: each maps the facts of chosen steps to a finding, or to None.

Thresholds of the rules are in ``thresholds``; here are the inputs that rules need, each with the
recipe to record it, and what makes a finding's severity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import median
from ...base.units import share
from ...trace.model import is_of_other_recorder
from ...trace.recipes import ALLOCATIONS, FRAMES, Option, is_before, with_option
from ...trace.recipes import SHAPES as INPUT_SHAPES
from ..accelerator import how_to_record
from ..facts import DeviceFacts, Facts
from ..findings import (
    Explanation,
    Finding,
    Gain,
    Reference,
    Sentence,
    Severity,
    Unchecked,
)
from ..headline import CAPTURE, CUT, NOTHING
from ..recording import CLOCK_COUNTERS, OTHER_RECORDER
from ..steps import Selection, sigma_of
from ..thresholds import DEFAULTS
from ..wording import as_recorded

CAUSE_RATIO = 0.50  # of a device's idle time: what makes so much of it is its cause
NAMED_RATIO = 0.10  # of a device's idle time: names that hold less are not said
MANY_LAUNCHES = 20  # per step: short stretches of idle time that make a launch-bound run
HELD_RATIO = 0.90  # of the highest allocated total: what is never given back was taken beforehand
NCCL_CAPABILITY = (3, 5)
TENSOR_CORE_CAPABILITY = 7
BFLOAT_CAPABILITY = (8, 0)
COMPILE_DEVICES = ("GPU", "XPU")  # torch.compile has a back end for them


class Need(Struct, frozen=True):
    """An input of a rule. ``text`` names what is missing, and how torch.profiler records it.

    ``name`` is what is missing alone, where ``text`` says more that holds for torch.profiler only.
    """

    text: str | Callable[[Selection], str]
    met: Callable[[Selection], bool]
    lasting: bool = False  # no other recording of this run has it
    name: str = ""

    def said(self, selection: Selection) -> str:
        """What is missing of this recording."""
        if self.name and is_of_other_recorder(selection.facts.torch_era):
            return self.name
        return self.text if isinstance(self.text, str) else self.text(selection)


class Fact(Struct, frozen=True):
    """A condition of a remedy. ``text`` states it."""

    text: str
    holds: Callable[[Selection], bool]


class Remedy(Struct, frozen=True):
    """A step that a rule may advise, and the facts it requires.

    Where a rule has several, the first whose facts hold is given.
    """

    text: str
    facts: tuple[Fact, ...]
    snippet: str = ""
    links: tuple[Reference, ...] = ()


NO_REMEDY = Remedy("", ())


def is_older(selection: Selection, first: str) -> bool:
    """True if the torch that recorded is known to be older than an era of the format."""
    return is_before(selection.facts.torch_era, first)


# Eras that begin with a version of torch.
TORCH_1_11, TORCH_2_0, TORCH_2_4, TORCH_2_12 = "D", "E", "F1", "G-py"


def given(remedy: Remedy, *facts: Fact) -> Remedy:
    """The same remedy for a rule that asks for further facts."""
    return replace(remedy, facts=(*facts, *remedy.facts))


class Rule(Struct, frozen=True):
    """One piece of advice and the condition for it. ``title`` names the condition.

    ``answers`` are the causes that the sentence on top may blame and this rule speaks of: fields of
    Partition and HostPartition, as ``headline`` names them.
    """

    id: str
    title: str
    needs: tuple[Need, ...]
    check: Callable[[Selection], Finding | None]
    answers: frozenset[str] = frozenset()
    remedies: tuple[Remedy, ...] = ()


def remedy_of(remedies: tuple[Remedy, ...], selection: Selection) -> Remedy:
    """The first remedy whose facts all hold, or None."""
    return next((one for one in remedies if applies(one, selection)), NO_REMEDY)


def applies(remedy: Remedy, selection: Selection) -> bool:
    """Whether all facts of a remedy hold."""
    return all(fact.holds(selection) for fact in remedy.facts)


def severity_of(
    selection: Selection,
    gain: Gain | None,
    otherwise: Severity = "info",
    *,
    shares: Sequence[float] = (),
    limit: float = 0.0,
) -> Severity:
    """The severity of a finding by its gain ceiling, or ``otherwise`` where none can be formed.

    ``shares`` are the rule's figure in each step and ``limit`` its threshold: a share that varies
    more from step to step than it exceeds the threshold is of low severity at most.
    """
    if gain is None:
        return otherwise
    limits = selection.limits
    severity: Severity = "info"
    if gain.ratio >= limits.high_ratio:
        severity = "high"
    elif gain.ratio >= limits.medium_ratio:
        severity = "medium"
    elif gain.ratio >= limits.low_ratio:
        severity = "low"
    loud = severity in ("high", "medium")
    return "low" if loud and is_noise(shares, limit) else severity


LEAST_STEPS = 4
"""Steps from which the noise of a share is told."""


def is_noise(shares: Sequence[float], limit: float) -> bool:
    """True if the middle of the shares exceeds the limit by less than one deviation."""
    if len(shares) < LEAST_STEPS:
        return False
    return median(shares) - limit < sigma_of(shares)


def ceiling(selection: Selection, total_ns: float, method: str, *claims: str) -> Gain | None:
    """A gain of ``total_ns`` over the chosen steps; None where there is nothing to gain."""
    if total_ns <= 0:
        return None
    return Gain(
        ns_per_step=selection.mean(total_ns),
        ratio=selection.ratio(total_ns),
        method=method,
        claims=claims,
    )


def sentences(*parts: str) -> str:
    """Parts of a text, without the empty ones."""
    return " ".join(part for part in parts if part)


_NVIDIA = ("NVIDIA", "")  # or of an unknown vendor


def _device_activity(chosen: Selection) -> str:
    """How to record the accelerator that the file names, or the one that the run may have had."""
    facts = chosen.facts
    if why := facts.unavailable.get("kernels"):
        return f"kernels: {why.rstrip('.')}"
    if any(note.kind == "lost_kernels" for note in facts.health.notes):
        return "device activity: its recorder failed, or another tool used it"
    return f"device activity: {how_to_record(facts.recording.accelerator, facts.torch_era)}"


def _with(what: str, option: Option) -> Callable[[Selection], str]:
    """What is missing, and the option that records it."""
    return lambda chosen: f"{what}: {with_option(option, chosen.facts.torch_era)}"


def _clocks(chosen: Selection) -> str:
    return _samples(chosen, "the device's clock", CLOCK_COUNTERS)


def _traffic(chosen: Selection) -> str:
    option = "Cuspy's `PerformanceMetricsConfig`, from torch 2.15 on"
    return _samples(chosen, "memory traffic and of active multiprocessors", option)


def _samples(chosen: Selection, what: str, option: str) -> str:
    """Samples that Cuspy takes, of NVIDIA's devices alone."""
    device = chosen.device_facts
    if device is not None and device.vendor not in _NVIDIA:
        return f"samples of {what}, of which only those of NVIDIA's devices are known"
    return f"samples of {what}: record with {option}"


def _any_used(chosen: Selection, holds: Callable[[DeviceFacts], object]) -> bool:
    return any(device.used and holds(device) for device in chosen.facts.devices)


TIME = Need("events that last: the file holds none", lambda chosen: bool(chosen.facts.steps))
WHOLE = Need(
    "all of the recording: what is missing could change the answer. The file ends in the middle, "
    "or a chosen step was cut off",
    lambda chosen: not chosen.cut,
)
DEVICE_ACTIVITY = Need(
    _device_activity,
    lambda chosen: _any_used(chosen, lambda _: True) and "kernels" not in chosen.facts.unavailable,
    name="device activity",
)
OPS = Need(
    "ops: record with `activities=[ProfilerActivity.CPU, …]`",
    lambda chosen: chosen.facts.counts.get("op", 0) > 0,
    name="ops",
)
CALLS = Need(
    "ops, or calls of the runtime: record with `activities=[ProfilerActivity.CPU, …]`",
    lambda chosen: chosen.facts.counts.get("op", 0) + chosen.facts.counts.get("runtime", 0) > 0,
    name="ops, or calls of the runtime",
)
HOST_RANGES = Need(
    "ops or annotations: record with `activities=[ProfilerActivity.CPU, …]`",
    lambda chosen: chosen.facts.counts.get("op", 0) + chosen.facts.counts.get("annotation", 0) > 0,
    name="ops or annotations",
)
STACKS = Need(
    _with("Python frames", FRAMES),
    lambda chosen: chosen.facts.counts.get("python", 0) > 0,
    name="Python frames",
)
SHAPES = Need(
    _with("shapes of inputs", INPUT_SHAPES),
    lambda chosen: chosen.facts.recording.shapes or chosen.facts.recording.record_shapes,
    name="shapes of inputs",
)
GRIDS = Need(
    "launch geometry of kernels, which this recorder does not write",
    lambda chosen: chosen.facts.recording.grids,
    lasting=True,
)
PEAKS = Need(
    "the peak rates of the device: its data sheet is not in the table",
    lambda chosen: chosen.device_facts is not None and chosen.device_facts.has_peak,
    lasting=True,
)
COLLECTIVES = Need(
    "sizes of messages beside the kernels of collectives, which this recorder does not write",
    # Without any collective there is nothing to ask.
    lambda chosen: chosen.facts.recording.messages or not chosen.facts.traits.collective_ns,
    lasting=True,
)
MODULES = Need(
    _with("Python frames", FRAMES),  # the calls of modules come with them
    lambda chosen: chosen.facts.counts.get("module", 0) + chosen.facts.counts.get("python", 0) > 0,
    name="Python frames",
)
THREADS = Need(
    "the number of threads and of cores: record with the handler of kinetoscope",
    lambda chosen: bool(chosen.facts.recording.threads and chosen.facts.recording.cores),
    name="the number of threads and of cores",
)
KERNELS_OF_OPS = Need(
    "kernels linked to the ops that launched them: record host and device together",
    lambda chosen: any(
        one.gauges.op_kernel_ns or one.gap.op_kernel_ns
        for step in chosen.facts.steps
        for one in step.devices
    ),
)
CAPABILITY = Need(
    "the compute capability of the device, which the file does not say",
    # That of NVIDIA's alone is asked for.
    lambda chosen: _any_used(chosen, lambda one: one.capability or one.vendor not in _NVIDIA),
    lasting=True,
)
TRAFFIC = Need(
    _traffic,
    lambda chosen: _any_used(
        chosen, lambda one: {"dram", "sm_active"} <= {counter.kind for counter in one.counters}
    ),
    name="samples of memory traffic and of active multiprocessors",
)
CLOCKS = Need(
    _clocks,
    lambda chosen: chosen.facts.recording.clocks,
    name="samples of the device's clock",
)
MEMORY_TOTALS = Need(
    _with("totals of the device's allocator", ALLOCATIONS),
    lambda chosen: any(device.peak_allocated_bytes is not None for device in chosen.facts.devices),
    name="totals of the device's allocator",
)
MEMORY_EVENTS = Need(
    _with("allocator events, in four steps or more", ALLOCATIONS),
    lambda chosen: chosen.facts.counts.get("memory", 0) > 0 and len(chosen.facts.steps) >= 4,
    name="allocator events, in four steps or more",
)
CAPACITY = Need(
    "the memory size of the device, which the file does not say",
    lambda chosen: _any_used(chosen, lambda one: one.memory_bytes),
    lasting=True,
)
# --- all rules ----------------------------------------------------------------------------

_ORDER = {"high": 0, "medium": 1, "low": 2, "info": 3}


def check_each(
    rules: Iterable[Rule], selection: Selection
) -> tuple[list[Finding], tuple[Unchecked, ...]]:
    """The findings of the rules in order of rank, and rules that could not run."""
    findings: list[Finding] = []
    unchecked: list[Unchecked] = []
    # Without its kernels a device seems to idle, and what is gained seen from it is not known.
    is_idle_unknown = "kernels" in selection.facts.unavailable and selection.partition is not None
    for rule in rules:
        need = missing(rule, selection)
        finding = rule.check(selection) if need is None else None
        if finding is not None and finding.gain is not None and is_idle_unknown:
            need, finding = DEVICE_ACTIVITY, None
        if need is not None:
            title = as_recorded(rule.title, selection.facts)
            unchecked.append(Unchecked(rule.id, title, need.said(selection)))
        elif finding is not None:
            findings.append(_as_recorded(finding, selection.facts))
    findings.sort(key=_rank)
    return findings, tuple(unchecked)


def _as_recorded(finding: Finding, facts: Facts) -> Finding:
    """A finding in the words for a recording without steps, where it has none."""
    gain = finding.gain
    names = ("title", "text", "headline", "action", "verify")
    return replace(
        finding,
        gain=gain and replace(gain, method=as_recorded(gain.method, facts)),
        **{name: as_recorded(getattr(finding, name), facts) for name in names},
    )


def missing(rule: Rule, selection: Selection) -> Need | None:
    """What a rule lacks: of several the one without which no other recording helps, else the first.

    What a device is asked for is not missing where there is none.
    """
    lacks = [need for need in rule.needs if not need.met(selection)]
    if not lacks or any(need in lacks for need in (TIME, WHOLE, DEVICE_ACTIVITY)):
        return lacks[0] if lacks else None
    return next((need for need in lacks if need.lasting), lacks[0])


def unanswered(
    rules: Iterable[Rule], selection: Selection, said: Sentence, findings: tuple[Finding, ...]
) -> Explanation | None:
    """Why the cause in the headline has no finding, and where to look; None where it has one."""
    answering = {rule.id for rule in rules if said.cause in {*rule.answers, rule.id}}
    if any(finding.id in answering for finding in findings):
        return None
    why: Explanation | None
    if said.cause in (CUT, "uninstrumented_ns"):
        why = _cut() if said.cause == CUT else _uninstrumented(selection)
    else:
        why = _UNANSWERED.get(said.cause, _IDLE_IS_SMALL) if said.cause else None
    if why is not None and why.links == _TRACE and selection.facts.step_source == "whole_trace":
        return replace(why, links=_WHOLE_TRACE)
    return why


_KERNELS = (Reference("The longest kernels", "kernels"),)
_OPERATORS = (Reference("The longest operators", "operators"),)
_TRACE = (Reference("These steps in the trace", "timeline"),)
_WHOLE_TRACE = (Reference("The recording in the trace", "timeline"),)
_COMPUTES = Explanation(
    "The host computes: no rule that could be checked finds a cause in its operators.", _OPERATORS
)
_COMMUNICATES = Explanation(
    f"The rule on communication asks for more than {share(DEFAULTS.communication_ratio)} of the "
    "time, with nothing else running.",
    _TRACE,
)
_LOADS = Explanation(
    f"The rule on the DataLoader asks for more than {share(DEFAULTS.loader_ratio)} of the time, "
    "with nothing else running.",
    _TRACE,
)
_IDLE_IS_SMALL = Explanation(
    f"The rule on idle devices asks for {share(DEFAULTS.idle_ratio)} of the time, apart from the "
    "DataLoader.",
    _TRACE,
)
_UNANSWERED: Mapping[str, Explanation | None] = {
    NOTHING: None,
    CAPTURE: Explanation(
        "Capturing a graph happens once. To see how the device is used, record steps that replay "
        "it.",
        _TRACE,
    ),
    "compute_ns": Explanation(
        "The device works most of the time: what is left to gain is in its kernels.", _KERNELS
    ),
    "forward_ns": _COMPUTES,
    "backward_ns": _COMPUTES,
    "optimizer_ns": _COMPUTES,
    "runtime_ns": Explanation(
        "The host calls the runtime: no rule that could be checked says why.", _OPERATORS
    ),
    "python_ns": Explanation(
        "The host runs Python: no rule that could be checked finds a cause in it.", _OPERATORS
    ),
    "compile_ns": Explanation(
        "Code is compiled when it first runs, or when shapes change: run some steps before the "
        "recording starts.",
        _TRACE,
    ),
    "exposed_communication_ns": _COMMUNICATES,
    "communication_ns": _COMMUNICATES,
    "idle_dataloader_ns": _LOADS,
    "dataloader_ns": _LOADS,
}


def _cut() -> Explanation:
    return Explanation(
        "What is missing could be the cause of anything: rules on times were not checked. Record "
        "again, or copy the whole file.",
        (Reference("Where it ends", "health"),),
    )


def _uninstrumented(selection: Selection) -> Explanation:
    if selection.facts.counts.get("python", 0):
        text = "Neither ops nor Python frames were recorded on this thread in that time."
    elif is_of_other_recorder(selection.facts.torch_era):
        text = f"{OTHER_RECORDER}: Trace shows its events."
    else:
        how = with_option(FRAMES, selection.facts.torch_era)
        text = f"To see the Python that ran there: {how}."
    return Explanation(text, _TRACE)


def _rank(finding: Finding) -> tuple[int, float]:
    return _ORDER[finding.severity], -(finding.gain.ratio if finding.gain else 0.0)
