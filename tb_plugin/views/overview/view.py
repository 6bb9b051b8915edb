"""Overview: where did the step's time go, and what to do about it (contract: the Structs)?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Struct, structs

from ...analysis.facts import IDLE_CAUSES, DeviceFacts, Facts, HostPartition, Partition
from ...analysis.findings import (
    Explanation,
    Finding,
    Lacking,
    RanksSaid,
    Reference,
    Said,
    Sentence,
    at_time,
    by_need,
)
from ...analysis.overview.utilization import measures
from ...analysis.recording import configuration
from ...analysis.serving.phases import iterations_are
from ...analysis.steps import Limits, Selection, outliers
from ...analysis.wording import StepNoun, device_name, longest_work, step_noun
from ...base.units import NBSP
from ..legend import (
    GAUGES,
    LegendEntry,
    core_words,
    cores_name,
    gauge_help,
)
from ..shared import BusiestDevice, Steps, as_structs
from ..table import Column, Table, column, heads, table_from
from ..view import Subject, View
from .document import AdviceDocument, advise
from .idle import PARTS, IdleFigure, IdleGap, figures_of, gaps_of
from .measured import Measured, measured_of, measured_tables
from .parts import (
    ToldParts,
    classic_parts,
    classic_total,
    is_overlap_known,
    missing_parts,
    part_ns,
    parts_of_step,
    parts_of_steps,
)
from .serving import Serving, chosen_of, serving_of, serving_tables


class OverviewQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The chosen steps and device."""

    steps: Steps = ""
    device: BusiestDevice = ""


class Share(Struct, frozen=True):
    """One part of a whole. ``key`` is the field name in Partition, Breakdown or HostPartition."""

    key: str
    label: str  # "Exposed copy"
    # Colour: compute | comm | memcpy | memset | runtime | loader | cpu | other. Phases of a step on
    # the host are lightness steps of cpu: cpu-light | cpu | cpu-deep | cpu-deepest.
    category: str
    ghost: bool  # True: the device was idle; the hue says what the host did meanwhile
    mean_ns: float
    ratio: float  # of the mean step
    help: str  # the definition, for the tooltip
    link: Reference | None = None  # the longest event or stretch of it, in the Trace view


class StepRow(Struct, frozen=True):
    """One step as the charts draw it. Values are exact integers that sum to ``dur_ns``.

    A part is a field of Breakdown, Partition or HostPartition. None: the recording cannot tell it,
    see ``missing``; what is left of a device without its kernels is ``unknown_ns``.
    """

    index: int
    number: int
    name: str
    dur_ns: int
    chosen: bool
    outlier: bool
    excluded: str | None
    breakdown: dict[str, int | None]
    partition: dict[str, int | None] | None  # of the chosen device
    host: dict[str, int | None] | None


class Ruler(Struct, frozen=True):
    """The mean of the chosen steps, part by part; the parts sum to the step."""

    title: str  # "Mean step on GPU 0"
    total_ns: int  # sum over the chosen steps: the exact proof
    step_count: int
    mean_ns: float
    shares: tuple[Share, ...]
    # Mean of compute, or of work of the main thread, under which it communicated; None: not known.
    overlap_ns: float | None
    busy_ns: float | None  # of the device; None: of the main thread, or without its kernels
    idle_ns: float | None


class Gauge(Struct, frozen=True):
    """One figure of the GPU summary. ``ratio`` None: not available, with the ``reason``."""

    key: str
    label: str
    ratio: float | None
    reason: str
    help: str


class DeviceCard(Struct, frozen=True):
    """One device and how well it was used; an unused device has no gauges."""

    index: int  # number shown
    row: int  # row of Facts.devices, for the query
    type: str  # "GPU"
    name: str
    memory_bytes: int | None
    capability: str | None  # "7.0"
    used: bool
    gauges: tuple[Gauge, ...]


class SummaryRow(Struct, frozen=True):
    """One category of the mean step; the first row is the step itself."""

    key: str
    label: str
    category: str
    mean_ns: float
    ratio: float
    help: str


class Configuration(Struct, frozen=True):
    """The setup of the recording: label → value, in order."""

    label: Annotated[str, column("What")]
    value: Annotated[str, column("Value", kind="words")]


