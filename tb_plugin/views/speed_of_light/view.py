"""Speed of light: how fast could every kernel, op and module have been on this device?"""

from __future__ import annotations

from msgspec.structs import replace

from ...analysis.facts import Facts, Partition
from ...analysis.speed_of_light.artifact import SPEED
from ...analysis.speed_of_light.figures import SpeedGroups, SpeedSelection
from ...analysis.speed_of_light.model import REASONS
from ...analysis.steps import Selection, select
from ...base.units import duration, share
from ..origins import phase_uses, placed_speed_of
from ..shared import column_named, device_row
from ..table import Table, heads, rows_from, sorts, table_from
from ..view import Part, Subject, View
from . import contract as answers
from .contract import SpeedRow
from .pictures import ranking_of, roofline_of

_FEW = 0.8  # less of the compute time with a figure: the headline says so
_TINY = 0.005
_LARGEST = 3
_NO_EVENTS = "The file holds no event with a duration, so there is no work to compare."


def build(subject: Subject, query: answers.SpeedQuery) -> answers.SpeedOfLight:
    """The figures of the chosen steps. Raises QueryError."""
    selection, chosen = _chosen(subject, query)
    partition = selection.partition or Partition()
    parts = _parts(chosen, partition, selection.total_ns)
    reasons = _reasons(chosen)
    use = chosen.utilization(_length(chosen, selection))
    headline, detail = _words(chosen, selection, reasons)
    groups = chosen.by(query.group_by)
    return answers.SpeedOfLight(
        headline=headline,
        detail=detail,
        step_count=len(selection.indexes),
        parts=parts,
        parts_columns=heads(answers.SpeedPart),
        reasons=reasons,
        reasons_columns=heads(answers.SpeedReason),
        under_others_ns=_under_others(chosen),
        ranking=ranking_of(chosen, partition, selection.total_ns),
        ranking_columns=heads(answers.SpeedRank),
        roofline=roofline_of(groups),
        model_flops=use.model_flops,
        all_flops=use.flops,
        mfu_ratio=use.mfu_ratio,
        hfu_ratio=use.hfu_ratio,
        mbu_ratio=_mbu(subject, selection),
        at_least=use.at_least,
        source=_source(chosen),
        table=_window(groups, query),
    )


def summary(subject: Subject, query: answers.SpeedQuery) -> answers.SpeedSummary:
    """The figures of the chosen steps without their rows. Raises QueryError."""
    selection, chosen = _chosen(subject, query)
    partition = selection.partition or Partition()
    use = chosen.utilization(_length(chosen, selection))
    ranking = ranking_of(chosen, partition, selection.total_ns)
    reasons = _reasons(chosen)
    return answers.SpeedSummary(
        headline=_words(chosen, selection, reasons)[0] if _is_lit(chosen) else "",
        step_count=len(selection.indexes),
        reasons=reasons,
        reasons_columns=heads(answers.SpeedReason),
        parts=_parts(chosen, partition, selection.total_ns),
        ranking=tuple(one for one in ranking if one.key == "op")[:_LARGEST],
        mfu_ratio=use.mfu_ratio,
        hfu_ratio=use.hfu_ratio,
        mbu_ratio=_mbu(subject, selection),
        at_least=use.at_least,
        source=_source(chosen),
    )


def _is_lit(chosen: SpeedSelection) -> bool:
    """True on a device, and on a CPU that was measured."""
    return chosen.device is not None or chosen.columns.host_peak is not None


def _length(chosen: SpeedSelection, selection: Selection) -> int:
    return selection.total_ns if _is_lit(chosen) else 0


def _reasons(chosen: SpeedSelection) -> tuple[answers.SpeedReason, ...]:
    totals = chosen.totals
    compute = max(totals.light_ns + totals.waste_ns + totals.no_figure_ns, 1)
    return tuple(
        answers.SpeedReason(REASONS[one][0], ns, ns / compute, REASONS[one][1])
        for one, ns in chosen.reasons
    )


def _source(chosen: SpeedSelection) -> str:
    peak = chosen.columns.peak(chosen.device)
    return peak.source if peak else ""


def _mbu(subject: Subject, selection: Selection) -> float | None:
    """MBU of the whole iterations of decode; None where there are none."""
    decode = phase_uses(subject, selection).get("decode")
    return decode.mbu_ratio if decode is not None else None


def table(subject: Subject, query: answers.SpeedQuery) -> answers.SpeedTable:
    """A window of the table. Raises QueryError."""
    return _window(_chosen(subject, query)[1].by(query.group_by), query)


def _chosen(subject: Subject, query: answers.SpeedQuery) -> tuple[Selection, SpeedSelection]:
    facts = subject.facts
    selection = select(facts, query.steps, device_row(facts, query.device))
    columns = placed_speed_of(subject)
    # Without marked steps everything counts, and work of no step with it.
    steps = (*selection.indexes, *((-1,) if facts.step_source == "whole_trace" else ()))
    return selection, SpeedSelection(columns, steps, None if columns.on_host else selection.device)


