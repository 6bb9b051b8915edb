"""The recording of its capture that lends operators to a graph: which, and how much of it fits."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ...analysis.graphs.artifact import GRAPHS
from ...analysis.graphs.captures import LEAST_SHARE, Lent, lend
from ...analysis.graphs.model import NONE, CaptureColumns, GraphColumns
from ...analysis.graphs.table import OUTSIDE, GraphGroups, graph_table
from ...analysis.operators.kernels import ChosenKernels
from ...base.errors import QueryError
from ...base.units import plural, share
from ..origins import FoundCaptures, captures_of, near_captures, operators_of, says_capture
from ..shared import key_named, no_such_row
from ..view import RunWorker, Subject, TracePlace
from . import contract as answers
from .rows import batches_of, chosen_of

MOST_CHOICES = 50


class OpenedGraph(Struct, frozen=True, eq=False):
    """A graph of the chosen steps, and the operators from a recording of its capture."""

    subject: Subject
    table: GraphGroups
    at: int  # row of the table
    graph: int
    chosen: ChosenKernels
    lent: Lent | None
    captures: tuple[tuple[TracePlace, CaptureColumns], ...]
    capture: answers.Capture

    @property
    def graphs(self) -> GraphColumns:
        return self.table.graphs

    @property
    def loan(self) -> Lent | None:
        """Operators taken from the capture; None if too few nodes match."""
        return self.lent if self.lent is not None and self.lent.fits else None


def opened(subject: Subject, query: answers.GraphQuery) -> OpenedGraph:
    """A graph of the table.

    Raises:
        QueryError: there is no such graph, or no such recording.
        NotReadyError: a recording of its capture is being read.
    """
    operators = operators_of(subject)
    graphs: GraphColumns = subject.other_artifact(GRAPHS)
    chosen = chosen_of(subject.facts, query.steps, query.device)
    table = graph_table(operators, graphs, chosen)
    key = key_named(query.key)
    at = int(np.searchsorted(table.groups.key, key))
    if key == OUTSIDE or at >= len(table) or int(table.groups.key[at]) != key:
        raise no_such_row()
    graph = key - 1
    sizes = batches_of(graphs, np.flatnonzero(graphs.replays.graph == graph))
    (captures, problems), choices = _captures(subject, query)
    lent = lend(graphs, graph, max(sizes, default=NONE), [columns for _, columns in captures])
    capture = _capture(subject, captures, lent, problems, choices, graphs.label(graph))
    return OpenedGraph(subject, table, at, graph, chosen, lent, captures, capture)


def _captures(
    subject: Subject, query: answers.GraphQuery
) -> tuple[FoundCaptures, tuple[answers.CaptureChoice, ...]]:
    """The recordings to compare with, why others are not, and which there are to choose from."""
    beside = subject.recordings
    every = [one for one in beside.everything() if one.place != beside.own]
    choices = {
        (one.place.run, one.place.worker): None
        for one in sorted(every, key=lambda one: (not says_capture(one.place), one.place))
    }
    listed = tuple(answers.CaptureChoice(*one) for one in list(choices)[:MOST_CHOICES])
    rank = subject.facts.rank
    chosen = near_captures(subject)
    if query.capture_run:
        chosen = [one for one in every if _is_meant(one, query, rank)]
    if query.capture_run and not chosen:
        raise QueryError(
            "capture_run: there is no such recording beside this one",
            hint="Name a run below the same folder, and a worker of it.",
        )
    return captures_of(subject, chosen), listed


def _is_meant(one: RunWorker, query: answers.GraphQuery, rank: int | None) -> bool:
    """True if the query names a recording."""
    named = query.capture_worker in ("", one.place.worker)
    is_mine = query.capture_worker != "" or rank is None or one.rank in (None, rank)
    return one.place.run == query.capture_run and named and is_mine


def _capture(
    subject: Subject,
    captures: tuple[tuple[TracePlace, CaptureColumns], ...],
    lent: Lent | None,
    problems: list[str],
    choices: tuple[answers.CaptureChoice, ...],
    name: str,
) -> answers.Capture:
    also = f" Not read: {'; '.join(problems[:3])}." if problems else ""
    if lent is None:
        return answers.Capture(
            "none", _why_none(subject, captures, choices) + also, "", "", "", None, None, 0, 0,
            choices,
        )  # fmt: skip
    place = captures[lent.capture][0]
    what = "in a capture" if lent.captured else "in work that ran at once"
    sized = f" of batch size {lent.batch:,}" if lent.batch >= 0 else ""
    said = (
        f"{share(lent.ratio)} of the kernel time of {name} ({lent.matched:,} of"
        f" {plural(lent.kernels, 'kernel')}) has its launch in the recording"
        f" {place.run}/{place.worker}, {what}{sized}, by the same names in the same order."
    )
    end = (
        " Operators, shapes, modules and stacks of its nodes are from there."
        if lent.fits
        else f" That is less than {LEAST_SHARE * 100:.0f} %: nothing is taken from there. It may be"
        " of another model, batch size or version."
    )
    return answers.Capture(
        state="lent" if lent.fits else "refused",
        text=said + end + also,
        run=place.run,
        worker=place.worker,
        span=place.span,
        batch=lent.batch if lent.batch >= 0 else None,
        ratio=lent.ratio,
        matched=lent.matched,
        kernels=lent.kernels,
        choices=choices,
    )


def _why_none(
    subject: Subject,
    captures: tuple[tuple[TracePlace, CaptureColumns], ...],
    choices: tuple[answers.CaptureChoice, ...],
) -> str:
    """Why operators of the nodes are not available."""
    if subject.recordings.own is None:
        return (
            "Operators, shapes and stacks of nodes are not available, because this file was opened"
            " alone: inside a replay they are not recorded. Open the folder that also holds a"
            " recording of the capture."
        )
    if not captures:
        others = " Choose it, if it is there under another name." if choices else ""
        return (
            "Operators, shapes and stacks of nodes are not available, because inside a replay they"
            " are not recorded, and no recording beside this one is named after a capture." + others
        )
    if any(columns.unnamed for _, columns in captures):
        return (
            "Operators, shapes and stacks of nodes are not available, because the capture-time"
            " recording does not name the kernels that were captured, nor did they run there."
        )
    return (
        "Operators, shapes and stacks of nodes are not available, because the chosen recording"
        " holds no launch of a kernel that this graph could consist of."
    )
