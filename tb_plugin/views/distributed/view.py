"""Distributed: which rank makes the others wait, and why?"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...analysis.distributed.comparison import Comparison
from ...analysis.distributed.findings import RunFindings, findings
from ...analysis.distributed.hang import said_ranks
from ...analysis.distributed.rank.digest import DIGEST
from ...analysis.facts import Facts
from ...analysis.recording import no_message_sizes
from ...base.errors import QueryError
from ...base.units import count, duration, plural, share
from ..compared import Compared, among, chosen_steps, compared
from ..table import Column, Table, heads, table_from
from ..view import Part, Subject, View
from . import contract as answers
from . import what_if
from .axis import clocks, joined
from .declared import (
    BandwidthPoint,
    DistributedCollective,
    DistributedGroup,
    DistributedNode,
    DistributedRank,
    PipelineStage,
    RankOperation,
    RankStep,
)
from .logs import hang, has_logs
from .rows import RunRows
from .sets import experts_text, first_late, inherited_text, node_rows, pipeline_text, stage_rows


def build(subject: Subject, query: answers.DistributedQuery) -> answers.Distributed:
    """The ranks of the run, compared.

    Raises:
        QueryError: there are no such steps, or a role cannot be read.
    """
    found = compared(subject, so_far=query.so_far)
    steps = chosen_steps(found.comparison, subject.facts, query.steps)
    rows = RunRows(found, steps, roles_of(query.roles))
    of = found.comparison
    ranks, groups, table = rows.ranks(), rows.groups(), rows.table()
    headline, detail = _answer(found, rows)
    advice = findings(of) if not found.waiting else RunFindings((), ())
    return answers.Distributed(
        headline=headline,
        detail=detail,
        ranks_columns=heads(DistributedRank, ranks),
        step_columns=heads(RankStep),
        ranks=ranks,
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
        nodes_columns=heads(DistributedNode),
        nodes=node_rows(rows),
        groups_columns=heads(DistributedGroup, groups),
        groups=groups,
        layout=rows.layout(groups),
        table_columns=heads(DistributedCollective, table),
        table=table,
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
        pipeline_columns=heads(PipelineStage),
        pipeline=stage_rows(of),
        pipeline_text=pipeline_text(of),
        experts_text=experts_text(of),
        replay=_replay(found),
        look_at=rows.look_at(),
        logs=has_logs(subject.facts),
        reasons=_reasons(of, subject.facts),
    )


def operations(subject: Subject, query: answers.OperationsQuery) -> answers.RankOperations:
    """The communication of one rank, or of all. Raises QueryError."""
    found = compared(subject, so_far=query.so_far)
    if query.rank >= len(found.comparison.digests):
        raise QueryError("rank: there is no such rank", hint="Take the row of a rank.")
    steps = chosen_steps(found.comparison, subject.facts, query.steps)
    rows = RunRows(found, steps, {}).operations(query.rank)
    lacks = any(row.total_bytes is None and row.operation != "barrier" for row in rows)
    columns = heads(RankOperation, rows)
    return answers.RankOperations(columns, rows, no_message_sizes(subject.facts) if lacks else "")


def sentence(subject: Subject, query: answers.RanksQuery) -> answers.RanksSentence:
    """Sentence on differing ranks. Raises QueryError."""
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
    """The answer in one sentence, and its basis."""
    of = found.comparison
    if found.waiting:
        so_far = (
            f"{count(found.read)} of {count(found.read + found.waiting)} ranks are read so far."
        )
        rest = "Waiting for all ranks before naming a straggler."
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
    step = "In each step" if len(rows.steps) else "In the recording"
    by = (
        ""
        if of.waiting.by_clock
        else " Clocks cannot be compared, so the last rank is the one that is in a collective for"
        " the shortest time."
    )
    if not total:
        return f"{step} no rank waits for another.{by}"
    if rows.cost[most] < total / 2:
        waits = f"{plural(len(of.digests), 'rank')} wait {duration(total / rows.per)} in total"
        return f"{step} {waits} for each other.{by}"
    part, waiting = duration(rows.cost[most] / rows.per), rows.waiting_for(most)
    waits = f"{plural(len(waiting), 'rank')} wait {part} in total"
    if len(waiting) == 1:
        waits = f"rank {of.rank(waiting[0])} waits {part}"
    return f"{step} {waits} for rank {of.rank(most)}.{_ties(of, rows, most)}{by}"


def _ties(of: Comparison, rows: RunRows, most: int) -> str:
    """Sentence on ranks that arrived as late, if most of the wait is shared with them."""
    waits = rows.waited
    here = rows.known[(of.waiting.last[rows.known] == most) & (waits[rows.known] > 0)]
    tied = here[of.waiting.tied[here] > 0]
    if waits[tied].sum() * 2 < waits[here].sum() or not len(tied):
        return ""
    together = plural(int(np.median(of.waiting.tied[tied])) + 1, "rank")
    if len(here) < 2:
        return f" {together} arrive together; the wait counts for the first of them."
    often = "all" if len(tied) == len(here) else f"{count(len(tied))} of {count(len(here))}"
    return (
        f" At {often} of the collectives where it is last, {together} arrive together; the wait"
        " counts for the first of them."
    )


def _notes(found: Compared) -> tuple[str, ...]:
    """Notes on the set of ranks; a recording that is being read is not missing."""
    return tuple(
        note.text
        for note in found.comparison.notes
        if not (found.waiting and note.kind == "missing_ranks")
    )


def _replay(found: Compared) -> str:
    of = found.comparison
    error = of.replay.error
    if found.waiting:
        return "What-if waits until all ranks are read."
    if of.replay.refused:
        return f"What if is not available: {of.replay.refused}"
    if error is None:
        return ""
    return (
        f"Replayed without any change, a step is off by {share(error.median)} in the median and"
        f" {share(error.most)} at most."
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
    ranks = sorted(answer.ranks, key=lambda one: -(one.cost_ns or 0))
    order = "the one that costs the others most first"
    found = [
        table_from("Ranks", answer.ranks_columns, ranks, note=order),
        _step_table(answer),
    ]
    if answer.nodes:
        found.append(table_from("Nodes", answer.nodes_columns, answer.nodes))
    if answer.pipeline:
        title = "Stages of the pipeline"
        found.append(table_from(title, answer.pipeline_columns, answer.pipeline))
    found.append(table_from("Process groups", answer.groups_columns, answer.groups, role=_role))
    found.append(_collective_table(answer))
    if answer.bandwidth:
        points = heads(BandwidthPoint)
        found.append(table_from("Bandwidth by size", points, answer.bandwidth))
    notes = [*answer.notes, answer.clocks, answer.replay, answer.pipeline_text, answer.experts_text]
    rows = tuple((note,) for note in dict.fromkeys(notes) if note)
    found.append(Table("Limits of this comparison", (Column("note", "Note", "", "text"),), rows))
    return tuple(found)


def _role(group: DistributedGroup) -> str:
    """The role of a group, and that it is a guess."""
    return f"{group.role} (guessed)" if group.role and group.why != "chosen" else group.role


def _name(answer: answers.Distributed, row: int | None) -> str | None:
    if row is None:
        return None
    rank = answer.ranks[row].rank
    return answer.ranks[row].worker if rank is None else f"rank {rank}"


def _step_table(answer: answers.Distributed) -> Table:
    worker = next(one for one in answer.ranks_columns if one.key == "worker")
    rows = tuple(
        (one.worker, *(getattr(one.step, head.key) for head in answer.step_columns))
        for one in answer.ranks
        if one.step is not None
    )
    steps = plural(answer.step_count, "step")
    title = "The step" if answer.step_count == 1 else f"Mean step of {steps}"
    return Table(title, (worker, *answer.step_columns), rows)


def _collective_table(answer: answers.Distributed) -> Table:
    return table_from(
        "Collectives",
        answer.table_columns,
        answer.table,
        answer.count,
        last=lambda one: _name(answer, one.last),
    )


def unavailable(facts: Facts) -> str | None:  # noqa: ARG001  # what is around it decides
    """Nothing of the trace alone."""
    return None


VIEW = View(
    stem="distributed",
    title="Distributed",
    key="d",
    question="Which rank makes the others wait, and why?",
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
