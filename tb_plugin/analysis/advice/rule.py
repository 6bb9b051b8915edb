"""Rules of advice: their form, their needs, and the way from an answer to a finding.

A rule is a function over the facts of chosen steps that returns ``Advice`` or None. ``rule`` and
``pattern_rule`` register it with its id, title, inputs and thresholds; its docstring is its row in
docs/findings.md: when it fires, and after ``Ceiling:`` what it claims. ``check_all`` asks all.

A user's file may replace thresholds. It is JSON, an object from their names to numbers, named by
the environment variable ``KINETOSCOPE_THRESHOLDS`` or given to a command:

    {"loader_ratio": 0.02, "python_ratio": 0.2}
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct, structs
from msgspec.structs import replace

from ...base.errors import QueryError
from ...trace.model import is_of_other_recorder
from ...trace.recipes import ALLOCATIONS, FRAMES, Option, is_before, with_option
from ...trace.recipes import SHAPES as INPUT_SHAPES
from ..accelerator import how_to_record
from ..facts import DeviceFacts, Facts
from ..findings import Evidence, Finding, Gain, Reference, SeenEvent, Severity, Unchecked
from ..recording import CLOCK_COUNTERS
from ..steps import Limits, Selection
from ..wording import as_recorded, of_step, scope, whole_of
from .claims import (
    Seen,
    count_of,
    events_of,
    gain_of,
    is_noise,
    patterns,
    share_of,
    specific_first,
    with_shared,
)

COMPILE_DEVICES = ("GPU", "XPU")  # torch.compile has a back end for them
COMPILE_DOCS = "https://docs.pytorch.org/docs/stable/generated/torch.compile.html"
GRAPH_DOCS = "https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html"
COMPUTES = ("compute_ns",)  # what rules on kernels answer
SCHEDULE_DOCS = "https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule"
TUNING_DOCS = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"


class Need(Struct, frozen=True):
    """An input of a rule. ``text`` names the missing data and the option that records it.

    ``name`` is what is missing alone, where ``text`` says more that holds for torch.profiler only.
    """

    text: str | Callable[[Selection], str]
    met: Callable[[Selection], bool]
    lasting: bool = False  # no other recording of this run has it
    name: str = ""

    def said(self, selection: Selection) -> str:
        """Data that this recording lacks."""
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


def is_older(selection: Selection, first: str) -> bool:
    """True if the torch that recorded is known to be older than an era of the format."""
    return is_before(selection.facts.torch_era, first)


# Eras that begin with a version of torch.
TORCH_1_11, TORCH_2_0, TORCH_2_4, TORCH_2_12 = "D", "E", "F1", "G-py"


def given(remedy: Remedy, *facts: Fact) -> Remedy:
    """The same remedy for a rule that asks for further facts."""
    return replace(remedy, facts=(*facts, *remedy.facts))


def remedy_of(remedies: tuple[Remedy, ...], selection: Selection) -> Remedy:
    """The first remedy whose facts all hold, or None."""
    return next((one for one in remedies if applies(one, selection)), Remedy("", ()))


def applies(remedy: Remedy, selection: Selection) -> bool:
    """True if all facts of a remedy hold."""
    return all(fact.holds(selection) for fact in remedy.facts)


def from_2_0(selection: Selection) -> str:
    """Prefix of remedies that need torch 2.0, where the recording's torch is older."""
    return "from torch 2.0 on, " if is_older(selection, TORCH_2_0) else ""


TRAINS = Fact("autograd ran", lambda chosen: chosen.facts.traits.backward)


# --- thresholds -----------------------------------------------------------------------------------

VARIABLE = "KINETOSCOPE_THRESHOLDS"
MOST_BYTES = 1 << 20
_HINT = 'a file of thresholds looks like {"loader_ratio": 0.02}; docs/findings.md lists the names'