class Overview(Struct, frozen=True):
    """The answer."""

    sentence: Sentence
    noun: StepNoun  # what is divided: steps, iterations of an engine, or the recording as a whole
    device_type: str  # "CPU" when no device activity was recorded
    device_row: int | None  # the device the ruler and the partitions show
    ruler: Ruler
    steps: tuple[StepRow, ...]  # all of them, chosen or not
    step_source: str  # "" or a sentence saying what stands for steps
    summary: tuple[SummaryRow, ...]  # the mean step by category; the first row is the step
    devices: tuple[DeviceCard, ...]
    gaps_columns: tuple[Column, ...]
    gaps: tuple[IdleGap, ...]  # the longest idle stretches of the chosen device, longest first
    figures: tuple[IdleFigure, ...]  # of its launches, copies and collectives
    measured: Measured | None  # by counters of the chosen device; None: see ``missing``
    serving: Serving | None  # phases of an inference engine; None: no such recording
    configuration: tuple[Configuration, ...]
    findings: tuple[Finding, ...]
    # Why what the sentence blames has no finding; None where it has one, or blames nothing.
    unanswered: Explanation | None
    unchecked: tuple[Lacking, ...]  # by what the recording lacks
    rule_count: int
    missing: dict[str, str]  # part of the page → "not available, because …, record with …"
    taints: tuple[str, ...]  # titles of health notes that touch these figures
    waiting: int  # other workers of its run that are not read yet: one of them may be late


_MISSING = ("steps", "devices", "counters")


def build(of: Subject | Facts, query: OverviewQuery) -> Overview:
    """The first screen, knowing the ranks that are read. Raises QueryError for a bad choice."""
    facts, ranks, waiting = _among_ranks(of, query.steps, read=False)
    selection, told = _told(of, query, ranks)
    of_step, classic = parts_of_step(selection), classic_parts(facts)
    return Overview(
        sentence=told.sentence,
        noun=step_noun(facts),
        device_type=facts.device_type,
        device_row=selection.device,
        ruler=_ruler(selection, of_step),
        steps=_step_rows(selection),
        step_source=_step_source(facts),
        summary=_summary(selection, classic),
        devices=tuple(_card(selection, row, one) for row, one in enumerate(facts.devices)),
        gaps_columns=heads(IdleGap, step_noun(facts)),
        gaps=gaps_of(selection),
        figures=figures_of(selection),
        measured=measured_of(selection),
        serving=serving_of(of, selection),
        configuration=tuple(Configuration(*row) for row in configuration(facts).items()),
        findings=told.findings,
        unanswered=told.unanswered,
        unchecked=by_need(told.unchecked),
        rule_count=told.rule_count,
        missing=_missing(facts, of_step, classic),
        taints=tuple(note.title for note in facts.health.costly if VIEW.stem in note.taints),
        waiting=waiting,
    )


def _among_ranks(
    of: Subject | Facts, steps: str, *, read: bool
) -> tuple[Facts, RanksSaid | None, int]:
    """The facts, lateness among all ranks of the run, and the number of ranks being read.

    Nothing is said of lateness where steps were chosen, or where the trace is alone.
    """
    if not isinstance(of, Subject):
        return of, None, 0
    if steps or of.recordings.own is None:
        return of.facts, None, 0
    from ...analysis.distributed.findings import among_ranks  # one trace alone needs none of it
    from ..compared import MOST_BESIDE, compared_beside

    found = compared_beside(of, read=read)
    if found is None:
        return of.facts, None, 0
    waiting = found.waiting if found.waiting <= MOST_BESIDE else 0
    own = of.recordings.own
    row = next((row for row, one in enumerate(found.workers) if one.place == own), -1)
    if not found.waiting and (row < 0 or not len(found.comparison.matches)):
        return of.facts, None, 0
    return of.facts, among_ranks(found.comparison, row, found.waiting), waiting


def _told(
    of: Subject | Facts, query: OverviewQuery, ranks: RanksSaid | None = None
) -> tuple[Selection, Said]:
    """The chosen steps and device, and the answer about them."""
    from ...analysis.advice.rule import thresholds  # an answer that was kept needs no rules
    from ...analysis.headline import verdict

    selection = chosen_of(of, query.steps, query.device, thresholds())
    return selection, verdict(selection, ranks)


