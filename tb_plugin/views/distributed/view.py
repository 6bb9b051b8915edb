"""Distributed: who makes the others wait, and why?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ...analysis.distributed.comparison import Comparison
from ...analysis.distributed.findings import RunFindings, findings
from ...analysis.distributed.hang import said_ranks
from ...analysis.distributed.rank.digest import DIGEST
from ...analysis.facts import Facts
from ...analysis.recording import no_message_sizes
from ...base.errors import QueryError
from ...base.units import NBSP, count, duration, plural
from ..table import Column, Table
from ..view import Part, Subject, View
from . import contract as answers
from . import what_if
from .axis import clocks, joined
from .compared import Compared, among, chosen_steps, compared
from .logs import hang, has_logs
from .rows import FAST_RATIO, SLOW_RATIO, SMALL_BYTES, RunRows
from .sets import experts_text, first_late, inherited_text, node_rows, pipeline_text, stage_rows

DEFINITIONS: Mapping[str, str] = MappingProxyType(
    {
        "compute": "Kernels that are no communication, while no communication ran; without device"
        " activity, ops that are no collectives.",
        "overlap": "Compute and communication at the same time.",
        "communication": "Communication while nothing computed.",
        "copy": "Copies and sets while no kernel ran.",
        "idle": "Nothing of the above.",
        "waiting": "From the start of a collective on this rank until the last rank started it, at"
        " most until its end: clip(S − start, 0, end − start), S = latest start, by fitted clocks."
        " Where clocks cannot be compared, what it is longer than on the rank with the shortest.",
        "transferring": "Of the time in collectives, as much as the rank is in each that is in it"
        " for the shortest time, at its end: min over ranks of (end − start). Calls at the same"
        " time count once, and no clock is needed. The PyTorch profiler's TensorBoard plugin"
        " defined it so.",
        "synchronizing": "Of the time in collectives, the rest beyond data transfer: this rank was"
        " there and another was not yet.",
        "cost": "What all others together waited in collectives that it started last, per step; of"
        " ranks that started one at the same instant, the first counts.",
        "lost": "What this rank waited for others in collectives, per step.",
        "own": "What a step of it takes if it waits for nobody: its recording replayed alone.",
        "excess": "Own work before each of its collectives beyond the median of the ranks that make"
        " the same calls, added up over a step: its recording replayed alone, so no clock and no"
        " other rank's delay is in it.",
        "start": "Later than the first rank, by the clocks as far as they can be compared.",
        "brought_in": "Later than the first rank before the first collective of the recording.",
        "inherited": "Of what it cost others, waiting at collectives to which it came late only"
        " because it had waited for another rank in another collective before.",
        "received": "What it receives in all_to_all whose parts are told, per step of the"
        " recording.",
        "node_cost": "What ranks of other nodes waited in collectives that one of its ranks"
        " started last, per step.",
        "node_lost": "What its ranks waited for ranks of other nodes, per step.",
        "bubble": "Time in send and receive while nothing computes, and idle before the first and"
        " after the last work of a step unless the DataLoader ran; per step, mean of the stage's"
        " ranks.",
        "least": "The least bubble of GPipe and 1F1B, (p − 1) / (m + p − 1) for p stages and m"
        " parts of the batch. Below it the schedule is another, or the stage waits elsewhere.",
        "slack": "When the receiver was ready minus when the sender was, median: positive, the data"
        " waited; negative, the stage did.",
        "last": "Collectives that this rank started last; of ranks that started one at the same"
        " instant, the first counts.",
        "last_one": "The rank that started it last, of several at the same instant the first, and"
        " how many others those are. None where all started it at one instant.",
        "verdict": f"latency-bound: smaller than {SMALL_BYTES >> 10} KiB, at less than"
        f" {SLOW_RATIO:.0%} of the bus bandwidth that large ones of its group reach;"
        f" bandwidth-bound: larger, at {FAST_RATIO:.0%} of it or more. Else nothing.",
        "rank": "Its number among all processes of the job.",
        "worker": "Name of the worker: that of its recording, without time.",
        "device": "The accelerator that it used, and its number on the host.",
        "memory": "All memory of the device.",
        "busy": "Share of the step in which a kernel, a copy or communication ran.",
        "role": "What the process does in the job, by its name or its process group.",
        "skew": "From the first to the last start of the collective.",
        "transfer": "From the last start to the first end, the time in which data moved:"
        " min over ranks of end − max over ranks of start. Where clocks cannot be compared, or one"
        " ends before, the shortest duration of any rank.",
        "size": "all_gather: what each rank receives in all; reduce_scatter and all_to_all: what"
        " each sends in all, of all_to_allv without its own part, the largest of any rank; gather"
        " and scatter: what the root has; else the message (NVIDIA nccl-tests, PERFORMANCE.md).",
        "algorithm": "Size / transfer, GB/s = 10⁹ bytes a second; of several collectives the"
        " median (NVIDIA nccl-tests, PERFORMANCE.md).",
        "bus": "Algorithm bandwidth × factor, for n ranks: 2(n−1)/n for all_reduce; (n−1)/n for"
        " all_gather, reduce_scatter, all_to_all, gather and scatter; 1 for broadcast, reduce, send"
        " and recv, and for all_to_allv, whose own part is not in the size. So it can be held"
        " against the hardware's figure (NVIDIA nccl-tests, PERFORMANCE.md).",
        "latency": "Length of the calls, waiting and transfer; calls of a rank at the same time"
        " count once.",
        "node": "The host name of the recording, else of the worker's name; without either it is"
        " not known.",
        "process": "The number in the worker's name host_process, as our handlers and PyTorch's"
        " write it.",
        "exposed": "Communication while nothing computed, mean of the group's ranks.",
        "blocking": "Of that, when the host had already issued the next work.",
    }
)


def build(subject: Subject, query: answers.DistributedQuery) -> answers.Distributed:
    """The ranks of the run, compared.

    Raises:
        QueryError: there are no such steps, or a role cannot be read.
    """
    found = compared(subject, so_far=query.so_far)
    steps = chosen_steps(found.comparison, subject.facts, query.steps)
    rows = RunRows(found, steps, roles_of(query.roles))
    of = found.comparison
    groups = rows.groups()
    headline, detail = _answer(found, rows)
    advice = findings(of) if not found.waiting else RunFindings((), ())
    return answers.Distributed(
        headline=headline,
        detail=detail,
        ranks=rows.ranks(),
        read=found.read,
        waiting=found.waiting,
        world_size=of.world_size or None,
        missing=said_ranks(of.missing) if of.missing and not found.waiting else "",
        notes=_notes(found),
        step_count=len(steps),
        total_wait_ns=int(rows.cost.sum()) // rows.per if len(rows.known) else None,
        blame=rows.blame(),
        blame_ranks=rows.blame_ranks,
        clocks=of.clocks.reason,
        steps=rows.step_map(),
        collectives=rows.collective_map(),
        nodes=node_rows(rows),
        groups=groups,
        layout=rows.layout(groups),
        table=rows.table(),
        count=int(rows.chosen.sum()),
        unmatched=int(of.matches.unmatched.sum()),
        bandwidth=rows.bandwidth(),
        findings=tuple(
            answers.DistributedFinding(
                id=one.id,
                title=one.title,
                text=one.text,
                gain_ns=round(one.gain.ns_per_step) if one.gain else None,
                method=one.gain.method if one.gain else "",
            )
            for one in advice.found
        ),
        unchecked=tuple(f"{one.title}: needs {one.needs}." for one in advice.unchecked),
        pipeline=stage_rows(of),
        pipeline_text=pipeline_text(of),
        experts_text=experts_text(of),
        replay=_replay(found),
        look_at=rows.look_at(),
        logs=has_logs(subject.facts),
        reasons=_reasons(of, subject.facts),
        definitions=dict(DEFINITIONS),
    )


def operations(subject: Subject, query: answers.OperationsQuery) -> answers.RankOperations:
    """The communication of one rank, or of all. Raises QueryError."""
    found = compared(subject, so_far=query.so_far)
    if query.rank >= len(found.comparison.digests):
        raise QueryError("rank: there is no such rank", hint="Take the row of a rank.")
    steps = chosen_steps(found.comparison, subject.facts, query.steps)
    rows = RunRows(found, steps, {}).operations(query.rank)
    lacks = any(row.total_bytes is None and row.operation != "barrier" for row in rows)
    return answers.RankOperations(rows, no_message_sizes(subject.facts) if lacks else "")


def sentence(subject: Subject, query: answers.RanksQuery) -> answers.RanksSentence:
    """Whether the ranks differ. Raises QueryError."""
    found = compared(subject)
    steps = chosen_steps(found.comparison, subject.facts, query.steps)
    rows = RunRows(found, steps, {})
    said, _ = _answer(found, rows)
    roles = [
        f"{count(number)} {role or 'other'}"
        for role, number in Counter(rows.process_roles).most_common()
    ]
    return answers.RanksSentence(
        said,
        found.read,
        found.waiting,
        ", ".join(roles) if len(roles) > 1 else "",
    )


def roles_of(text: str) -> dict[str, str]:
    """Group → the role that the user gave it, of ``0-7=tensor parallel;8-15=pipeline``.

    Raises:
        QueryError: that is not how it is written.
    """
    found = {}
    known = [role for role in answers.DistributedRole.__args__ if role]  # type: ignore[attr-defined]
    for part in filter(None, text.split(";")):
        key, equals, role = part.partition("=")
        if not equals or role not in known:
            raise QueryError(
                f"roles: {part[:60]!r} names no role", hint=f"roles: {', '.join(known)}"
            )
        found[key] = role
    return found


# --- sentences ------------------------------------------------------------------------------------


def _answer(found: Compared, rows: RunRows) -> tuple[str, str]:
    """The answer in one sentence, and what stands behind it."""
    of = found.comparison
    if found.waiting:
        so_far = (
            f"{count(found.read)} of {count(found.read + found.waiting)} ranks are read so far."
        )
        rest = "Who is late is said when all of them are: one more may change every figure."
        if 0 < len(found.workers) < found.read:
            rest = f"{count(len(found.workers))} of them are compared here. {rest}"
        return so_far, rest
    if len(of.digests) < 2:
        return "One rank is here; to compare, two are needed.", ""
    if not len(of.matches):
        return (
            "The ranks have no collective in common.",
            "Their recordings may be of different times, or of different jobs.",
        )
    first, rest = _split(of.verdict.sentence)
    said = [rest] if rest else []
    said.append(first_late(rows))
    if len(rows.known):
        said.append(_waiting(of, rows))
        said.append(inherited_text(rows))
    # A gain of the replay stands in the sentence of the verdict already.
    is_named = of.verdict.member >= 0 or of.verdict.node >= 0
    if of.verdict.gain_ns < 0 < of.verdict.ceiling_ns and is_named:
        said.append(
            f"Were it never last, a step would save at most {duration(of.verdict.ceiling_ns)}."
        )
    if of.missing:
        said.append(f"{len(of.digests)} of {of.world_size} ranks have a recording.")
    return first, " ".join(filter(None, said))


def _split(sentence: str) -> tuple[str, str]:
    """The first sentence, and the others."""
    first, dot, rest = sentence.partition(". ")
    return (f"{first}.", rest) if dot else (sentence, "")


def _waiting(of: Comparison, rows: RunRows) -> str:
    total, most = int(rows.cost.sum()), int(np.argmax(rows.cost))
    step = "a step" if len(rows.steps) else "the recording"
    by = (
        ""
        if of.waiting.by_clock
        else " Clocks cannot be compared, so the last rank is the one that is in a collective for"
        " the shortest time."
    )
    if not total:
        return f"In {step} no rank waits for another.{by}"
    ranks = plural(len(of.digests), "rank")
    said = f"In {step} the {ranks} wait {duration(total / rows.per)} for each other"
    if rows.cost[most] < total / 2:
        return f"{said}, added up over all.{by}"
    part = "all" if rows.cost[most] == total else duration(rows.cost[most] / rows.per)
    return f"{said}, {part} of it for rank {of.rank(most)}.{_ties(of, rows, most)}{by}"


def _ties(of: Comparison, rows: RunRows, most: int) -> str:
    """That others came as late as the rank, where most of the wait for it counts so."""
    waits = rows.waited
    here = rows.known[(of.waiting.last[rows.known] == most) & (waits[rows.known] > 0)]
    tied = here[of.waiting.tied[here] > 0]
    if waits[tied].sum() * 2 < waits[here].sum() or not len(tied):
        return ""
    others = plural(int(np.median(of.waiting.tied[tied])), "other rank")
    often = "all" if len(tied) == len(here) else f"{count(len(tied))} of {count(len(here))}"
    return (
        f" At {often} of the collectives where it was last, {others} came at the same instant:"
        " such a wait counts for the first of them."
        if len(here) > 1
        else f" At the same instant came {others}: the wait counts for the first of them."
    )


def _notes(found: Compared) -> tuple[str, ...]:
    """What must be known of the set; what is being read is not missing."""
    return tuple(
        note.text
        for note in found.comparison.notes
        if not (found.waiting and note.kind == "missing_ranks")
    )


def _replay(found: Compared) -> str:
    of = found.comparison
    error = of.replay.error
    if found.waiting:
        return "What if is answered when all ranks are read."
    if of.replay.refused:
        return f"What if is not available: {of.replay.refused}"
    if error is None:
        return ""
    return (
        f"Replayed without any change, a step is off by {100 * error.median:.2f}{NBSP}% in the"
        f" median and {100 * error.most:.2f}{NBSP}% at most."
    )


def _reasons(of: Comparison, facts: Facts) -> dict[str, str]:
    reasons = {"bandwidth": "No transfer of known size was recorded on two ranks."}
    if not (of.bandwidth.bytes > 0).any():
        reasons["bandwidth"] = no_message_sizes(facts)
    if of.replay.own is None:
        reasons["own"] = of.replay.refused or "The recordings cannot be replayed."
    if not of.clocks.comparable:
        reasons["start"] = of.clocks.reason
    if not of.waiting.instances:
        reasons["waiting"] = (
            "No collective that all of its ranks wait in was recorded on two ranks."
        )
    return reasons


# --- tables ---------------------------------------------------------------------------------------


def tables(answer: answers.Distributed) -> tuple[Table, ...]:
    """Ranks, the old overviews, collectives, groups, bandwidth, notes."""
    found = [_rank_table(answer), _step_table(answer)]
    if answer.nodes:
        found.append(_node_table(answer))
    if answer.pipeline:
        found.append(_stage_table(answer))
    found.append(_group_table(answer))
    found.append(_collective_table(answer))
    if answer.bandwidth:
        found.append(_bandwidth_table(answer))
    notes = [*answer.notes, answer.clocks, answer.replay, answer.pipeline_text, answer.experts_text]
    rows = tuple((note,) for note in dict.fromkeys(notes) if note)
    found.append(Table("What must be known", (Column("note", "Note", "", "text"),), rows))
    return tuple(found)


def _name(answer: answers.Distributed, row: int | None) -> str | None:
    if row is None:
        return None
    rank = answer.ranks[row].rank
    return answer.ranks[row].worker if rank is None else f"rank {rank}"


def _rank_table(answer: answers.Distributed) -> Table:
    columns = (
        Column("worker", "Worker", "", "name"),
        Column("rank", "Rank"),
        Column("node", "Node", DEFINITIONS["node"], "name"),
        Column("process", "Process", DEFINITIONS["process"], is_minor=True),
        Column("role", "Role", "by its name or its process group", is_minor=True),
        Column("device", "Device", "", "name"),
        Column("device_index", "Device number", is_minor=True),
        Column("memory_bytes", "Memory", is_minor=True),
        Column("capability", "Capability", is_minor=True),
        Column("own_ns", "Own time", DEFINITIONS["own"]),
        Column("excess_ns", "Beyond peers", DEFINITIONS["excess"], is_minor=True),
        Column("cost_ns", "Cost others", DEFINITIONS["cost"]),
        Column("inherited_ns", "Inherited", DEFINITIONS["inherited"], is_minor=True),
        Column("lost_ns", "Lost to others", DEFINITIONS["lost"]),
        Column("times_last", "Last", DEFINITIONS["last"]),
        Column("brought_in_ns", "Brought in", DEFINITIONS["brought_in"], is_minor=True),
        Column("gain_ns", "Gain", "shorter steps without its excess", is_minor=True),
        Column("received_bytes", "Received", DEFINITIONS["received"], is_minor=True),
        Column("problem", "Problem", "", "text"),
    )
    rows = tuple(
        tuple(
            None if getattr(one, column.key) == "" and column.key != "problem"
            else getattr(one, column.key)
            for column in columns
        )
        for one in answer.ranks
    )  # fmt: skip
    return Table("Ranks", columns, rows)


def _step_table(answer: answers.Distributed) -> Table:
    keys = (
        ("length_ns", "Step", ""),
        ("compute_ns", "Computation", DEFINITIONS["compute"]),
        ("overlap_ns", "Overlapping", DEFINITIONS["overlap"]),
        ("communication_ns", "Communication", DEFINITIONS["communication"]),
        ("copy_ns", "Copies", DEFINITIONS["copy"]),
        ("idle_ns", "Other", DEFINITIONS["idle"]),
        ("synchronizing_ns", "Synchronizing", DEFINITIONS["synchronizing"]),
        ("transferring_ns", "Data transfer", DEFINITIONS["transferring"]),
    )
    columns = (Column("worker", "Worker", "", "name"), *(Column(*key) for key in keys))
    rows = tuple(
        (one.worker, *(getattr(one.step, key) for key, _, _ in keys))
        for one in answer.ranks
        if one.step is not None
    )
    steps = plural(answer.step_count, "step")
    return Table("The step" if answer.step_count == 1 else f"Mean step of {steps}", columns, rows)


def _node_table(answer: answers.Distributed) -> Table:
    columns = (
        Column("name", "Node", DEFINITIONS["node"], "name"),
        Column("ranks", "Ranks"),
        Column("own_ns", "Own time", DEFINITIONS["own"]),
        Column("cost_ns", "Cost other nodes", DEFINITIONS["node_cost"]),
        Column("lost_ns", "Lost to other nodes", DEFINITIONS["node_lost"]),
        Column("times_last", "Last"),
    )
    rows = tuple(tuple(getattr(one, column.key) for column in columns) for one in answer.nodes)
    return Table("Nodes", columns, rows)


def _stage_table(answer: answers.Distributed) -> Table:
    columns = (
        Column("ranks", "Stage"),
        Column("bubble_ns", "Bubble", DEFINITIONS["bubble"]),
        Column("bubble_ratio", "of the step"),
        Column("least_ratio", "GPipe, 1F1B", DEFINITIONS["least"]),
        Column("slack_ns", "Slack", DEFINITIONS["slack"]),
        Column("waited_ratio", "Waited for"),
    )
    rows = tuple(tuple(getattr(one, column.key) for column in columns) for one in answer.pipeline)
    return Table("Stages of the pipeline", columns, rows)


def _group_table(answer: answers.Distributed) -> Table:
    keys = (
        ("label", "Group"),
        ("key", "Ranks"),
        ("role", "Role"),
        ("operations", "Operations per step"),
        ("bytes", "Bytes per step"),
        ("exposed_ns", "Exposed"),
        ("blocking_ns", "Blocking"),
        ("missing", "Missing"),
    )
    columns = tuple(Column(key, label, DEFINITIONS.get(key[:-3], "")) for key, label in keys)
    rows = tuple(tuple(getattr(one, key) for key, _ in keys) for one in answer.groups)
    return Table("Process groups", columns, rows)


def _collective_table(answer: answers.Distributed) -> Table:
    columns = (
        Column("number", "#"),
        Column("step", "Step"),
        Column("operation", "Operation", "", "name"),
        Column("group", "Group", "", "name"),
        Column("bytes", "Size", DEFINITIONS["size"]),
        Column("skew_ns", "Start spread", DEFINITIONS["skew"]),
        Column("waiting_ns", "Waiting, all ranks", DEFINITIONS["waiting"]),
        Column("transfer_ns", "Transfer", DEFINITIONS["transfer"]),
        Column("algorithm_gbs", "Algorithm GB/s", DEFINITIONS["algorithm"]),
        Column("bus_gbs", "Bus GB/s", DEFINITIONS["bus"]),
        Column("last", "Last", DEFINITIONS["last_one"]),
        Column("tied", "At the same instant", "other ranks that came as late", is_minor=True),
        Column("match", "Matched by", is_minor=True),
        Column("verdict", "Verdict", DEFINITIONS["verdict"], is_minor=True),
    )
    rows = tuple(
        tuple(
            _name(answer, one.last) if column.key == "last" else getattr(one, column.key)
            for column in columns
        )
        for one in answer.table
    )
    return Table("Collectives", columns, rows, answer.count)


def _bandwidth_table(answer: answers.Distributed) -> Table:
    keys = (
        ("operation", "Operation"),
        ("group", "Group"),
        ("bytes", "Size"),
        ("count", "Calls"),
        ("transfer_ns", "Transfer"),
        ("algorithm_gbs", "Algorithm GB/s"),
        ("bus_gbs", "Bus GB/s"),
    )
    columns = tuple(Column(key, label) for key, label in keys)
    rows = tuple(tuple(getattr(one, key) for key, _ in keys) for one in answer.bandwidth)
    return Table("Bandwidth by size", columns, rows)


def unavailable(facts: Facts) -> str | None:  # noqa: ARG001  # what is around it decides
    """Nothing of the trace alone."""
    return None


VIEW = View(
    stem="distributed",
    title="Distributed",
    key="d",
    question="Who makes the other ranks wait, and why?",
    query=answers.DistributedQuery,
    answer=answers.Distributed,
    build=build,
    tables=tables,
    unavailable=unavailable,
    artifact=DIGEST,
    parts=(
        Part("ops", answers.OperationsQuery, answers.RankOperations, operations),
        Part("sentence", answers.RanksQuery, answers.RanksSentence, sentence),
        Part("what_if", answers.WhatIfQuery, answers.WhatIfAnswer, what_if.build),
        Part("hang", answers.HangQuery, answers.HangAnswer, hang),
        Part("clocks", answers.AxisQuery, answers.RankClocks, clocks),
        Part("joined", answers.JoinedQuery, answers.JoinedCollectives, joined),
    ),
    among=among,
)