class Threshold(Struct, frozen=True):
    """A limit of a rule. A ratio is a share of the time of the chosen steps unless said."""

    name: str  # ends with its unit: "loader_ratio", "small_message_count"
    value: float
    meaning: str

    def of(self, limits: Limits) -> float:
        """Its value, where no user replaces it."""
        return limits.get(self.name, self.value)


HIGH_RATIO = Threshold("high_ratio", 0.15, "a ceiling from this on is of high severity …")
MEDIUM_RATIO = Threshold("medium_ratio", 0.05, "… of medium severity …")
LOW_RATIO = Threshold("low_ratio", 0.01, "… of low severity, below it only information")
OF_SEVERITY = (HIGH_RATIO, MEDIUM_RATIO, LOW_RATIO)


def all_thresholds() -> dict[str, Threshold]:
    """Those of severity and of every rule, by name."""
    return {one.name: one for one in (*OF_SEVERITY, *(t for r in RULES for t in r.thresholds))}


def read_thresholds(path: str) -> Limits:
    """The thresholds that a file replaces.

    Raises:
        QueryError: the file cannot be read, is no such object, or has an unknown name or a value
            that is no number above zero; names the file and the place.
    """
    try:
        with Path(path).open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise QueryError(f"{path}: {error.strerror or error}", hint=_HINT) from error
    if len(text) > MOST_BYTES:
        raise QueryError(f"{path}: too large for a file of thresholds", hint=_HINT)
    fields = [(name, float, 1.0) for name in all_thresholds()]
    form = msgspec.defstruct("Thresholds", fields, forbid_unknown_fields=True)
    try:
        msgspec.json.decode(text, type=form)
        found = msgspec.json.decode(text, type=dict[str, float])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise QueryError(f"{path}: {error}", hint=_HINT) from error
    for name, value in found.items():
        if not 0 < value < 1e18:
            raise QueryError(f"{path}: {name} is {value}, not a number above 0", hint=_HINT)
    return found


def thresholds() -> Limits:
    """Those of the file that the environment names.

    Raises:
        QueryError: as ``read_thresholds``.
    """
    path = os.environ.get(VARIABLE, "")
    return read_thresholds(path) if path else {}


def thresholds_version() -> str:
    """A text that changes with the file that the environment names; "" without one."""
    path = os.environ.get(VARIABLE, "")
    try:
        found = Path(path).stat() if path else None
    except OSError:
        found = None
    return f"{path} {found.st_mtime_ns} {found.st_size}" if found else path


# --- rules ----------------------------------------------------------------------------------------


class Advice(Struct, frozen=True):
    """Answer of a rule; the rest of its finding follows from the rule and the patterns."""

    title: str
    said: str  # the evidence, with number and scope, and the cause
    confidence: float
    verify: str
    action: str = ""  # "": that of the remedy
    remedy: Remedy | None = None  # None: the first of the rule whose facts hold
    snippet: str = ""
    gain: Gain | None = None
    method: str = ""  # of a rule on patterns: how their ceiling is formed …
    scale: float = 1.0  # … and the part of the claimed time that it is
    severity: Severity | None = None  # None: by the ceiling …
    otherwise: Severity = "low"  # … or this, where nothing is claimed
    shares: Sequence[float] = ()  # its figure in each step …
    limit: float = 0.0  # … and what that is compared with
    evidence: tuple[Evidence, ...] = ()
    links: tuple[Reference, ...] = ()
    events: tuple[SeenEvent, ...] = ()
    scope: str = ""  # "": the chosen steps and device
    frame: str = ""
    headline: str = ""  # see ``Finding``


Check = Callable[[Selection], Advice | None]
Wording = Callable[[Selection, Seen], Advice | None]


class Rule(Struct, frozen=True):
    """One piece of advice and the condition for it. ``title`` names the condition.

    ``answers`` are the causes that the sentence on top may blame and this rule speaks of: fields of
    Partition and HostPartition, as ``headline`` names them.
    """

    id: str
    title: str
    needs: tuple[Need, ...]
    thresholds: tuple[Threshold, ...]
    check: Check
    answers: frozenset[str]
    remedies: tuple[Remedy, ...]
    theoretical: bool  # its ceiling is what a device could do, not time that was seen to be lost
    general: bool  # it says that time passes; a rule that says why comes before it
    text: str  # its row in the docs