def advice_on(of: Subject | Facts, steps: str, device: str, limits: Limits) -> AdviceDocument:
    """All advice for the chosen steps and device, with what this view says is not available.

    Other ranks of its run are read where they are few.

    Raises:
        QueryError: there are no such steps, or no such device.
    """
    facts, ranks, _ = _among_ranks(of, steps, read=True)
    selection = chosen_of(of, steps, device, limits)
    parts, noun = (parts_of_step(selection), classic_parts(facts)), step_noun(facts)
    missing = {_part_of_page(key, noun): why for key, why in _missing(facts, *parts).items()}
    return advise(selection, missing, ranks)


def _missing(facts: Facts, *divisions: ToldParts) -> dict[str, str]:
    found = {key: why for key, why in facts.unavailable.items() if key in _MISSING}
    parts = missing_parts(*divisions)
    return {**found, "parts": parts} if parts else found


def _ruler(selection: Selection, parts: ToldParts) -> Ruler:
    device = selection.device_facts
    total: Partition | HostPartition = selection.partition or selection.host or HostPartition()
    facts = selection.facts
    is_told = "kernels" not in facts.unavailable
    idle = total.idle_ns if isinstance(total, Partition) and is_told else None
    is_mean = (noun := step_noun(facts)) != "recording" and selection.count > 1
    mean = f"Mean {noun}" if is_mean else f"The {noun}"
    return Ruler(
        title=f"{mean} on {device_name(device) if device else 'the main thread'}",
        total_ns=selection.total_ns,
        step_count=selection.count,
        mean_ns=selection.mean(selection.total_ns),
        shares=_shares(selection, total, parts.shown, selection.total_ns),
        overlap_ns=selection.mean(total.overlap_ns) if is_overlap_known(selection) else None,
        busy_ns=selection.mean(selection.total_ns - idle) if idle is not None else None,
        idle_ns=selection.mean(idle) if idle is not None else None,
    )


def _shares(
    selection: Selection, total: Struct, parts: tuple[LegendEntry, ...], whole_ns: int
) -> tuple[Share, ...]:
    return tuple(
        Share(
            key=part.key,
            label=part.label,
            category=part.category,
            ghost=part.ghost,
            mean_ns=selection.mean(part_ns(total, part.key)),
            ratio=part_ns(total, part.key) / max(whole_ns, 1),
            help=part.help,
            link=_door(selection, total, part.key),
        )
        for part in parts
        if selection.facts.steps  # of a recording without time no part is known to be 0
    )


def _door(selection: Selection, total: Struct, key: str) -> Reference | None:
    """A link to the event that is most of a part, in the Trace view; None where unknown."""
    if not isinstance(total, Partition) or not getattr(total, key, 0):
        return None
    if key in IDLE_CAUSES:
        gaps = [one.gap for one in selection.gaps if one.cause == key]
        if gaps:
            return at_time("The longest gap of it in the trace", gaps[0].ts, gaps[0].dur_ns)
        held = selection.held_of(key)
        if not held:
            return None
        top = max(held, key=lambda one: one.longest.longest_ns)
        return at_time(f"The longest: {top.name}", top.longest.ts, top.longest.dur_ns)
    longest = longest_work(selection, key)
    if longest is None:
        return None
    return at_time("The longest of it in the trace", longest.ts, longest.dur_ns)


def _step_rows(selection: Selection) -> tuple[StepRow, ...]:
    chosen = set(selection.indexes)
    marks = outliers(selection.facts)
    return tuple(
        StepRow(
            index=step.index,
            number=step.number,
            name=step.name,
            dur_ns=step.dur_ns,
            chosen=step.index in chosen,
            outlier=marks[step.index],
            excluded=step.excluded,
            **parts._asdict(),
        )
        for step, parts in zip(selection.facts.steps, parts_of_steps(selection), strict=True)
    )


def _step_source(facts: Facts) -> str:
    if facts.step_source == "iteration":
        return iterations_are(facts)
    if facts.step_source == "annotation":
        return f"Steps are the ranges named `{facts.step_family}`."
    return facts.unavailable.get("steps", "")


_STEP_HELP = (
    "Mean of the chosen steps. Each begins at its mark, or where the work of the step before ends"
    " if that is later, and lasts until the last work that it launched has ended."
)
_RECORDING_HELP = "From the first event that lasts to the end of the last one."