def _window(groups: SpeedGroups, query: answers.SpeedQuery) -> answers.SpeedTable:
    steps = groups.selection.steps
    usual = "waste_ns" if (groups.known_ns > 0).any() else "measured_ns"
    sort_by = column_named(query.sort_by or usual, sorts(SpeedRow))
    order = groups.order(sort_by, ascending=query.ascending)
    # Rows of one op differ by their shapes alone.
    is_kind = query.group_by == "kind"
    columns = tuple(
        replace(head, is_minor=False) if is_kind and head.key == "shapes" else head
        for head in heads(SpeedRow)
    )
    return answers.SpeedTable(
        columns=columns,
        rows=rows_from(SpeedRow, groups, order[query.offset : query.offset + query.limit]),
        offset=query.offset,
        count=len(groups),
        sort_by=sort_by,
        step_count=0 if -1 in steps else len(steps),
    )


def _parts(
    chosen: SpeedSelection, partition: Partition, total_ns: int
) -> tuple[answers.SpeedPart, ...]:
    """The chosen steps as light, waste and the rest; nothing without a device.

    Light and waste are left out where no kernel has a figure: they are unknown, not 0.
    """
    if chosen.device is None:
        return ()
    totals = chosen.totals
    rows = (
        ("light", "light", totals.light_ns, "The least time of the kernels by the data sheet."),
        ("waste", "waste", totals.waste_ns, "Time of these kernels above it."),
        (
            "no_figure",
            "compute without a figure",
            totals.no_figure_ns,
            "Kernels without a model, or without its inputs.",
        ),
        (
            "exposed_communication",
            "exposed communication",
            partition.exposed_communication_ns,
            "Collectives while no kernel computes.",
        ),
        (
            "exposed_copy",
            "exposed copy",
            partition.exposed_copy_ns,
            "Copies while nothing else runs.",
        ),
        ("memset", "memset", partition.memset_ns, "Memory is set while nothing else runs."),
        ("idle", "idle", partition.idle_ns, "Nothing runs."),
    )
    return tuple(
        answers.SpeedPart(key, name, ns, ns / total_ns if total_ns else 0.0, help_)
        for key, name, ns, help_ in rows
        if key not in ("light", "waste") or totals.light_ns + totals.waste_ns
    )


def _under_others(chosen: SpeedSelection) -> int | None:
    """Waste of the rows that is not waste of the steps: other kernels ran at the same time."""
    if chosen.device is None:
        return None
    groups = chosen.by("kind")
    rows = int(groups.known_ns.sum()) - round(float(groups.light_ns[groups.known_ns > 0].sum()))
    return rows - chosen.totals.waste_ns


def _words(
    chosen: SpeedSelection, selection: Selection, reasons: tuple[answers.SpeedReason, ...]
) -> tuple[str, str]:
    """The share of light and the waste; what they leave out."""
    if not _is_lit(chosen):
        return (
            "Not available: no device activity is recorded, and the CPU has no data sheet.",
            "`tensorboard_trace_handler(…, cpu_peak=True)` measures what this CPU can do.",
        )
    what = "kernel" if chosen.device is not None else "op"
    totals = chosen.totals
    known = totals.light_ns + totals.waste_ns
    compute = known + totals.no_figure_ns
    if not compute:
        return f"No {what} computes in the chosen steps.", ""
    why = f" Most of it: {reasons[0].reason}. {reasons[0].help}" if reasons else ""
    if not known:
        return f"Not available: {reasons[0].reason}.", reasons[0].help
    part = known / compute
    whose = (
        f"{what.capitalize()}s run"
        if part >= _FEW
        else f"{share(part)} of {what} time has a figure and runs"
    )
    steps = len(selection.indexes)
    of = " step" if steps == 1 else f" in {steps} steps"
    headline = (
        f"{whose} at {share(totals.light_ns / known)} of the roofline; {duration(totals.waste_ns)}"
        f" of the {duration(selection.total_ns)}{of} is waste."
    )
    missing = totals.no_figure_ns / compute
    detail = f"{share(missing)} of {what} time has no figure.{why}" if missing > _TINY else ""
    return headline, detail


def tables(answer: answers.SpeedOfLight) -> tuple[Table, ...]:
    """The rows, the parts of the steps, and the work without a figure."""
    window = answer.table
    steps = window.step_count
    found = [
        table_from("Speed of light", window.columns, window.rows, window.count, step_count=steps)
    ]
    if answer.parts:
        found.append(table_from("Steps", answer.parts_columns, answer.parts, step_count=steps))
    if answer.ranking:
        ranks, found_heads = answer.ranking, answer.ranking_columns
        found.append(table_from("Above light", found_heads, ranks, step_count=steps))
    if answer.reasons:
        reasons = answer.reasons
        found.append(
            table_from("Without a figure", answer.reasons_columns, reasons, step_count=steps)
        )
    return tuple(found)


def unavailable(facts: Facts) -> str | None:
    """Why there is no op and no kernel."""
    return None if facts.steps else _NO_EVENTS


VIEW = View(
    stem="speed_of_light",
    title="Speed of light",
    key="s",
    question="How fast could every kernel, op and module have been on this device?",
    query=answers.SpeedQuery,
    answer=answers.SpeedOfLight,
    build=build,
    tables=tables,
    unavailable=unavailable,
    artifact=SPEED,
    lends=True,
    parts=(
        Part("table", answers.SpeedQuery, answers.SpeedTable, table),
        Part("summary", answers.SpeedQuery, answers.SpeedSummary, summary),
    ),
)