RULES: list[Rule] = []
"""All rules; each module of this folder adds its own."""


def rule(
    rule_id: str,
    title: str,
    needs: tuple[Need, ...],
    *limits: Threshold,
    answers: Iterable[str] = (),
    remedies: tuple[Remedy, ...] = (),
    theoretical: bool = False,
    general: bool = False,
) -> Callable[[Check], Check]:
    """Register the function that this decorates as a rule."""

    def register(check: Check) -> Check:
        text = check.__doc__ or ""
        known = frozenset(answers), remedies, theoretical, general, text
        RULES.append(Rule(rule_id, title, needs, limits, check, *known))
        return check

    return register


def pattern_rule(  # noqa: PLR0913  # each is one declared fact of a rule
    rule_id: str,
    title: str,
    needs: tuple[Need, ...],
    kinds: str | tuple[str, ...],
    *limits: Threshold,
    choose: Callable[[Seen], Seen] = tuple,
    measure: Callable[[Selection, Seen], float] = share_of,
    also: tuple[Threshold, ...] = (),
    answers: Iterable[str] = (),
    theoretical: bool = False,
    general: bool = False,
) -> Callable[[Wording], Wording]:
    """Register a rule on patterns of some kinds, worded by the function that this decorates.

    It fires where ``measure`` of those it chooses exceeds the first threshold, or without one where
    there are any, and the function has something to say: it looks at the thresholds ``also``.
    """

    def register(word: Wording) -> Wording:
        def check(selection: Selection) -> Advice | None:
            return on_patterns(selection, kinds, word, limits, choose, measure)

        check.__doc__ = word.__doc__
        add = partial(rule, answers=answers, theoretical=theoretical, general=general)
        add(rule_id, title, needs, *limits, *also)(check)
        return word

    return register


def on_patterns(
    selection: Selection,
    kinds: str | tuple[str, ...],
    word: Wording,
    limits: Sequence[Threshold],
    choose: Callable[[Seen], Seen] = tuple,
    measure: Callable[[Selection, Seen], float] = share_of,
) -> Advice | None:
    """Advice on patterns, with their ceiling, their longest events and their figures."""
    seen = choose(patterns(selection, *((kinds,) if isinstance(kinds, str) else kinds)))
    least = limits[0].of(selection.limits) if limits else 0.0
    if not seen or (limits and measure(selection, seen) <= least):
        return None
    advice = word(selection, seen)
    if advice is None:
        return None
    events = events_of(selection, seen)
    first = (structs.replace(events[0].link, text="Show the longest"),) if events else ()
    whole = f"share of the {whole_of(selection)}"
    return replace(
        advice,
        gain=gain_of(selection, seen, advice.method, advice.scale) if advice.method else None,
        limit=least,
        shares=[sum(parts) for parts in zip(*(one.shares for one in seen), strict=True)],
        evidence=(
            Evidence(whole, share_of(selection, seen), "ratio", least or None),
            Evidence("events", float(count_of(seen)), "count"),
            *advice.evidence,
        ),
        links=(*first, *advice.links),
        events=events,
        frame=seen[0].pattern.frame,
    )


def _finding(one: Rule, selection: Selection, advice: Advice) -> Finding:
    remedy = advice.remedy or remedy_of(one.remedies, selection)
    action = advice.action or remedy.text
    found = Finding(
        id=one.id,
        title=advice.title,
        severity=advice.severity
        or severity_of(
            selection, advice.gain, advice.otherwise, shares=advice.shares, limit=advice.limit
        ),
        confidence=advice.confidence,
        text=sentences(advice.said, action),
        snippet=advice.snippet or remedy.snippet,
        evidence=advice.evidence,
        gain=advice.gain,
        scope=advice.scope or scope(selection),
        links=(*advice.links, *remedy.links),
        verify=advice.verify,
        events=advice.events,
        action=action,
        frame=advice.frame,
        headline=advice.headline.replace("{part}", f"{{part}} {of_step(selection, advice.shares)}"),
        agreeing=sum(part > advice.limit for part in advice.shares),
    )
    return finding_as_recorded(found, selection.facts)


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
    if gain.ratio >= HIGH_RATIO.of(limits):
        severity = "high"
    elif gain.ratio >= MEDIUM_RATIO.of(limits):
        severity = "medium"
    elif gain.ratio >= LOW_RATIO.of(limits):
        severity = "low"
    loud = severity in ("high", "medium")
    return "low" if loud and is_noise(shares, limit) else severity