def _summary(selection: Selection, parts: ToldParts) -> tuple[SummaryRow, ...]:
    noun = step_noun(selection.facts)
    whole_ns = sum(structs.astuple(classic := classic_total(selection)))
    whole = SummaryRow(
        key="step",
        label=noun.capitalize(),
        category="",
        mean_ns=selection.mean(whole_ns),
        ratio=1.0 if whole_ns else 0.0,
        help=_RECORDING_HELP if noun == "recording" else _STEP_HELP,
    )
    return (whole, *as_structs(SummaryRow, _shares(selection, classic, parts.shown, whole_ns)))


def _card(selection: Selection, row: int, device: DeviceFacts) -> DeviceCard:
    return DeviceCard(
        index=device.index,
        row=row,
        type=device.type,
        name=device.name,
        memory_bytes=device.memory_bytes,
        capability=".".join(map(str, device.capability)) if device.capability else None,
        used=device.used,
        gauges=_gauges(selection, row, device) if device.used else (),
    )


def _gauges(selection: Selection, row: int, device: DeviceFacts) -> tuple[Gauge, ...]:
    cores = cores_name([device])
    return tuple(
        Gauge(
            key=one.key,
            label=core_words(GAUGES[one.key][0], cores),
            ratio=one.ratio,
            reason=one.reason,
            help=core_words(gauge_help(one.key, selection.facts), cores),
        )
        for one in measures(selection, row)
    )


def tables(answer: Overview) -> tuple[Table, ...]:
    """Findings, the mean step in parts, every step in parts, the devices, the configuration."""
    found: tuple[Table, ...] = (
        _findings_table(answer),
        *(serving_tables(answer.serving) if answer.serving else ()),
        _ruler_table(answer),
        _breakdown_table(answer),
        *_idle_tables(answer),
        _devices_table(answer),
        *(measured_tables(answer.measured) if answer.measured else ()),
        _steps_table(answer),
        _configuration_table(answer),
        *((_missing_table(answer),) if answer.missing else ()),
    )
    if answer.unanswered is not None:
        why = (Column("text", "Why no finding says what to do", kind="text"),)
        found = (*found, Table("Without a finding", why, ((answer.unanswered.text,),)))
    return (*found, _unchecked_table(answer)) if answer.unchecked else found


def _idle_tables(answer: Overview) -> Iterator[Table]:
    if answer.gaps:
        yield table_from("Longest idle stretches", answer.gaps_columns, answer.gaps)
    if answer.figures:
        yield table_from("Launches, copies, collectives", heads(IdleFigure), answer.figures)


def _part_of_page(key: str, noun: str) -> str:
    return f"Parts of the {noun}" if key == "parts" else key.capitalize()


def _missing_table(answer: Overview) -> Table:
    columns = (Column("what", "What", kind="words"), Column("why", "Why", kind="text"))
    rows = tuple((_part_of_page(key, answer.noun), why) for key, why in answer.missing.items())
    return Table("Not available", columns, rows)


def _findings_table(answer: Overview) -> Table:
    columns = (
        Column("id", "Rule"),
        Column("severity", "Severity"),
        Column("title", "Finding", kind="words"),
        Column("gain_ratio", "Up to", f"Ceiling of what may be gained, of the {answer.noun}."),
        Column(
            "gain_ns", f"{'In the' if answer.noun == 'recording' else 'Per'} {answer.noun} (ns)"
        ),
        Column("text", "Evidence and action", kind="text"),
        Column("scope", "Seen in", kind="words", is_minor=True),
        Column("confidence", "Confidence", is_minor=True),
        Column("verify", "How to see that it worked", kind="text", is_minor=True),
        Column("snippet", "Code", kind="text", is_minor=True),
    )
    return table_from(
        "Findings",
        columns,
        answer.findings,
        gain_ratio=lambda one: one.gain.ratio if one.gain else None,
        gain_ns=lambda one: one.gain.ns_per_step if one.gain else None,
        snippet=lambda one: one.snippet or None,
    )


def _ruler_table(answer: Overview) -> Table:
    columns = (Column("part", "Part"), Column("mean_ns", "Mean (ns)"), Column("ratio", "Share"))
    rows = tuple((one.label, one.mean_ns, one.ratio) for one in answer.ruler.shares)
    whole = ("Sum", answer.ruler.mean_ns, 1.0 if answer.ruler.total_ns else 0.0)
    return Table(answer.ruler.title, columns, (*rows, whole))


def _breakdown_table(answer: Overview) -> Table:
    parts = answer.summary[1:]
    noun = answer.noun.capitalize()
    columns = (
        Column("step", noun),
        Column("dur_ns", "Length (ns)"),
        *(Column(part.key, f"{part.label} (ns)", part.help) for part in parts),
        Column("excluded", "Left out", kind="words"),
    )
    rows = tuple(
        (row.name, row.dur_ns, *(row.breakdown[p.key] for p in parts), row.excluded)
        for row in answer.steps
    )
    return Table(f"{noun} time breakdown", columns, rows)


def _devices_table(answer: Overview) -> Table:
    used = next((card for card in answer.devices if card.used), None)
    named = {one.key: (one.label, one.help) for one in used.gauges} if used else GAUGES
    columns = (
        Column("device", "Device"),
        Column("name", "Name", kind="words"),
        Column("memory_bytes", "Memory (bytes)"),
        *(Column(f"{key}_ratio", *words) for key, words in named.items()),
    )
    rows = tuple(
        (
            f"{card.type}{NBSP}{card.index}",
            card.name,
            card.memory_bytes,
            *(one.ratio for one in card.gauges),
        )
        for card in answer.devices
        if card.used
    )
    return Table("Devices", columns, rows)


def _steps_table(answer: Overview) -> Table:
    """Every step in the parts of the mean step, as in the chart of the steps."""
    shares = answer.ruler.shares
    columns = (
        Column("step", answer.noun.capitalize()),
        Column("dur_ns", "Length (ns)"),
        *(Column(share.key, f"{share.label} (ns)", share.help) for share in shares),
        Column("overlap_ns", "Overlapped communication (ns)", "Compute under it is in Compute."),
        Column("chosen", "Chosen"),
        Column("outlier", "Outlier"),
        Column("excluded", "Left out", kind="words"),
    )
    rows = tuple(
        (
            row.name,
            row.dur_ns,
            *(_part(row, share.key) for share in shares),
            _part(row, "overlap_ns") if row.partition else None,
            row.chosen,
            row.outlier,
            row.excluded,
        )
        for row in answer.steps
    )
    seen = answer.ruler.title.partition(" on ")[2]
    many = "Recording" if answer.noun == "recording" else "Steps"
    return Table(f"{many} on {seen}", columns, rows)


def _part(row: StepRow, key: str) -> int | None:
    return (row.partition or row.host or {}).get(key)


def _configuration_table(answer: Overview) -> Table:
    return table_from("Configuration", heads(Configuration), answer.configuration)


def _unchecked_table(answer: Overview) -> Table:
    rows = [
        _Needed(
            one.needs,
            ", ".join(rule.id for rule in one.rules),
            "; ".join(rule.title for rule in one.rules),
        )
        for one in answer.unchecked
    ]
    return table_from("Not checked", heads(_Needed), rows)


class _Needed(Struct, frozen=True):
    """One row of that table."""

    needs: Annotated[str, column("Needs", kind="words")]
    ids: Annotated[str, column("For rules", kind="words")]
    titles: Annotated[str, column("Which look for", kind="words", is_minor=True)]


def unavailable(facts: Facts) -> str | None:  # noqa: ARG001  # the form of View.unavailable
    """Always None: without any time to explain, the sentence says so."""
    return None


def badge(of: Subject | Facts) -> int | None:
    """Number of findings by default; None where other ranks have a say: none waits for them."""
    if isinstance(of, Subject):
        if of.recordings.own is not None and len(of.recordings.workers()) > 1:
            return None
        of = of.facts
    return len(_told(of, OverviewQuery())[1].findings) or None


VIEW = View(
    stem="overview",
    title="Overview",
    key="o",
    question="Where did the step's time go?",
    query=OverviewQuery,
    answer=Overview,
    build=build,
    tables=tables,
    unavailable=unavailable,
    badge=badge,
    parts=PARTS,
    looks_beside=True,
    lends=True,
)