_ORDER = {"high": 0, "medium": 1, "low": 2, "info": 3}


def check_all(selection: Selection) -> tuple[tuple[Finding, ...], tuple[Unchecked, ...]]:
    """The findings of all rules, the most worthwhile first, and rules that could not run.

    Measured waste comes before what a device could do in theory, and causes before what is general.
    """
    ranked: list[tuple[bool, Finding]] = []
    unchecked: list[Unchecked] = []
    # Without its kernels a device seems to idle, and what is gained seen from it is not known.
    is_idle_unknown = "kernels" in selection.facts.unavailable and selection.partition is not None
    for one in () if selection.records_capture else RULES:
        need = missing(one, selection)
        advice = one.check(selection) if need is None else None
        if advice is not None and advice.gain is not None and is_idle_unknown:
            need, advice = DEVICE_ACTIVITY, None
        if need is not None:
            texts = (as_recorded(s, selection.facts) for s in (one.title, need.said(selection)))
            unchecked.append(Unchecked(one.id, *texts))
        elif advice is not None:
            ranked.append((one.theoretical, _finding(one, selection, advice)))
    findings = [finding for _, finding in sorted(ranked, key=_rank)]
    general = {one.id for one in RULES if one.general}
    findings = specific_first(selection, findings, general)
    return tuple(with_shared(selection, findings)), tuple(unchecked)


def _rank(ranked: tuple[bool, Finding]) -> tuple[bool, bool, int, float]:
    theoretical, one = ranked
    gain = one.gain.ratio if one.gain else 0.0
    return one.severity == "info", theoretical, _ORDER[one.severity], -gain


def finding_as_recorded(finding: Finding, facts: Facts) -> Finding:
    """A finding in the words for a recording without steps, where it has none."""
    gain = finding.gain
    names = ("title", "text", "headline", "action", "verify")
    return replace(
        finding,
        gain=gain and replace(gain, method=as_recorded(gain.method, facts)),
        **{name: as_recorded(getattr(finding, name), facts) for name in names},
    )


def missing(rule: Rule, selection: Selection) -> Need | None:
    """The missing need of a rule: one that no recording can meet comes before the first.

    What a device is asked for is not missing where there is none.
    """
    lacks = [need for need in rule.needs if not need.met(selection)]
    if not lacks or any(need in lacks for need in (TIME, WHOLE, DEVICE_ACTIVITY)):
        return lacks[0] if lacks else None
    return next((need for need in lacks if need.lasting), lacks[0])


def sentences(*parts: str) -> str:
    """Parts of a text, without the empty ones."""
    return " ".join(part for part in parts if part)


# --- inputs of rules ------------------------------------------------------------------------------

_NVIDIA = ("NVIDIA", "")  # or of an unknown vendor


def _device_activity(chosen: Selection) -> str:
    """Options that record the accelerator that the file names, or the run may have had."""
    facts = chosen.facts
    if why := facts.unavailable.get("kernels"):
        return f"kernels: {why.rstrip('.')}"
    if any(note.kind == "lost_kernels" for note in facts.health.notes):
        return "device activity: its recorder failed, or another tool used it"
    return f"device activity: {how_to_record(facts.recording.accelerator, facts.torch_era)}"


def _with(what: str, option: Option) -> Callable[[Selection], str]:
    """The missing data, and the option that records it."""
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
